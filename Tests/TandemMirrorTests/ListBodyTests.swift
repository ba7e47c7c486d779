import Foundation
import TandemRecords
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Lists that are read as they arrive")
struct ListBodyTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static func list(_ count: Int) -> [Record] {
    (0..<count).map { ["id": .integer(Int64($0)), "name": .text("Büsingen, number \($0)")] }
  }

  private static func text(_ records: [Record], _ format: RecordFormat) -> [UInt8] {
    var bytes: [UInt8] = []
    switch format {
    case .json: RecordWriter.appendJSON(records, to: &bytes)
    case .ndjson:
      for record in records {
        RecordWriter.appendJSON(record, to: &bytes)
        bytes.append(10)
      }
    case .csv, .tsv:
      let separator = format == .csv ? "," : "\t"
      bytes += Array("id\(separator)name\n".utf8)
      for record in records {
        guard case .text(let name) = record["name"] else { continue }
        bytes += Array("\(record["id"])\(separator)\"\(name)\"\n".utf8)
      }
    }
    return bytes
  }

  @Test(
    "keep no byte that has been read, whatever the chunks are", arguments: [1, 7, 100, 100_000])
  func chunks(byteCount: Int) throws {
    for format in [RecordFormat.json, .ndjson] {
      let records = Self.list(50)
      let bytes = Self.text(records, format)
      var body = ListBody()
      var beginnings: [[UInt8]] = []
      for start in stride(from: 0, to: bytes.count, by: byteCount) {
        try bytes[start..<min(start + byteCount, bytes.count)].withUnsafeBytes { chunk in
          try body.append(chunk) { head in
            beginnings.append(head)
            return format
          }
        }
        #expect(body.bytes.isEmpty == body.isRead)
      }
      try body.finish { _ in
        Issue.record("nothing is left to decompress")
        return []
      }
      #expect(body.isRead && body.byteCount == bytes.count && Array(body.records) == records)
      #expect(beginnings.count == 1 && bytes.starts(with: beginnings[0]))
    }
  }

  @Test("are kept until their end if they are not to be read, or are too short to tell")
  func kept() throws {
    for text in ["id,name\n1,a\n2,b\n3,c\n", "[{}]", "", String(repeating: " ", count: 40)] {
      var body = ListBody()
      for byte in text.utf8 {
        try withUnsafeBytes(of: byte) { chunk in try body.append(chunk) { _ in nil } }
      }
      try body.finish { $0 + [33] }
      #expect(!body.isRead && body.bytes == Array(text.utf8) + [33])
      #expect(body.byteCount == text.utf8.count + 1 && body.records.isEmpty)
    }
  }

  @Test("from files of many chunks, with any space before them", arguments: RecordFormat.allCases)
  func files(format: RecordFormat) async throws {
    let records = Self.list(20_000)
    let text = Self.text(records, format)
    #expect(text.count > 2 * 256 << 10)
    let space = [UInt8](repeating: 10, count: format.isCSV ? 0 : 300 << 10)
    for (prefix, name) in [([], "list"), (space, "spacious"), ([0xEF, 0xBB, 0xBF], "marked")] {
      let path = folder.path(of: format == .tsv ? "\(name).tsv" : name)
      try Data(prefix + text).write(to: URL(filePath: path))
      let list = try await RecordSource.file(path).list()
      #expect(try list.content().records == records, "\(name)")
    }
  }

  @Test("fail as a whole text does, with the line and column, far behind the first chunk")
  func errors() async throws {
    let bytes = Self.text(Self.list(20_000), .ndjson) + Array("{\"id\":1,\"name\":tru}\n".utf8)
    let path = folder.path(of: "list.ndjson")
    try Data(bytes).write(to: URL(filePath: path))
    let expected = #expect(throws: RecordError.self) {
      try RecordReader.records(in: bytes, format: .ndjson)
    }
    #expect(expected?.line == 20_001)
    let error = await #expect(throws: RecordError.self) {
      try await RecordSource.file(path).list()
    }
    #expect(error == expected)
  }
}
