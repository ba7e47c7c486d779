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
  private var status = 0
  private var fields = HTTPFields()

  init(followsRedirects: Bool, maxFieldByteCount: Int) {
    self.followsRedirects = followsRedirects
    self.maxFieldByteCount = maxFieldByteCount
  }

  /// Where the last head that was a redirect led, as the server wrote it.
  private(set) var redirectLocation: String?

  /// Whether the final head has been seen.
  private(set) var isComplete = false

  /// The length of all lines so far.
  private(set) var receivedByteCount = 0

  /// Takes one line, with its line ending.
  mutating func receive(_ line: UnsafeRawBufferPointer) -> Step {
    receivedByteCount += line.count
    if receivedByteCount > maxFieldByteCount { return .tooLarge }
    if isComplete { return .incomplete }
    let text = String(decoding: line, as: UTF8.self)
    if text.hasPrefix("HTTP/") {
      begin(text)
      return .incomplete
    }
    if let content = text.first, !content.isNewline {
      add(text)
      return .incomplete
    }
    return end()
  }

  private mutating func begin(_ statusLine: String) {
    status = statusLine.split(separator: " ").dropFirst().first.flatMap { Int($0.prefix(3)) } ?? 0
    fields = HTTPFields()
  }

  private mutating func add(_ line: String) {
    if line.first == " " || line.first == "\t" {
      fields.continueLast(with: trimmed(line[...]))
    } else if let colon = line.firstIndex(of: ":") {
      let value = trimmed(line[line.index(after: colon)...])
      fields.append(String(line[..<colon]), String(value))
    }
  }

  private func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (character: Character) in character.isNewline || " \t".contains(character) }
    guard let first = text.firstIndex(where: { !isBlank($0) }),
      let last = text.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return text[first...last]
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
