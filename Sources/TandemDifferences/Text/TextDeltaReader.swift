/// Reads the edits of one delta, checking each against the old text.
struct TextDeltaReader {
  private let delta: ContiguousText
  private let old: ContiguousText
  private var position = 0
  private var edits: [TextDifference.Edit] = []
  private var oldEnd = 0

  init(delta: ContiguousText, old: ContiguousText) {
    self.delta = delta
    self.old = old
  }

  mutating func readEdits() throws(TextDeltaError) -> [TextDifference.Edit] {
    guard delta.count > 0 else { return [] }
    try readEdit()
    while position < delta.count {
      guard skip("\t") else { throw error(.malformed) }
      try readEdit()
    }
    return edits
  }

  private mutating func readEdit() throws(TextDeltaError) {
    let start = position
    let offset = oldEnd + (try readLength() ?? 0)
    if offset == oldEnd, !edits.isEmpty { throw error(.emptyEdit, at: start) }
    oldEnd = offset
    var deleted = ""
    if skip("-") {
      guard let byteCount = try readLength() else { throw error(.malformed) }
      oldEnd += byteCount
      deleted = old[offset..<oldEnd]
    }
    let inserted = skip("+") ? try readText() : ""
    if deleted.isEmpty, inserted.isEmpty {
      throw error(next == nil || next == UInt8(ascii: "\t") ? .emptyEdit : .malformed)
    }
    edits.append(TextDifference.Edit(at: offset, deleting: deleted, inserting: inserted))
  }

  /// Reads the number of bytes that are kept or deleted after `oldEnd`. Returns `nil` if there is
  /// no number.
  private mutating func readLength() throws(TextDeltaError) -> Int? {
    let start = position
    var length = 0
    while let digit = digit(radix: 36) {
      if length == 0, digit == 0 { throw error(.malformed) }
      length = length * 36 + digit
      if length > old.count - oldEnd { throw error(.beyondEnd, at: start) }
      position += 1
    }
    guard position > start else { return nil }
    if !old.isScalarBoundary(oldEnd + length) { throw error(.splitsScalar, at: start) }
    return length
  }

  private mutating func readText() throws(TextDeltaError) -> String {
    let start = position
    var bytes: [UInt8] = []
    while let byte = next, byte != UInt8(ascii: "\t") {
      if byte.isControl { throw error(.malformed) }
      bytes.append(byte == UInt8(ascii: "\\") ? try readEscape() : byte)
      position += 1
    }
    if bytes.isEmpty { throw error(.emptyEdit, at: start) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads an escape up to its last byte.
  private mutating func readEscape() throws(TextDeltaError) -> UInt8 {
    let start = position
    position += 1
    switch next {
    case UInt8(ascii: "\\"): return UInt8(ascii: "\\")
    case UInt8(ascii: "n"): return UInt8(ascii: "\n")
    case UInt8(ascii: "t"): return UInt8(ascii: "\t")
    case UInt8(ascii: "x"): break
    default: throw error(.malformedEscape, at: start)
    }
    var value = 0
    for _ in 0..<2 {
      position += 1
      guard let digit = digit(radix: 16) else { throw error(.malformedEscape, at: start) }
      value = value * 16 + digit
    }
    let byte = UInt8(value)
    guard byte.isControl, byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\t") else {
      throw error(.malformedEscape, at: start)
    }
    return byte
  }

  private var next: UInt8? {
    position < delta.count ? delta.utf8[position] : nil
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: scalar) else { return false }
    position += 1
    return true
  }

  /// Returns the value of the next byte as a digit, or `nil` if it is not a digit.
  private func digit(radix: UInt8) -> Int? {
    guard let next else { return nil }
    let value: UInt8
    switch next {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = next - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = next - UInt8(ascii: "a") + 10
    default: return nil
    }
    return value < radix ? Int(value) : nil
  }

  private func error(_ kind: TextDeltaError.Kind, at offset: Int? = nil) -> TextDeltaError {
    TextDeltaError(offset: offset ?? position, kind: kind)
  }
}

extension UInt8 {
  /// True for an ASCII control character.
  var isControl: Bool { self < 0x20 || self == 0x7F }
}
