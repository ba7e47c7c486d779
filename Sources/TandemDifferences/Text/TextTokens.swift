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

private func littleEndianWord(at bytes: UnsafePointer<UInt8>) -> UInt64 {
  UInt64(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt64.self))
}

/// Numbers byte sequences in the order in which they first occur. They must outlive it.
///
/// A flat hash table with linear probing (Knuth, The Art of Computer Programming, volume 3, 6.4,
/// algorithm L), whose slots have 32 bits of the hash, so that hardly any other sequences are read.
/// The hash multiplies and folds eight bytes at a time, and has the seed of this process, so that no
/// text can be made to collide. Sequences that come in the order of their numbers, as most lines of a
/// second version do, need no hash.
private struct TokenNumbers {
  private var tokens: [UnsafeBufferPointer<UInt8>] = []
  /// `0` if free, otherwise the upper half of the hash, above number + 1.
  private var slots = [UInt64](repeating: 0, count: 64)
  /// The number of the sequence that is expected next.
  private var next = 0
  private let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

  /// Expects the sequences in the order of their numbers again.
  mutating func startText() { next = 0 }

  mutating func number(of bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    // One sequence may have been deleted.
    for candidate in next..<min(next + 2, tokens.count) where areEqual(tokens[candidate], bytes) {
      next = candidate + 1
      return UInt32(candidate)
    }
    let hash = hash(of: bytes)
    var place = self.place(of: hash)
    while slots[place] != 0 {
      let slot = slots[place]
      let number = Int(slot & 0xFFFF_FFFF) - 1
      if (slot ^ hash) >> 32 == 0, areEqual(tokens[number], bytes) {
        // A line that occurs often, such as an empty one, leads back to its first place.
        next = max(next, number + 1)
        return UInt32(number)
      }
      place = (place + 1) & (slots.count - 1)
    }
    return insert(bytes, hash, at: place)
  }

  private mutating func insert(
    _ bytes: UnsafeBufferPointer<UInt8>, _ hash: UInt64, at place: Int
  ) -> UInt32 {
    let number = tokens.count
    tokens.append(bytes)
    slots[place] = hash & ~0xFFFF_FFFF | UInt64(number + 1)
    if tokens.count * 2 > slots.count { grow() }
    return UInt32(number)
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    for slot in old where slot != 0 {
      var place = self.place(of: slot)
      while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
      slots[place] = slot
    }
  }

  private func place(of hash: UInt64) -> Int {
    Int(truncatingIfNeeded: hash >> 32) & (slots.count - 1)
  }

  private func areEqual(
    _ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>
  ) -> Bool {
    guard one.count == other.count, let first = one.baseAddress, let second = other.baseAddress
    else { return one.count == other.count }
    return commonPrefixLength(first, second, limit: one.count) == one.count
  }

  private func hash(of bytes: UnsafeBufferPointer<UInt8>) -> UInt64 {
    guard let base = bytes.baseAddress else { return seed }
    var state = seed ^ UInt64(bytes.count)
    var offset = 0
    while offset + 8 <= bytes.count {
      state = Self.mixed(state ^ littleEndianWord(at: base + offset))
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < bytes.count {
      tail = tail << 8 | UInt64(base[offset])
      offset += 1
    }
    return Self.mixed(Self.mixed(state ^ tail) ^ seed)
  }

  private static func mixed(_ word: UInt64) -> UInt64 {
    let product = (word ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low
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
