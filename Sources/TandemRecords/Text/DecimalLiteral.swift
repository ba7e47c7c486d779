import SystemLibrary

/// A number in JSON's syntax, `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, read in one pass.
struct DecimalLiteral {
  /// The offset of its first byte.
  let start: Int
  /// The offset of the first byte that is not part of it.
  private(set) var end: Int
  /// True if there is a whole number before `end`. Otherwise a digit is missing there.
  private(set) var isComplete = false
  /// True if it has neither a fraction nor an exponent.
  private(set) var isInteger = true
  /// The number of its digits from the first one that is not zero, without those of the exponent.
  private(set) var significantCount = 0
  /// The power of ten by which the significant digits are multiplied; saturated.
  private(set) var exponent = 0
  /// The offset of the letter before its exponent; 0 if it has none.
  private(set) var exponentMark = 0

  private let isNegative: Bool
  /// The significant digits as an integer; it overflows if there are more than 19.
  private var magnitude: UInt64 = 0

  /// Reads the longest prefix of a number between `start` and `limit`.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer, from start: Int, to limit: Int) {
    self.start = start
    end = start
    isNegative = start < limit && bytes[start] == ASCII.minus
    if isNegative { end &+= 1 }
    guard readWhole(bytes, to: limit) else { return }
    isComplete = true
    if end < limit, bytes[end] == ASCII.point { readFraction(bytes, to: limit) }
    if isComplete, end < limit, ASCII.isExponentMark(bytes[end]) { readExponent(bytes, to: limit) }
  }

  @inline(__always)
  private mutating func readWhole(_ bytes: UnsafeRawBufferPointer, to limit: Int) -> Bool {
    guard end < limit, ASCII.digit(bytes[end]) <= 9 else { return false }
    if bytes[end] == ASCII.zero {
      end &+= 1
    } else {
      readSignificantDigits(bytes, to: limit)
    }
    return true
  }

  @inline(__always)
  private mutating func readSignificantDigits(_ bytes: UnsafeRawBufferPointer, to limit: Int) {
    let first = end
    while end < limit {
      let digit = ASCII.digit(bytes[end])
      if digit > 9 { break }
      magnitude = magnitude &* 10 &+ UInt64(digit)
      end &+= 1
    }
    significantCount &+= end &- first
  }

  private mutating func readFraction(_ bytes: UnsafeRawBufferPointer, to limit: Int) {
    isInteger = false
    end &+= 1
    let first = end
    if significantCount == 0 {
      while end < limit, bytes[end] == ASCII.zero { end &+= 1 }
    }
    readSignificantDigits(bytes, to: limit)
    exponent = first &- end
    isComplete = end > first
  }

  private mutating func readExponent(_ bytes: UnsafeRawBufferPointer, to limit: Int) {
    isInteger = false
    exponentMark = end
    end &+= 1
    let isBelowOne = end < limit && bytes[end] == ASCII.minus
    if isBelowOne || (end < limit && bytes[end] == ASCII.plus) { end &+= 1 }
    let first = end
    var power = 0
    while end < limit, ASCII.digit(bytes[end]) <= 9 {
      power = min(power &* 10 &+ Int(ASCII.digit(bytes[end])), DecimalLiteral.maxExponent)
      end &+= 1
    }
    exponent &+= isBelowOne ? -power : power
    isComplete = end > first
  }

  /// The limit of exponents: far beyond the range of doubles, far below that of integers.
  private static let maxExponent = 1 << 40
}

extension DecimalLiteral {
  /// Returns the value of an integer literal, or `nil` if it does not fit.
  @inline(__always)
  func integer(in bytes: UnsafeRawBufferPointer) -> Int64? {
    if significantCount <= 18 {
      let value = Int64(truncatingIfNeeded: magnitude)
      return isNegative ? 0 &- value : value
    }
    return Int64(text(in: bytes))
  }

  /// Returns the double nearest to the literal, or the even one of two. Infinite if the literal is
  /// beyond the greatest double.
  ///
  /// A product or quotient of two exact doubles is correctly rounded (Clinger, "How to Read
  /// Floating Point Numbers Accurately", PLDI 1990). Other literals are converted by the standard
  /// library.
  @inline(__always)
  func real(in bytes: UnsafeRawBufferPointer) -> Double {
    let powers = DecimalLiteral.exactPowersOfTen
    guard significantCount <= 19, magnitude <= 1 << 53, abs(exponent) < powers.count else {
      return Double(text(in: bytes)) ?? .infinity
    }
    let digits = Double(magnitude)
    let value = exponent < 0 ? digits / powers[0 &- exponent] : digits * powers[exponent]
    return isNegative ? -value : value
  }

  /// Returns the nearest double if it, written with as many digits as the literal, is the literal.
  /// Returns `nil` if a digit would be lost, and for numbers beyond the range of doubles.
  @inline(__always)
  func exactReal(in bytes: UnsafeRawBufferPointer) -> Double? {
    let real = real(in: bytes)
    // A normal double keeps 15 digits (DBL_DIG in C).
    if significantCount <= 15, real.isNormal || significantCount == 0 { return real }
    return isKept(by: real, in: bytes) ? real : nil
  }

  @inline(never)
  private func isKept(by real: Double, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard real.isFinite, real != 0 else { return false }
    // Most programs write the fewest digits that read back as the same double, and so does Swift.
    var shortest = real.description
    if significantCount <= 17, shortest.withUTF8({ isSameNumber(as: UnsafeRawBufferPointer($0)) }) {
      return true
    }
    let digits = significantDigits(in: bytes)
    guard digits.count <= DecimalLiteral.maxComparedDigitCount else { return false }
    // `%e` rounds correctly to any number of digits.
    var buffer = [CChar](repeating: 0, count: digits.count + 32)
    _ = withVaList([Int32(digits.count - 1), real.magnitude]) {
      vsnprintf(&buffer, buffer.count, "%.*e", $0)
    }
    var written = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    // Some locales write a comma.
    if digits.count > 1 { written[1] = ASCII.point }
    return written.withUnsafeBytes { written in
      let other = DecimalLiteral(written, from: 0, to: written.count)
      let otherDigits = other.significantDigits(in: written)
      // The place of the first digit decides, because both have the same digits after it.
      return otherDigits == digits
        && other.exponent + other.significantCount == exponent + significantCount
    }
  }

  /// True if `text` is the same number, of at most 19 digits.
  private func isSameNumber(as text: UnsafeRawBufferPointer) -> Bool {
    let other = DecimalLiteral(text, from: 0, to: text.count)
    let (a, b) = (shortForm, other.shortForm)
    return a.magnitude == b.magnitude && a.exponent == b.exponent
  }

  /// The magnitude without the zeros at its end, and its exponent.
  private var shortForm: (magnitude: UInt64, exponent: Int) {
    var (magnitude, exponent) = (magnitude, exponent)
    while magnitude > 0, magnitude.isMultiple(of: 10) {
      magnitude /= 10
      exponent += 1
    }
    return (magnitude, exponent)
  }

  /// The significant digits without the zeros at their end; at least one.
  private func significantDigits(in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var digits = bytes[start..<end].prefix { !ASCII.isExponentMark($0) }
      .filter { ASCII.digit($0) <= 9 }[...]
    digits = digits.drop { $0 == ASCII.zero }
    while digits.count > 1, digits.last == ASCII.zero { digits.removeLast() }
    return Array(digits)
  }

  /// The maximum number of digits that are compared. No double has more.
  private static var maxComparedDigitCount: Int { 767 }

  /// The text of the literal.
  func text(in bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes[start..<end], as: UTF8.self)
  }

  private static let exactPowersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]
}
