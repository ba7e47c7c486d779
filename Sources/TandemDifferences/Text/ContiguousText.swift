/// A text as bytes, with lookups of characters and lines.
///
/// Valid only inside the closure that hands it out.
struct ContiguousText {
  let string: String
  let utf8: UnsafeBufferPointer<UInt8>

  static func with<Result>(_ string: String, _ body: (ContiguousText) -> Result) -> Result {
    var contiguous = string
    contiguous.makeContiguousUTF8()
    let string = contiguous
    return contiguous.withUTF8 { body(ContiguousText(string: string, utf8: $0)) }
  }

  static func with<Result>(
    _ one: String, _ other: String, _ body: (ContiguousText, ContiguousText) -> Result
  ) -> Result {
    with(one) { one in with(other) { other in body(one, other) } }
  }

  var count: Int { utf8.count }

  subscript(range: Range<Int>) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: utf8[range]), as: UTF8.self)
  }

  /// Returns the start of the character that contains the byte at `offset`, or `offset` itself if
  /// it is between two characters.
  func characterStart(atOrBefore offset: Int) -> Int {
    var certain = offset
    while !isCertainBoundary(certain) { certain -= 1 }
    var walk = CharacterWalk(self, from: certain)
    var start = certain
    while walk.offset < offset {
      start = walk.offset
      walk.advance()
    }
    return walk.offset == offset ? offset : start
  }

  /// Returns the end of the character that contains the byte before `offset`, or `offset` itself if
  /// it is between two characters.
  func characterEnd(atOrAfter offset: Int) -> Int {
    var walk = CharacterWalk(self, from: characterStart(atOrBefore: offset))
    while walk.offset < offset { walk.advance() }
    return walk.offset
  }

  /// Returns true if the scalars next to `offset` prove that it is between two characters.
  private func isCertainBoundary(_ offset: Int) -> Bool {
    guard offset > 0, offset < count else { return true }
    guard !UTF8.isContinuation(utf8[offset]) else { return false }
    var start = offset - 1
    while UTF8.isContinuation(utf8[start]) { start -= 1 }
    let before = scalar(at: start)
    let after = scalar(at: offset)
    return before.isSelfContained && after.isSelfContained && !(before == "\r" && after == "\n")
  }

  /// Returns true if `offset` is between two scalars.
  func isScalarBoundary(_ offset: Int) -> Bool {
    offset == count || !UTF8.isContinuation(utf8[offset])
  }

  /// Returns true if a line begins at `offset`.
  func isLineStart(_ offset: Int) -> Bool {
    offset == 0 || utf8[offset - 1] == 0x0A
  }

  /// The start of the line that contains the byte at `offset`.
  func lineStart(atOrBefore offset: Int) -> Int {
    var start = offset
    while !isLineStart(start) { start -= 1 }
    return start
  }

  /// Returns true if every byte of a range, which begins and ends between characters, is a
  /// character.
  func hasByteCharacters(_ range: Range<Int>) -> Bool {
    var combined: UInt8 = 0
    var hasReturn = false
    for byte in utf8[range] {
      combined |= byte
      hasReturn = hasReturn || byte == 0x0D
    }
    return combined < 0x80 && !hasReturn
  }

  /// The scalar that begins at `offset`.
  func scalar(at offset: Int) -> Unicode.Scalar {
    if utf8[offset] < 0x80 { return Unicode.Scalar(utf8[offset]) }
    let index = string.utf8.index(string.startIndex, offsetBy: offset)
    return string.unicodeScalars[index]
  }
}

extension Unicode.Scalar {
  /// True if the scalar is a character of its own next to any other such scalar, except a carriage
  /// return before a line feed: it neither joins nor extends (Unicode Standard Annex 29).
  var isSelfContained: Bool {
    switch value {
    case 0..<0x300, 0x370...0x482, 0x3000...0x3029, 0x3041...0x3096, 0x30A1...0x30FF,
      0x4E00...0x9FFF:
      return true
    default:
      return false
    }
  }
}

/// An iteration through a text character by character, from the start of one.
struct CharacterWalk {
  private let text: ContiguousText
  private(set) var offset: Int
  private var index: String.Index?

  init(_ text: ContiguousText, from start: Int) {
    self.text = text
    offset = start
  }

  /// Moves past one character; there must be one.
  @inline(__always)
  mutating func advance() {
    let bytes = text.utf8
    if bytes[offset] < 0x80, bytes[offset] != 0x0D,
      offset + 1 == bytes.count || bytes[offset + 1] < 0x80
    {
      offset += 1
      index = nil
    } else {
      advanceByUnicodeRules()
    }
  }

  private mutating func advanceByUnicodeRules() {
    let string = text.string
    let start = index ?? string.utf8.index(string.startIndex, offsetBy: offset)
    let end = string.index(after: start)
    offset += string.utf8.distance(from: start, to: end)
    index = end
  }
}
