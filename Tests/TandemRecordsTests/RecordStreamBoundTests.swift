import TandemRecords
import Testing

@Suite("The bytes that are held of a list that arrives in parts")
struct RecordStreamBoundTests {
  static let limit = 1_000
  static let chunkByteCount = 64

  /// Reads the start of a text, then one chunk again and again. Returns the error and the greatest
  /// number of bytes that were held.
  private func endless(_ start: String, _ format: RecordFormat, _ chunk: String)
    -> (error: RecordError?, heldByteCount: Int)
  {
    var stream = RecordStream(
      format: format, limits: RecordLimits(maxRecordByteCount: Self.limit))
    var records = PackedRecords()
    var heldByteCount = 0
    do throws(RecordError) {
      try stream.read(copying: Array(start.utf8), into: &records)
      for _ in 0..<200 {
        try stream.read(copying: Array(chunk.utf8), into: &records)
        heldByteCount = max(heldByteCount, stream.unreadByteCount)
      }
    } catch {
      return (error, heldByteCount)
    }
    return (nil, heldByteCount)
  }

  @Test(
    "a record that does not end is an error when it exceeds the limit of a record",
    arguments: [
      ("[{},{\"a\":\"", RecordFormat.json, "x"), ("[{\"a\":[", .json, "[],"),
      ("[{\"a\":", .json, "1"),
      ("[{", .json, " "), ("[{\"", .json, "\\n"), ("{\"a\":\"", .ndjson, "x"), ("{", .ndjson, " "),
    ])
  func endlessRecords(start: String, format: RecordFormat, piece: String) {
    let chunk = String(repeating: piece, count: Self.chunkByteCount / piece.utf8.count)
    let (error, heldByteCount) = endless(start, format, chunk)
    #expect(error?.code == .limitExceeded)
    #expect((Self.limit - 100...Self.limit + Self.chunkByteCount).contains(heldByteCount))
  }

  @Test(
    "white space outside of records is not held, and has no limit",
    arguments: [
      ("", RecordFormat.json), ("[", .json), ("[{}", .json), ("[{},", .json), ("[{}]", .json),
      ("", .ndjson), ("{}\n", .ndjson),
    ])
  func space(start: String, format: RecordFormat) {
    let (error, heldByteCount) = endless(start, format, String(repeating: " \n", count: 32))
    #expect(error == nil)
    #expect(heldByteCount == 0)
  }

  @Test("white space behind the object of a line is held up to the limit, and has none itself")
  func spaceInLine() throws {
    let (error, heldByteCount) = endless("{} ", .ndjson, String(repeating: " ", count: 64))
    #expect(error == nil)
    #expect((1...Self.limit + Self.chunkByteCount).contains(heldByteCount))
    let line = "{\"a\":1}" + String(repeating: " ", count: 5_000)
    for (rest, message) in [
      ("\n{\"a\":2}\n", nil), ("{}", "expected the end of the line, found \"{\""),
    ] {
      let text = ListedText(bytes: Array((line + rest).utf8), format: .ndjson)
      let limits = RecordLimits(maxRecordByteCount: 100)
      let outcome = text.read(Array(repeating: 10, count: 600), limits)
      #expect(outcome.error?.message == message)
      try text.readWhole(limits).expectSame(as: outcome, rest)
    }
  }

  @Test(
    "of a long list, no more than one record and one chunk are held", arguments: [10, 100, 5_000])
  func longList(chunkByteCount: Int) throws {
    let records = (0..<2_000).map {
      Record([(name: "id", value: .integer($0)), (name: "x", value: "abc")])!
    }
    for format in [RecordFormat.json, .ndjson] {
      let bytes = listText(records, format)
      var stream = RecordStream(format: format)
      var list = PackedRecords()
      var heldByteCount = 0
      for start in stride(from: 0, to: bytes.count, by: chunkByteCount) {
        let end = min(bytes.count, start + chunkByteCount)
        try stream.read(copying: Array(bytes[start..<end]), into: &list)
        heldByteCount = max(heldByteCount, stream.unreadByteCount)
      }
      try stream.finish(into: &list)
      #expect(Array(list) == records)
      #expect(Set(list.map { ObjectIdentifier($0.layout) }).count == 1)
      #expect(heldByteCount < 30 + chunkByteCount)
    }
  }

  @Test(
    "a record of many chunks takes a time in proportion to its length", .timeLimit(.minutes(20)),
    arguments: [RecordFormat.json, .ndjson])
  func longRecord(format: RecordFormat) throws {
    let value = String(repeating: "abcdefgh", count: 100_000)
    let text = (format == .json ? "[{\"a\":\"\(value)\"},{}]" : "{\"a\":\"\(value)\"}\n{}")
    var stream = RecordStream(format: format)
    var records = PackedRecords()
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: 4) {
      try stream.read(copying: Array(bytes[start..<min(bytes.count, start + 4)]), into: &records)
    }
    try stream.finish(into: &records)
    #expect(records == [["a": .text(value)], [:]])
  }

  @Test("a line is read when its line feed arrives, and each later call throws an error again")
  func promptness() throws {
    var stream = RecordStream(format: .ndjson)
    var records = PackedRecords()
    for (chunk, expected) in [("{\"a\":", 0), ("1}", 0), ("\n", 1), ("{}\n{}\n{", 3), ("}", 3)] {
      try stream.read(copying: Array(chunk.utf8), into: &records)
      #expect(records.count == expected)
    }
    for _ in 0..<2 {
      let error = #expect(throws: RecordError.self) {
        try stream.read(copying: Array("x\n".utf8), into: &records)
      }
      #expect([error?.record, error?.line, error?.column] == [4, 4, 3])
    }
    #expect(throws: RecordError.self) { try stream.finish(into: &records) }
    #expect(records.count == 3)
    #expect(stream.unreadByteCount == 0)
  }
}
