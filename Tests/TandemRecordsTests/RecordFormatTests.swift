import TandemRecords
import Testing

struct RecordFormatTests {
  @Test(
    "a file's extension names the format",
    arguments: [
      ("a.json", RecordFormat.json), ("a.JSON", .json), ("x/a.b.ndjson", .ndjson),
      ("a.JsonL", .ndjson), ("a.csv", .csv), ("a.tsv", .tsv), ("a.TAB", .tsv), (".csv", .csv),
      ("é.csv", .csv),
      ("a.txt", nil), ("json", nil), ("", nil), ("a.json/b", nil), ("a.", nil),
    ])
  func fileNames(name: String, format: RecordFormat?) {
    #expect(RecordFormat(fileName: name) == format)
  }

  @Test(
    "a media type names the format, whatever its parameters",
    arguments: [
      ("application/json", RecordFormat.json), ("Application/JSON; charset=utf-8", .json),
      (" application/geo+json", .json), ("application/x-ndjson;x=y", .ndjson),
      ("application/jsonl", .ndjson), ("text/csv; header=present", .csv),
      ("text/tab-separated-values", .tsv),
      ("text/plain", nil), ("text/html", nil), ("", nil), (";", nil),
    ])
  func contentTypes(type: String, format: RecordFormat?) {
    #expect(RecordFormat(contentType: type) == format)
  }

  @Test(
    "the first byte that is no space tells the format",
    arguments: [
      ("[", RecordFormat.json), (" \r\n\t[{}]", .json), ("{\"a\":1}", .ndjson),
      ("\u{FEFF}[", .json), ("\u{FEFF}\n{", .ndjson), ("a,b", .csv), ("", .csv), ("\u{FEFF}", .csv),
    ])
  func sniffing(text: String, format: RecordFormat) {
    #expect(RecordFormat.sniffed(from: Array(text.utf8)) == format)
  }
}
