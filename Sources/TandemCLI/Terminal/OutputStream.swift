import Tandem

/// Writes bytes to a file descriptor in large pieces.
final class OutputStream {
  private let descriptor: Int32
  private let endsWhenCancelled: Bool
  private var buffer: [UInt8] = []

  private static let bufferByteCount = 64 << 10

  /// - Parameter endsWhenCancelled: True if a write throws when the task is cancelled while the reader reads
  ///   nothing; otherwise the write waits for the reader.
  init(descriptor: Int32, endsWhenCancelled: Bool = false) {
    self.descriptor = descriptor
    self.endsWhenCancelled = endsWhenCancelled
  }

  /// Adds text.
  func write(_ text: String) throws(OutputError) {
    buffer.append(contentsOf: text.utf8)
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Adds the bytes that `append` appends.
  func write(_ append: (inout [UInt8]) -> Void) throws(OutputError) {
    append(&buffer)
    if buffer.count >= Self.bufferByteCount { try flush() }
  }

  /// Writes the collected bytes.
  func flush() throws(OutputError) {
    if endsWhenCancelled {
      try OutputStream.writeInPieces(buffer, to: descriptor)
    } else {
      try OutputStream.write(buffer, to: descriptor)
    }
    buffer.removeAll(keepingCapacity: true)
  }

  static func write(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
    guard writeAll(bytes, to: descriptor) else { throw OutputError(code: errno) }
  }

  /// Writes one JSON value on a line of standard output.
  static func printLine(_ body: (inout JSONWriter) -> Void) throws(OutputError) {
    var bytes: [UInt8] = []
    bytes.appendJSON(body)
    bytes.append(UInt8(ascii: "\n"))
    try write(bytes, to: STDOUT_FILENO)
  }

  /// Writes one JSON object, whose fields `body` writes, on a line of standard output.
  static func printObject(_ body: (inout JSONWriter) -> Void) throws(OutputError) {
    try printLine { $0.object(body) }
  }

  /// Writes lines of text to standard output.
  static func printLines(_ lines: [String]) throws(OutputError) {
    let text = lines.map { $0.escapingControls() + "\n" }.joined()
    try write(Array(text.utf8), to: STDOUT_FILENO)
  }
}

// MARK: - Readers that stall

extension OutputStream {
  /// The number of bytes that a writable pipe takes without blocking.
  private static let pieceByteCount = Int(PIPE_BUF)
  /// The maximum delay after which a cancellation takes effect.
  private static let maxWaitMilliseconds: Int32 = 50

  private static func writeInPieces(_ bytes: [UInt8], to descriptor: Int32) throws(OutputError) {
    for start in stride(from: 0, to: bytes.count, by: pieceByteCount) {
      try waitUntilReady(descriptor)
      try write(Array(bytes[start..<min(start + pieceByteCount, bytes.count)]), to: descriptor)
    }
  }

  private static func waitUntilReady(_ descriptor: Int32) throws(OutputError) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    while true {
      let count = poll(&entry, 1, maxWaitMilliseconds)
      // If the descriptor has an error, the write throws it.
      if count > 0 { return }
      if count < 0, errno != EINTR { throw OutputError(code: errno) }
      if Task.isCancelled { throw OutputError(code: ECANCELED) }
    }
  }
}

/// An error of writing output.
struct OutputError: Error, CustomStringConvertible {
  var code: Int32
  /// The consequence for the work done before.
  var consequence = ""
  /// True if the work had failed before, and the failure was reported.
  var followsFailure = false

  /// True if the reader has ended, as `head` does. This is not reported.
  var isBrokenPipe: Bool { code == EPIPE }

  /// True if the task was cancelled while the reader read nothing.
  var isCancellation: Bool { code == ECANCELED }

  var description: String {
    "cannot write output: \(String(cString: strerror(code)))\(consequence)"
  }
}
