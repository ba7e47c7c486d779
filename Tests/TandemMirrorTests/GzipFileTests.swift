import Foundation
import TandemHTTP
import TandemRecords
import TestFolder
import TestHTTPServer
import TestRandom
import Testing

@testable import TandemMirror

@Suite("Lists in gzip files", .timeLimit(.minutes(20)))
struct GzipFileTests {
  static let csv = Array("id,name\n1,a\n2,b\n".utf8)
  static let records: [Record] = [["id": 1, "name": "a"], ["id": 2, "name": "b"]]

  private func write(_ bytes: [UInt8], to name: String, in folder: TemporaryFolder) throws -> String
  {
    let path = folder.path(of: name)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test("files are decompressed, by their content, and have the format of their name")
  func files() async throws {
    let folder = try TemporaryFolder()
    let json = Array(#"{"items":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"#.utf8)
    let members = gzip(storing: Array(Self.csv[..<12])) + gzip(storing: Array(Self.csv[12...]))
    for (name, bytes) in [
      ("a.csv.gz", gzip(storing: Self.csv)), ("a.CSV.GZ", members),
      ("a.csv", gzip(storing: Self.csv)),
      ("a.json.gz", gzip(storing: json)),
    ] {
      var options = RecordListOptions()
      if name == "a.json.gz" { options.itemsField = "items" }
      let source = RecordSource.file(try write(bytes, to: name, in: folder))
      let list = try await source.list(options, client: SystemHTTPClient())
      #expect(try list.content().records == Self.records)
    }
  }

  @Test("files at a URL are decompressed, even those whose response is compressed once more")
  func urls() async throws {
    let file = gzip(storing: Self.csv)
    try await withServer { request, connection in
      request.path == "/twice.csv.gz"
        ? connection.respond(200, ["Content-Encoding": "gzip"], gzip(storing: file))
        : connection.respond(200, ["Content-Type": "application/gzip"], file)
    } test: { server in
      for path in ["/a.csv.gz?x=1", "/twice.csv.gz", "/a"] {
        let source = RecordSource.url(server.url + path)
        let list = try await source.list(client: try SystemHTTPClient())
        #expect(try list.content().records == Self.records, "\(path)")
      }
    }
  }

  @Test("no cut and no damaged byte passes")
  func damage() throws {
    let whole = gzip(storing: Self.csv)
    for count in 3..<whole.count {
      #expect(throws: TransportError.self, "\(count)") {
        try FileBytes.plain(Array(whole[..<count]), of: "a", maxByteCount: 1_000)
      }
    }
    // Before, there are a time, a system and the unused bits of the first block.
    for position in 11..<whole.count {
      var damaged = whole
      damaged[position] ^= 0x40
      #expect(throws: TransportError.self, "\(position)") {
        try FileBytes.plain(damaged, of: "a", maxByteCount: 1_000)
      }
    }
    for more in [[0], [0x1F, 0x8B], whole.dropLast()] as [[UInt8]] {
      #expect(throws: TransportError.self) {
        try FileBytes.plain(whole + more, of: "a", maxByteCount: 1_000)
      }
    }
  }

  @Test("a bomb ends at the limit for compressed lists")
  func bomb() async throws {
    let folder = try TemporaryFolder()
    let path = try write(gzipBomb(runCount: 100_000), to: "a.csv.gz", in: folder)
    var options = RecordListOptions()
    options.maxDecompressedByteCount = 1 << 20
    let error = await #expect(throws: TransportError.self) {
      try await RecordSource.file(path).list(options, client: SystemHTTPClient())
    }
    #expect(error?.code == .tooLarge && error?.maxByteCount == 1 << 20)
  }

  @Test("long texts survive, however they are cut into pieces")
  func pieces() throws {
    var random = SplitMix64(seed: 1)
    let text = (0..<300_000).map { _ in UInt8.random(in: 0...3, using: &random) }
    let packed = gzip(storing: text)
    for size in [1, 7, 4_096, packed.count] {
      let decoder = try #require(GzipDecoder())
      var decoded: [UInt8] = []
      var rest = packed[...]
      while !rest.isEmpty {
        #expect(!decoder.isComplete)
        let goesOn = try rest.prefix(size).withUnsafeBytes { bytes in
          try decoder.decode(bytes) {
            decoded += $0
            return true
          }
        }
        #expect(goesOn)
        rest = rest.dropFirst(size)
      }
      #expect(decoder.isComplete && decoded == text, "\(size)")
    }
  }
}
