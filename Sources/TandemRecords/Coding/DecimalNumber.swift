/// A decimal number: an integer of up to 38 digits times a power of ten.
struct DecimalNumber: Hashable {
  let isNegative: Bool
  /// The digits, without zeros at the end.
  let magnitude: UInt128
  let exponent: Int

  init(isNegative: Bool, magnitude: UInt128, exponent: Int) {
    var (magnitude, exponent) = (magnitude, magnitude == 0 ? 0 : exponent)
    while magnitude != 0, magnitude % 10 == 0 {
      magnitude /= 10
      exponent += 1
    }
    self.isNegative = isNegative && magnitude != 0
    self.magnitude = magnitude
    self.exponent = exponent
  }

  init(_ integer: some SignedInteger & FixedWidthInteger, exponent: Int = 0) {
    self.init(
      isNegative: integer < 0, magnitude: UInt128(integer.magnitude), exponent: exponent)
  }

  /// The number of a text in JSON's syntax; `nil` for another text, and for too many digits.
  init?(_ text: String) {
    var text = text
    let number = text.withUTF8 { utf8 -> DecimalNumber? in
      let bytes = UnsafeRawBufferPointer(utf8)
      let literal = DecimalLiteral(bytes, from: 0, to: bytes.count)
      guard literal.isComplete, literal.end == bytes.count else { return nil }
      var magnitude: UInt128 = 0
      // Zeros count only if another digit follows.
      var zeroCount = 0
      for byte in bytes.prefix(while: { !ASCII.isExponentMark($0) }) {
        guard ASCII.digits.contains(byte), magnitude != 0 || byte != ASCII.zero else { continue }
        zeroCount += 1
        guard byte != ASCII.zero else { continue }
        guard zeroCount <= Self.maxDigitCount else { return nil }
        let (product, isOverflow) = magnitude.multipliedReportingOverflow(by: Self.power(zeroCount))
        let (sum, isOver) = product.addingReportingOverflow(UInt128(ASCII.digit(byte)))
        guard !isOverflow, !isOver else { return nil }
        (magnitude, zeroCount) = (sum, 0)
      }
      return DecimalNumber(
        isNegative: bytes[0] == ASCII.minus, magnitude: magnitude,
        exponent: literal.exponent + zeroCount)
    }
    guard let number else { return nil }
    self = number
  }

  /// The shortest decimal number that is read as this real; `nil` for infinity and NaN.
  init?(_ real: Double) {
    guard real.isFinite else { return nil }
    self.init("\(real)")
  }

  /// The integer that this is, if it has 64 bits.
  var integer: Int64? {
    guard (0...18).contains(exponent) else { return nil }
    let (product, isOverflow) = magnitude.multipliedReportingOverflow(by: Self.power(exponent))
    guard !isOverflow else { return nil }
    return isNegative
      ? Int128(exactly: product).flatMap { Int64(exactly: -$0) } : Int64(exactly: product)
  }

  /// The number of digits that ``magnitude`` holds, whatever they are.
  private static var maxDigitCount: Int { 38 }

  /// Ten to the given power, at most 38.
  static func power(_ exponent: Int) -> UInt128 {
    (0..<exponent).reduce(1) { power, _ in power * 10 }
  }
}

extension DecimalNumber: CustomStringConvertible {
  /// The number in JSON's syntax.
  var description: String {
    let sign = isNegative ? "-" : ""
    let digits = String(magnitude)
    switch exponent {
    case 0...Self.maxZeroCount:
      return sign + digits + String(repeating: "0", count: exponent)
    case -Self.maxZeroCount..<0:
      let padded = String(repeating: "0", count: max(0, 1 - exponent - digits.count)) + digits
      return "\(sign)\(padded.dropLast(-exponent)).\(padded.suffix(-exponent))"
    default: return "\(sign)\(digits)e\(exponent)"
    }
  }

  /// The number of zeros up to which a text has no exponent.
  private static var maxZeroCount: Int { 40 }
}

// MARK: - Fields

extension DecimalNumber {
  /// The number in a field, if it is one.
  init?(_ value: FieldValue) {
    switch value {
    case .integer(let integer): self.init(integer)
    case .real(let real): self.init(real)
    case .text(let text): self.init(text)
    case .null, .blob: return nil
    }
  }

  /// The number of digits up to which decimal numbers and reals correspond one to one.
  private static var maxRealDigitCount: Int { 15 }

  /// An integer or a real if that is exact, otherwise a text.
  var fieldValue: FieldValue {
    if let integer { return .integer(integer) }
    let text = description
    if String(magnitude).utf8.count <= Self.maxRealDigitCount, let real = Double(text),
      DecimalNumber(real) == self
    {
      return .real(real)
    }
    return .text(text)
  }
}

// MARK: - Foundation's Decimal

extension DecimalNumber {
  /// The number that `Decimal` encodes by these keys; `nil` for its NaN.
  init?(archive: JSONValue) {
    guard case .object(let fields) = archive, case .number(let exponentText) = fields["exponent"],
      case .array(let words) = fields["mantissa"], case .number(let lengthText) = fields["length"],
      let exponent = Int(exponentText), let length = Int(lengthText)
    else { return nil }
    let isNegative = fields["isNegative"] == .bool(true)
    guard length > 0 || !isNegative else { return nil }
    var magnitude: UInt128 = 0
    for word in words.prefix(length).reversed() {
      guard case .number(let digits) = word, let bits = UInt16(digits) else { return nil }
      magnitude = magnitude << 16 | UInt128(bits)
    }
    self.init(isNegative: isNegative, magnitude: magnitude, exponent: exponent)
  }

  /// The keys by which `Decimal` decodes itself; `nil` if it cannot hold the number.
  var archive: JSONValue? {
    var (magnitude, exponent) = (magnitude, exponent)
    while exponent > 127 {
      let (product, isOverflow) = magnitude.multipliedReportingOverflow(by: 10)
      guard !isOverflow else { return nil }
      (magnitude, exponent) = (product, exponent - 1)
    }
    guard exponent >= -128 else { return nil }
    let words = (0..<8).map { UInt16(truncatingIfNeeded: magnitude >> ($0 * 16)) }
    let length = words.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
    return .object([
      "exponent": .number("\(exponent)"), "length": .number("\(length)"),
      "isNegative": .bool(isNegative), "isCompact": .bool(true),
      "mantissa": .array(words.map { .number("\($0)") }),
    ])
  }
}
