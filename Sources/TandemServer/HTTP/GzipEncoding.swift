internal import CZlib

/// Compresses bytes by zlib, as gzip (RFC 1952).
enum GzipEncoding {
  /// The compressed bytes; `nil` if there is no memory, or if they would not be shorter.
  ///
  /// It favours speed over size: an answer is compressed once and sent once.
  static func bytes(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count <= UInt32.max else { return nil }
    // Allocated, because zlib's state points back to it.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    guard czlib_begin_gzip(stream, Z_BEST_SPEED) == Z_OK else { return nil }
    defer { deflateEnd(stream) }
    let result = [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
      bytes.withUnsafeBufferPointer { bytes in
        stream.pointee.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        stream.pointee.avail_in = UInt32(bytes.count)
        stream.pointee.next_out = buffer.baseAddress
        stream.pointee.avail_out = UInt32(bytes.count)
        // A result that is not shorter does not fit.
        let isComplete = deflate(stream, Z_FINISH) == Z_STREAM_END
        count = isComplete ? bytes.count - Int(stream.pointee.avail_out) : 0
      }
    }
    return result.isEmpty ? nil : result
  }
}
