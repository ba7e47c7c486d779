import Foundation
import TandemRecords
import TestRandom
import Testing

struct NumberReadingTests {
  private func value(_ literal: String) throws -> FieldValue {
    try #require(try records("[{\"a\":\(literal)}]", .json).first)["a"]
  }

  private func expectSameAsStrtod(_ literal: String) throws {
    let expected = strtod(literal, nil)
    guard Self.isExact(literal, expected) else {
      #expect(try value(literal) == .text(literal), "\(literal)")
      return
    }
    guard case .real(let real) = try value(literal) else {
      Issue.record("\(literal) is no real")
      return
    }
    #expect(real.bitPattern == expected.bitPattern, "\(literal)")
  }

  /// True if a double, written with as many digits as a literal, is the same number.
  private static func isExact(_ literal: String, _ number: Double) -> Bool {
    let parts = literal.lowercased().split(separator: "e")
    let digits = parts[0].filter(\.isNumber).drop { $0 == "0" }
    let significant = digits.reversed().drop { $0 == "0" }.count
    if significant == 0 { return true }
    guard number.isFinite, number != 0 else { return false }
    let written = String(format: "%.\(significant - 1)e", number)
    func form(_ text: String) -> String {
      // The digits, and the place of the first one that is not zero.
      let parts = text.lowercased().split(separator: "e")
      let mantissa = parts[0].drop { $0 == "-" }
      let point =
        mantissa.firstIndex(of: ".").map { mantissa.distance(from: mantissa.startIndex, to: $0) }
        ?? mantissa.count
      let all = mantissa.filter(\.isNumber)
      let lead = all.prefix { $0 == "0" }.count
      var digits = all.drop { $0 == "0" }
      while digits.last == "0" { digits.removeLast() }
      return "\(digits) \(point - lead + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0))"
    }
    return form(literal) == form(written)
  }

  @Test("a decimal that a double has not is a text of its digits, and every other one a real")
  func precision() throws {
    for literal in [
      "3.14159265358979323846", "9007199254740993.0", "1e400", "-1e309", "1e-400",
      "123456789012345678901234567890.5", "0.12345678901234567891",
    ] {
      #expect(try value(literal) == .text(literal))
    }
    for literal in [
      "0.30000000000000004", "0.1000000000000000055511151231257827021181583404541015625",
      "1.50000000000000000000", "-73.98765432109876", "5e-324", "1.7976931348623157e308",
    ] {
      #expect(try value(literal) == .real(try #require(Double(literal))))
    }
  }

  @Test("reals are rounded as strtod rounds them, at every edge")
  func edges() throws {
    let mantissas = [
      "0", "1", "9", "123456789012345", "999999999999999", "9007199254740992", "9007199254740993",
      "9007199254740995", "1234567890123456789", "18446744073709551615", "18446744073709551616",
      "99999999999999999999999", "17976931348623157", "17976931348623159", "22250738585072014",
      "49406564584124654", "24703282292062327", "24703282292062328",
    ]
    for mantissa in mantissas {
      for exponent in [-400, -345, -341, -340, -339, -324, -323, -308, -23, -22, -1, 0]
        + [1, 15, 22, 23, 37, 292, 293, 308, 309, 400, 99_999_999_999_999]
      {
        for form in ["\(mantissa)e\(exponent)", "-\(mantissa).0E\(exponent)"] {
          try expectSameAsStrtod(form)
        }
      }
    }
    try expectSameAsStrtod("0.00000000000000000000000000000000000000123")
    try expectSameAsStrtod("0.\(String(repeating: "0", count: 400))1e400")
    try expectSameAsStrtod("1\(String(repeating: "0", count: 300)).5")
    try expectSameAsStrtod("2.4703282292062327208299439634110864618253e-324")
    try expectSameAsStrtod("1.00000000000000011102230246251565404236316680908203125")
  }

  @Test("random decimals are rounded as strtod rounds them")
  func random() throws {
    var generator = SplitMix64(seed: 2)
    for _ in 0..<20_000 {
      let digits = Int.random(in: 1...22, using: &generator)
      let whole = (1...digits).map { _ in "\(Int.random(in: 0...9, using: &generator))" }.joined()
      let point = Int.random(in: 0...3, using: &generator)
      let exponent = Int.random(in: -330...310, using: &generator)
      let small = Int.random(in: -25...25, using: &generator)
      let suffix = ["", "e\(exponent)", "e\(small)", "E+1"][point]
      try expectSameAsStrtod("\(point).\(whole)\(suffix)")
    }
  }

  @Test("every random double comes back from its shortest text")
  func shortest() throws {
    var generator = SplitMix64(seed: 3)
    for _ in 0..<20_000 {
      let number = Double(bitPattern: generator.next())
      guard number.isFinite else { continue }
      var bytes = Array("[{\"a\":".utf8)
      RecordWriter.appendJSON(.real(number), to: &bytes)
      bytes += Array("}]".utf8)
      let list = try RecordReader.records(in: bytes, format: .json)
      guard case .real(let read)? = list.first?.values.first else {
        Issue.record("\(number) is no real")
        continue
      }
      #expect(read.bitPattern == number.bitPattern, "\(number)")
    }
  }

  @Test("integers are exact up to the ends of their range, and texts of their digits beyond")
  func integers() throws {
    for base in [Int64.min, -(1 << 53), -1, 0, 1 << 53, 999_999_999_999_999_999, .max] {
      for offset in Int64(-12)...12 {
        let (number, overflow) = base.addingReportingOverflow(offset)
        if !overflow { #expect(try value("\(number)").description == "\(number)") }
      }
    }
    for literal in ["9223372036854775808", "-9223372036854775809", "18446744073709551616"]
      + ["100000000000000000000", "\(String(repeating: "9", count: 1000))"]
    {
      #expect(try value(literal) == .text(literal))
    }
  }
}
