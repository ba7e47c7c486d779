import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

struct MirrorDeletionLimitTests {
  @Test(
    "a number is a count, and one with a percent sign a percentage",
    arguments: [
      ("0", MirrorDeletionLimit.count(0)), ("10", .count(10)), ("007", .count(7)),
      ("9223372036854775807", .count(.max)),
      ("0%", .percentage(0)), ("50%", .percentage(50)), ("2.5%", .percentage(2.5)),
      ("100%", .percentage(100)), ("0.00001%", .percentage(0.00001)),
    ])
  func parsed(text: String, limit: MirrorDeletionLimit) {
    #expect(MirrorDeletionLimit(text) == limit)
  }

  @Test(
    "a text that is neither a count nor a percentage is no limit",
    arguments: [
      "", "%", " 5", "5 ", "5 %", "-1", "+1", "-0", "-1%", "+1%", "-0%", "101%", "100.001%", "1e9%",
      "NaN%", "nan%", "inf%", "-inf%", "infinity%", "0x10", "0x10%", "0x1p3%", "1.5", "5%%", "%5",
      "five", "9223372036854775808", "1,5%", "\u{0665}%", "5\u{301}", "5%\u{301}", "1\0",
    ])
  func refused(text: String) {
    #expect(MirrorDeletionLimit(text) == nil)
  }

  @Test(
    "a limit is read back from its description",
    arguments: ["0", "10", "0%", "50%", "2.5%", "33.3%", "100%", "1e-05%"])
  func described(text: String) {
    #expect(MirrorDeletionLimit(text)?.description == text)
  }

  @Test("a count is the same for every destination")
  func counts() {
    for existing in [0, 1, 20, .max] {
      #expect(MirrorDeletionLimit.count(7).maxDeletionCount(of: existing) == 7)
      #expect(MirrorDeletionLimit.count(-7).maxDeletionCount(of: existing) == 0)
    }
  }

  @Test("a whole percentage of any small destination is exact, rounded down")
  func percentages() {
    for percentage in 0...100 {
      for existing in 0...300 {
        let limit = MirrorDeletionLimit.percentage(Double(percentage))
        let count = limit.maxDeletionCount(of: existing)
        guard count == existing * percentage / 100 else {
          Issue.record("\(limit) of \(existing) is \(count)")
          return
        }
      }
    }
  }

  @Test(
    "percentages that are none, and counts that cannot be, do no harm",
    arguments: [
      (Double.nan, 100, 0), (-.nan, 100, 0), (-5, 100, 0), (-.infinity, 100, 0), (101, 100, 100),
      (.infinity, 100, 100), (50, -10, 0), (100, Int.max, Int.max), (100, .min, 0),
    ])
  func extremes(percentage: Double, existing: Int, expected: Int) {
    let limit = MirrorDeletionLimit.percentage(percentage)
    #expect(limit.maxDeletionCount(of: existing) == expected)
    #expect(limit.description.hasSuffix("%"))
  }
}
