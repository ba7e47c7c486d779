/// Divides texts into tokens, and gives equal tokens equal numbers. The texts must outlive it.
struct TextTokenizer {
  private var numbers = TokenNumbers()

  mutating func tokens(
    of text: ContiguousText, in range: Range<Int>, by granularity: TextGranularity
  ) -> TextTokens {
    var tokens = TextTokens(startingAt: range.lowerBound)
    numbers.startText()
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
    while tokens.end < end {
      append(text, upTo: text.lineEnd(after: tokens.end, limit: end), to: &tokens)
    }
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
    let bytes = UnsafeBufferPointer(rebasing: text.utf8[tokens.end..<end])
    tokens.append(firstNumber + numbers.number(of: bytes), endingAt: end)
  }
}

extension ContiguousText {
  /// Returns the offset after the next line feed, or `limit` if there is none before it.
  fileprivate func lineEnd(after start: Int, limit: Int) -> Int {
    guard let base = utf8.baseAddress else { return limit }
    var offset = start
    while offset + 8 <= limit {
      // A byte is zero where there is a line feed, and then its upper bit is set in `found`; borrows
      // can set others only above the first one.
      let word = littleEndianWord(at: base + offset) ^ 0x0A0A_0A0A_0A0A_0A0A
      let found = (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
      if found != 0 { return offset + found.trailingZeroBitCount / 8 + 1 }
      offset += 8
    }
    while offset < limit {
      offset += 1
      if base[offset - 1] == 0x0A { return offset }
    }
    return limit
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
