internal import SystemLibrary
internal import TandemHTTP

/// The contents of a file or of standard input, and their decompression.
enum FileBytes {
  /// The number of bytes that are read at a time.
  private static let chunkByteCount = 256 << 10

  /// Reads a file, which may be a pipe, in chunks.
  ///
  /// - Throws: ``TransportError``, also if the file changes meanwhile; the error that `body` throws.
  static func forEachChunk(
    ofFileAt path: String, maxByteCount: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw error(errno, path: path) }
    defer { close(descriptor) }
    try forEachChunk(of: descriptor, name: path, maxByteCount: maxByteCount, body)
  }

  /// Reads standard input to its end, in chunks.
  static func forEachChunkOfStandardInput(
    maxByteCount: Int, _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    try forEachChunk(
      of: STDIN_FILENO, name: "standard input", maxByteCount: maxByteCount, body)
  }

  private static func forEachChunk(
    of descriptor: Int32, name: String, maxByteCount: Int,
    _ body: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let version = FileVersion(descriptor)
    func requireVersion() throws(TransportError) {
      guard version == FileVersion(descriptor) else {
        throw TransportError(
          .truncated, "the file changed while it was read; try again when it is complete",
          path: name)
      }
    }
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkByteCount, alignment: 1)
    defer { chunk.deallocate() }
    var byteCount = 0
    while true {
      let count = read(descriptor, chunk.baseAddress, chunk.count)
      if count == 0 { return try requireVersion() }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw error(errno, path: name)
      }
      byteCount += count
      guard byteCount <= maxByteCount else {
        var error = TransportError(
          .tooLarge, "the list is longer than the limit of \(maxByteCount) bytes", path: name)
        error.maxByteCount = maxByteCount
        throw error
      }
      do {
        try body(UnsafeRawBufferPointer(rebasing: chunk[..<count]))
      } catch {
        // What is wrong with half a file is that it is half a file.
        try requireVersion()
        throw error
      }
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

extension FileVersion {
  /// The version of an open file; `nil` if it is no regular file, such as a pipe.
  fileprivate init?(_ descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    self.init(status)
  }
}
