/// Bytes on their way to a file descriptor, collected to be written in large pieces.
final class OutputStream {
  private let descriptor: Int32
  private var buffer: [UInt8] = []

  private static let bufferByteCount = 64 << 10

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Adds text.
  func write(_ text: String) throws(OutputError) {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Lets `append` add bytes.
  func write(_ append: (inout [UInt8]) -> Void) throws(OutputError) {
    append(&buffer)
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Writes what is collected.
  func flush() throws(OutputError) {
    try OutputStream.write(buffer, to: descriptor)
    buffer.removeAll(keepingCapacity: true)
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        systemWrite(descriptor, bytes.baseAddress! + written, bytes.count - written)
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw OutputError(code: errno)
      }
      written += count
    }
  }
}

/// Why output could not be written.
struct OutputError: Error, CustomStringConvertible {
  var code: Int32
  /// What that means for the work done before.
  var consequence = ""

  /// The reader went away, as `head` does: no mistake.
  var isBrokenPipe: Bool { code == EPIPE }

  var description: String {
    "cannot write output: \(String(cString: strerror(code)))\(consequence)"
  }
}

/// `write(2)`, under a name that the methods above do not hide.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
