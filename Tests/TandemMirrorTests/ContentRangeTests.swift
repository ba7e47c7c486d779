import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("Content ranges")
struct ContentRangeTests {
  @Test("a range is read with its total, or without one")
  func ranges() {
    let range = ContentRange("bytes 10-19/100")
    #expect(range?.start == 10)
    #expect(range?.end == 19)
    #expect(range?.totalByteCount == 100)
    #expect(ContentRange("BYTES 0-0/1")?.end == 0)
    #expect(ContentRange("bytes 10-19/*").map { $0.totalByteCount == nil } == true)
  }

  @Test(
    "an invalid Content-Range is nil",
    arguments: [
      "", "bytes", "bytes */100", "bytes 10-19", "bytes 10-/100", "bytes -19/100",
      "bytes 19-10/100", "bytes 10-100/100", "bytes 10-19/", "items 10-19/100", "bytes 1-2-3/9",
      "bytes 0-99999999999999999999/*", "bytes 10-19/100/2", "bytes 0-1/x",
    ])
  func strangers(text: String) {
    #expect(ContentRange(text) == nil)
  }
}
