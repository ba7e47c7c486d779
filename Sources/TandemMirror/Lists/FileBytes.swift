internal import TandemHTTP

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The whole contents of a file or of standard input, and their decompression.
enum FileBytes {
  /// The number of bytes that are read at a time.
  private static let chunkByteCount = 256 << 10

  /// Reads a file, which may be a pipe.
  static func read(path: String, maxByteCount: Int) throws(TransportError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, path: path) }
    defer { close(descriptor) }
    return try read(descriptor: descriptor, name: path, maxByteCount: maxByteCount)
  }

  /// Reads standard input to its end.
  static func readStandardInput(maxByteCount: Int) throws(TransportError) -> [UInt8] {
    try read(descriptor: STDIN_FILENO, name: "standard input", maxByteCount: maxByteCount)
  }

  private static func read(
    descriptor: Int32, name: String, maxByteCount: Int
  ) throws(TransportError) -> [UInt8] {
    var bytes: [UInt8] = []
    let version = FileVersion(descriptor)
    if let byteCount = version?.byteCount, byteCount <= maxByteCount {
      bytes.reserveCapacity(byteCount)
    }
    while true {
      let count = appendChunk(to: &bytes, from: descriptor)
      if count == 0 {
        guard version == FileVersion(descriptor) else {
          throw TransportError(
            .truncated, "the file changed while it was read; try again when it is complete",
            path: name)
        }
        return bytes
      }
      if count < 0, errno != EINTR { throw error(errno, path: name) }
      guard bytes.count <= maxByteCount else {
        var error = TransportError(
          .tooLarge, "the list is longer than the limit of \(maxByteCount) bytes", path: name)
        error.maxByteCount = maxByteCount
        throw error
      }
    }
  }

  /// Reads once; returns the result of `read(2)`.
  private static func appendChunk(to bytes: inout [UInt8], from descriptor: Int32) -> Int {
    withUnsafeTemporaryAllocation(byteCount: chunkByteCount, alignment: 1) { chunk in
      let count = systemRead(descriptor, chunk.baseAddress, chunk.count)
      if count > 0 { bytes.append(contentsOf: chunk[..<count]) }
      return count
    }
  }

  /// The bytes of a file, decompressed if they are gzip (RFC 1952), whatever the file's name is.
  ///
  /// - Parameters:
  ///   - name: The path or the address, for errors.
  ///   - maxByteCount: The longest result to accept.
  static func plain(
    _ bytes: [UInt8], of name: String, maxByteCount: Int
  ) throws(TransportError) -> [UInt8] {
    guard GzipDecoder.isGzip(bytes) else { return bytes }
    do throws(GzipError) {
      return try GzipDecoder.decoded(bytes, maxByteCount: maxByteCount)
    } catch {
      switch error {
      case .tooLong(let count):
        throw .bodyTooLarge(url: name, maxByteCount: count, isCompressed: true)
      case .truncated: throw TransportError(.truncated, error.message, url: name)
      case .malformed: throw TransportError(.malformedResponse, error.message, url: name)
      case .noMemory: throw TransportError(.unavailable, error.message, url: name)
      }
    }
  }

  private static func error(_ code: Int32, path: String) -> TransportError {
    TransportError(
      .cannotRead, "cannot be read: \(String(cString: strerror(code)).lowercased())", path: path)
  }
}

/// The size of a file and the time of its last change, by which a change is noticed while the file is read.
private struct FileVersion: Equatable {
  let byteCount: Int
  private let seconds: Int
  private let nanoseconds: Int

  /// `nil` if it is no regular file, such as a pipe.
  init?(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    byteCount = Int(status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec)
  }
}

/// `read(2)`, under a name that ``FileBytes/read(path:maxByteCount:)`` does not hide.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int
{
  read(descriptor, bytes, count)
}
