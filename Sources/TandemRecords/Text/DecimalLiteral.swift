/// A number as JSON writes it, `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, read in one pass.
struct DecimalLiteral {
  /// Where in the text it starts.
  let start: Int
  /// Where the first byte stands that cannot go on with it.
  private(set) var end: Int
  /// Whether there is a whole number before `end`; if not, a digit is missing there.
  private(set) var isComplete = false
  /// Whether it has neither a fraction nor an exponent.
  private(set) var isInteger = true
  /// How many digits it has from the first that is not zero, those of the exponent aside.
  private(set) var significantCount = 0
  /// The power of ten that the significant digits are multiplied by; saturated.
  private(set) var exponent = 0

  private let isNegative: Bool
  /// The significant digits as an integer; wrapped around if there are more than 19 of them.
  private var magnitude: UInt64 = 0

  /// The longest start of a number between `start` and `limit`.
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

  /// Where exponents saturate: far beyond what a double can hold, far below what an integer can.
  private static let maxExponent = 1 << 40
}

extension DecimalLiteral {
  /// The value of an integer literal, or `nil` if it does not fit.
  @inline(__always)
  func integer(in bytes: UnsafeRawBufferPointer) -> Int64? {
    if significantCount <= 18 {
      let value = Int64(truncatingIfNeeded: magnitude)
      return isNegative ? 0 &- value : value
    }
    return Int64(text(in: bytes))
  }

  /// The double nearest to the literal, halfway cases going to the even one; infinite if it is
  /// beyond the greatest.
  ///
  /// A product or quotient of two exact doubles is correctly rounded (Clinger, "How to Read
  /// Floating Point Numbers Accurately", PLDI 1990); other literals go the long way.
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

  /// The literal as it stands in the text.
  func text(in bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes[start..<end], as: UTF8.self)
  }

  private static let exactPowersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]
}
