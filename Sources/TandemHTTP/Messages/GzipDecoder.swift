internal import CZlib

/// An error of decoding gzip.
package enum GzipError: Error {
  /// The bytes are not gzip, or their checksum or length is wrong.
  case malformed
  /// The bytes end before the gzip does.
  case truncated
  /// The result is longer than its limit, in bytes.
  case tooLong(maxByteCount: Int)
  case noMemory

  package var message: String {
    switch self {
    case .malformed: "the content is damaged, or is not gzip; try again"
    case .truncated: "the compressed content ended before it was complete; try again"
    case .tooLong(let count): "the content is longer than the limit of \(count) bytes"
    case .noMemory: "there is no memory to decompress the content"
    }
  }

  var isMalformed: Bool { if case .malformed = self { true } else { false } }
}

/// Decodes gzip (RFC 1952) as it arrives, by zlib, which verifies the checksum and the length at the end.
///
/// A gzip may have several members, one after the other. Anything else after a member is an error.
package final class GzipDecoder {
  /// Allocated, because zlib's state points back to it.
  private let stream: UnsafeMutablePointer<z_stream>
  /// True between members, and before the first one.
  private var isBetweenMembers = true
  /// True if no byte has arrived.
  package private(set) var isEmpty = true
  private var buffer = [UInt8](repeating: 0, count: pieceByteCount)

  /// The maximum number of bytes that are decoded at a time.
  private static let pieceByteCount = 64 << 10

  /// A decoder; `nil` if there is no memory for it.
  package init?() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard czlib_begin_gunzip(stream) == Z_OK else { return nil }
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// True if the bytes so far are a whole gzip.
  package var isComplete: Bool { isBetweenMembers && !isEmpty }

  /// Decodes bytes and passes the result to `output` in pieces, until that returns false; returns the last
  /// result of `output`.
  package func decode(
    _ bytes: UnsafeRawBufferPointer, _ output: (UnsafeRawBufferPointer) -> Bool
  ) throws(GzipError) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      isEmpty = false
      if isBetweenMembers, inflateReset(stream) != Z_OK { throw .noMemory }
      isBetweenMembers = false
      guard try decodeMember(&rest, output) else { return false }
    }
    return true
  }

  /// Decodes up to the end of a member or of the bytes, which it removes from `rest`.
  private func decodeMember(
    _ rest: inout Slice<UnsafeRawBufferPointer>, _ output: (UnsafeRawBufferPointer) -> Bool
  ) throws(GzipError) -> Bool {
    repeat {
      let (status, produced) = inflateOnce(&rest)
      switch status {
      case Z_OK, Z_BUF_ERROR: break
      case Z_STREAM_END: isBetweenMembers = true
      case Z_MEM_ERROR: throw .noMemory
      default: throw .malformed
      }
      let goesOn = buffer.withUnsafeBytes { bytes in
        produced == 0 || output(UnsafeRawBufferPointer(rebasing: bytes[..<produced]))
      }
      if !goesOn { return false }
      // A full buffer may mean that zlib has more to give.
      if rest.isEmpty, produced < Self.pieceByteCount { return true }
    } while !isBetweenMembers
    return true
  }

  private func inflateOnce(
    _ rest: inout Slice<UnsafeRawBufferPointer>
  ) -> (status: CInt, producedCount: Int) {
    let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceByteCount))
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: piece.baseAddress?.assumingMemoryBound(to: Bytef.self))
    stream.pointee.avail_in = uInt(piece.count)
    let capacity = buffer.count
    let status = buffer.withUnsafeMutableBufferPointer { buffer in
      stream.pointee.next_out = buffer.baseAddress
      stream.pointee.avail_out = uInt(capacity)
      return inflate(stream, Z_NO_FLUSH)
    }
    rest = rest.dropFirst(piece.count - Int(stream.pointee.avail_in))
    return (status, capacity - Int(stream.pointee.avail_out))
  }
}

extension GzipDecoder {
  /// True if bytes begin as gzip does, and no text.
  package static func isGzip(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.starts(with: [0x1F, 0x8B, 8])
  }

  /// The content of a whole gzip, if it has no more than `maxByteCount` bytes; found out before more than
  /// that is kept.
  package static func decoded(
    _ bytes: [UInt8], maxByteCount: Int
  ) throws(GzipError) -> [UInt8] {
    guard let decoder = GzipDecoder() else { throw .noMemory }
    var decoded: [UInt8] = []
    let outcome = bytes.withUnsafeBytes { bytes in
      Result { () throws(GzipError) in
        try decoder.decode(bytes) { piece in
          guard piece.count <= maxByteCount - decoded.count else { return false }
          decoded.append(contentsOf: piece)
          return true
        }
      }
    }
    guard try outcome.get() else { throw .tooLong(maxByteCount: maxByteCount) }
    guard decoder.isComplete else { throw .truncated }
    return decoded
  }
}
