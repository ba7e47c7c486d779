import TandemRecords

/// Values that are easy to confuse with one another.
let nastyValues: [FieldValue] = [
  .null, .real(.nan), .real(-.nan),
  .real(-.infinity), .real(-.greatestFiniteMagnitude), .real(-0x1p63 - 2048), .real(-0x1p63),
  .integer(.min), .integer(.min + 1), .integer(-(1 << 53) - 1), .real(-0x1p53),
  .integer(-(1 << 53)), -1, -1.0, -0.5, .real(-.leastNonzeroMagnitude), 0, 0.0, .real(-0.0),
  .real(.leastNonzeroMagnitude), 0.5, 1, 1.0, 1.5, 2, .integer((1 << 53) - 1), .real(0x1p53 - 1),
  .integer(1 << 53), .real(0x1p53), .integer((1 << 53) + 1), .real(0x1p53 + 2),
  .integer((1 << 53) + 2), .integer(.max - 1), .integer(.max), .real(0x1p63),
  .real(.greatestFiniteMagnitude), .real(.infinity),
  "", "\0", "a", "a\0", "a\0b", "ab", "1", "e\u{301}", "\u{E9}", "abcdefg", "abcdefgh", "abcdefgi",
  "\u{FFFF}", "\u{10000}",
  .blob([]), .blob([0]), .blob([0, 0]), .blob([0x61]), .blob([0xFF]), .blob([0xFF, 0]),
]

/// The records of a text.
func records(_ text: String, _ format: RecordFormat, _ limits: RecordLimits = RecordLimits())
  throws(RecordError) -> [Record]
{
  try RecordReader.records(in: Array(text.utf8), format: format, limits: limits)
}

/// The error that a text leads to, or `nil`.
func error(_ bytes: [UInt8], _ format: RecordFormat, _ limits: RecordLimits = RecordLimits())
  -> RecordError?
{
  do throws(RecordError) {
    _ = try RecordReader.records(in: bytes, format: format, limits: limits)
    return nil
  } catch {
    return error
  }
}

/// A text that equals another only if it has the same bytes.
struct ExactText: Equatable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
  let description: String

  init(stringLiteral value: String) { description = value }

  static func == (first: ExactText, second: ExactText) -> Bool {
    first.description.utf8.elementsEqual(second.description.utf8)
  }
}

/// The names and values of a record, in order. Equality of records would not tell `1` from `1.0`, nor
/// one order of fields from another.
func exactFields(_ record: Record) -> [ExactText] {
  zip(record.layout.names, record.values).map { "\($0): \($1)" }
}
