/// Finds where things stand in texts that ``RecordReader`` has accepted, and checks nothing again.
struct TextSpans {
  private let bytes: UnsafeRawBufferPointer
  private var index: Int

  init(_ bytes: UnsafeRawBufferPointer, from index: Int? = nil) {
    self.bytes = bytes
    self.index = index ?? ByteOrderMark.byteCount(in: bytes)
  }

  /// The objects of a JSON array, or of lines.
  mutating func objects() -> [Range<Int>] {
    var spans: [Range<Int>] = []
    while let start = next(ASCII.openBrace) {
      skipValue()
      spans.append(start..<index)
    }
    return spans
  }

  /// The values of the object that starts here, in the order of its fields.
  mutating func values() -> [Range<Int>] {
    var spans: [Range<Int>] = []
    index += 1
    while next(ASCII.quote) != nil {
      skipString()
      _ = next(ASCII.colon)
      index += 1
      while index < bytes.count, ASCII.isSpace(bytes[index]) { index += 1 }
      let start = index
      skipValue()
      spans.append(start..<index)
    }
    return spans
  }

  /// Goes to the next such byte, before anything but white space, commas and an opening bracket.
  private mutating func next(_ byte: UInt8) -> Int? {
    while index < bytes.count, bytes[index] != byte {
      guard
        ASCII.isSpace(bytes[index]) || bytes[index] == ASCII.comma
          || bytes[index] == ASCII.openBracket
      else { return nil }
      index += 1
    }
    return index < bytes.count ? index : nil
  }

  private mutating func skipValue() {
    var depth = 0
    while index < bytes.count {
      switch bytes[index] {
      case ASCII.quote:
        skipString()
        if depth == 0 { return }
        continue
      case ASCII.openBrace, ASCII.openBracket: depth += 1
      case ASCII.closeBrace, ASCII.closeBracket:
        if depth == 0 { return }
        depth -= 1
        if depth == 0 {
          index += 1
          return
        }
      case ASCII.comma where depth == 0: return
      case let byte where depth == 0 && ASCII.isSpace(byte): return
      default: break
      }
      index += 1
    }
  }

  private mutating func skipString() {
    index += 1
    while index < bytes.count, bytes[index] != ASCII.quote {
      index += bytes[index] == ASCII.backslash ? 2 : 1
    }
    index = min(index + 1, bytes.count)
  }

  /// The fields of the rows of a CSV text, the header first, with their quotes.
  mutating func rows() -> [[Range<Int>]] {
    var rows: [[Range<Int>]] = []
    while index < bytes.count {
      var row = [cell()]
      while index < bytes.count, bytes[index] == ASCII.comma {
        index += 1
        row.append(cell())
      }
      rows.append(row)
      if index < bytes.count { index += bytes[index] == ASCII.carriageReturn ? 2 : 1 }
    }
    return rows
  }

  private mutating func cell() -> Range<Int> {
    let start = index
    var isQuoted = false
    while index < bytes.count {
      switch bytes[index] {
      case ASCII.quote: isQuoted.toggle()
      case ASCII.comma, ASCII.lineFeed, ASCII.carriageReturn:
        if !isQuoted { return start..<index }
      default: break
      }
      index += 1
    }
    return start..<index
  }
}
