/// Collects the lines in front of a body into the head of the final response.
///
/// It is fed line by line what libcurl passes on, which is every head of a transfer: interim ones
/// (1xx), redirects, the final one, and after the body its trailers.
struct HTTPHeadParser {
  /// What a line made of the head.
  enum Step: Equatable {
    /// Nothing to tell yet.
    case incomplete
    /// The head of the final response is complete.
    case complete(status: Int, fields: HTTPFields)
    /// All lines together, trailers included, are longer than allowed.
    case tooLarge
  }

  private let followsRedirects: Bool
  private let maxFieldByteCount: Int
  private var majorVersion = 1
  private var status = 0
  private var fields = HTTPFields()

  init(followsRedirects: Bool, maxFieldByteCount: Int) {
    self.followsRedirects = followsRedirects
    self.maxFieldByteCount = maxFieldByteCount
  }

  /// Where the last head that was a redirect led, as the server wrote it.
  private(set) var redirectLocation: String?

  /// Whether the last head tells where its body ends: by a length, by chunks, or by the version of
  /// HTTP (RFC 9112, section 6.3).
  var declaresEnd: Bool {
    majorVersion >= 2 || fields.contentLength != nil
      || fields["Transfer-Encoding"]?.lowercased().hasSuffix("chunked") == true
  }

  /// Whether the final head has been seen.
  private(set) var isComplete = false

  /// The length of all lines so far.
  private(set) var receivedByteCount = 0

  /// Takes one line, with its line ending.
  mutating func receive(_ line: UnsafeRawBufferPointer) -> Step {
    receivedByteCount += line.count
    if receivedByteCount > maxFieldByteCount { return .tooLarge }
    if isComplete { return .incomplete }
    let isStatusLine = line.starts(with: "HTTP/".utf8)
    if !isStatusLine, isLineEnding(line.first) { return end() }
    isStatusLine ? begin(line) : add(line)
    return .incomplete
  }

  private mutating func begin(_ statusLine: UnsafeRawBufferPointer) {
    let words = statusLine.split(separator: UInt8(ascii: " "))
    status =
      words.dropFirst().first.flatMap { Int(String(decoding: $0.prefix(3), as: UTF8.self)) } ?? 0
    let version = words.first?.dropFirst("HTTP/".utf8.count).prefix { $0 != UInt8(ascii: ".") }
    majorVersion = version.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 1
    fields = HTTPFields()
  }

  private mutating func add(_ line: UnsafeRawBufferPointer) {
    if isBlank(line.first) {
      fields.continueLast(with: trimmed(line[...]))
    } else if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
      let name = String(decoding: line[..<colon], as: UTF8.self)
      fields.append(name, trimmed(line[(colon + 1)...]))
    }
  }

  private func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
    let isContent = { (byte: UInt8) in !isBlank(byte) && !isLineEnding(byte) }
    guard let first = bytes.firstIndex(where: isContent),
      let last = bytes.lastIndex(where: isContent)
    else { return "" }
    return String(decoding: bytes[first...last], as: UTF8.self)
  }

  private mutating func end() -> Step {
    if 100..<200 ~= status { return .incomplete }
    if followsRedirects, 300..<400 ~= status, let location = fields["Location"] {
      redirectLocation = location
      return .incomplete
    }
    isComplete = true
    return .complete(status: status, fields: fields)
  }
}

private func isBlank(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }
private func isLineEnding(_ byte: UInt8?) -> Bool { byte == nil || byte == 0x0D || byte == 0x0A }
