/// A part of a text cut into tokens; equal tokens have equal numbers.
struct TextTokens {
  private(set) var numbers: [UInt32] = []
  private var ends: [Int] = []
  private let start: Int

  init(startingAt start: Int) {
    self.start = start
  }

  /// The end of the last token, as a UTF-8 offset.
  var end: Int { ends.last ?? start }

  mutating func append(_ number: UInt32, endingAt end: Int) {
    numbers.append(number)
    ends.append(end)
  }

  /// Returns the byte range of a range of tokens.
  func byteRange(_ range: Range<Int>) -> Range<Int> {
    offset(of: range.lowerBound)..<offset(of: range.upperBound)
  }

  private func offset(of token: Int) -> Int {
    token == 0 ? start : ends[token - 1]
  }
}

/// Divides texts into tokens, and gives equal tokens equal numbers. The texts must outlive it.
struct TextTokenizer {
  private var numbers: [TokenBytes: UInt32] = [:]

  mutating func tokens(
    of text: ContiguousText, in range: Range<Int>, by granularity: TextGranularity
  ) -> TextTokens {
    var tokens = TextTokens(startingAt: range.lowerBound)
    switch granularity {
    case .lines: appendLines(of: text, upTo: range.upperBound, to: &tokens)
    case .words: appendWords(of: text, upTo: range.upperBound, to: &tokens)
    case .characters: appendCharacters(of: text, upTo: range.upperBound, to: &tokens)
    }
    return tokens
  }

  private mutating func appendLines(
    of text: ContiguousText, upTo end: Int, to tokens: inout TextTokens
  ) {
    for offset in tokens.end..<end where text.utf8[offset] == 0x0A {
      append(text, upTo: offset + 1, to: &tokens)
    }
    if tokens.end < end { append(text, upTo: end, to: &tokens) }
  }

  private mutating func appendWords(
    of text: ContiguousText, upTo end: Int, to tokens: inout TextTokens
  ) {
    var walk = CharacterWalk(text, from: tokens.end)
    while tokens.end < end {
      let kind = WordKind(of: text.scalar(at: walk.offset))
      walk.advance()
      while kind.forms, walk.offset < end, WordKind(of: text.scalar(at: walk.offset)) == kind {
        walk.advance()
      }
      append(text, upTo: walk.offset, to: &tokens)
    }
  }

  /// A character of one scalar has that scalar as its number. Other characters have numbers above
  /// all scalars.
  private mutating func appendCharacters(
    of text: ContiguousText, upTo end: Int, to tokens: inout TextTokens
  ) {
    var walk = CharacterWalk(text, from: tokens.end)
    while tokens.end < end {
      let scalar = text.scalar(at: walk.offset)
      walk.advance()
      if walk.offset - tokens.end == UTF8.width(scalar) {
        tokens.append(scalar.value, endingAt: walk.offset)
      } else {
        append(text, upTo: walk.offset, to: &tokens, firstNumber: 0x11_0000)
      }
    }
  }

  private mutating func append(
    _ text: ContiguousText, upTo end: Int, to tokens: inout TextTokens, firstNumber: UInt32 = 0
  ) {
    let bytes = TokenBytes(bytes: UnsafeBufferPointer(rebasing: text.utf8[tokens.end..<end]))
    let next = firstNumber + UInt32(numbers.count)
    let number = numbers[bytes] ?? next
    if number == next { numbers[bytes] = number }
    tokens.append(number, endingAt: end)
  }
}

/// The bytes of one token, in place.
private struct TokenBytes: Hashable {
  let bytes: UnsafeBufferPointer<UInt8>

  static func == (one: Self, other: Self) -> Bool {
    one.bytes.elementsEqual(other.bytes)
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(bytes))
  }
}

/// The role of a character in dividing a text into words, by its first scalar.
private enum WordKind {
  case word
  case blank
  case single

  /// True if neighbours of this kind form one token.
  var forms: Bool { self != .single }

  init(of scalar: Unicode.Scalar) {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": self = .word
    case " ", "\t": self = .blank
    case "\0"..."\u{7F}": self = .single
    default: self.init(beyondASCII: scalar.properties)
    }
  }

  private init(beyondASCII properties: Unicode.Scalar.Properties) {
    if properties.isIdeographic {
      self = .single
    } else if properties.isAlphabetic || properties.numericType != nil {
      self = .word
    } else {
      self = properties.isWhitespace ? .blank : .single
    }
  }
}
