import Foundation
import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import TestFolder
import TestRandom
import Testing

@Suite("Mirrors with contents: keys of every kind", .timeLimit(.minutes(20)))
struct ContentNameTests {
  /// Pieces that paths, file systems, terminals and Unicode treat in ways of their own.
  private static let pieces = [
    "..", ".", "\"", "\"1\"", "/", "\\", "\0", "\n", "~", "-", "_", ":", "*", " ", "a", "A", "b",
    "1", "0", "é",
    "e\u{301}", "\u{301}", "ﬁ", "ß", "SS", "İ", "ı", "\u{202E}", "\u{FEFF}", "\u{200B}", "😀", "%2F",
    ".tandem", "con", "NUL", "lpt1", ".part", ".resume", "catalog", "lock", "content/", "\t",
    String(repeating: "x", count: 300),
  ]

  /// Keys that differ byte for byte.
  private static func keys(seed: UInt64) -> [String] {
    var random = SplitMix64(seed: seed)
    var keys = Set(pieces.map { Array($0.utf8) } + [[]])
    while keys.count < 200 {
      let count = Int.random(in: 1...5, using: &random)
      let key = (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      keys.insert(Array(key.utf8))
    }
    // A set has another order in each process.
    let sorted = keys.sorted { $0.lexicographicallyPrecedes($1) }
    return sorted.map { String(decoding: $0, as: UTF8.self) }.shuffled(using: &random)
  }

  @Test(
    "each have a file of their own, in the directory, that their row points to", arguments: 1...5)
  func fuzz(seed: UInt64) async throws {
    let folder = try TemporaryFolder()
    let server = MemoryServer()
    let keys = Self.keys(seed: seed)
    var records: [Record] = []
    for (position, key) in keys.enumerated() {
      // Addresses end in what may not become an extension, too.
      let suffix = ["", ".jpg", ".J~P", "?a./b", ".tar.gz", ".é"][position % 6]
      let url = "/\(position)\(suffix)"
      records.append(["id": .text(key), "photo": .text(url)])
      // In the form in which it is sent.
      server[url.replacing("é", with: "%C3%A9")] = "content \(position)"
    }
    var list: [UInt8] = []
    RecordWriter.appendJSON(records, to: &list)
    server["/list"] = String(decoding: list, as: UTF8.self)
    var mirror = DatabaseMirror(
      table: "place", key: ["id"], contents: [MirroredContent(field: "photo")],
      directory: "\(folder.path)/files")
    mirror.retry = .never
    let source = RecordSource.url("http://a.example/list")
    let path = "\(folder.path)/list.db"
    let report = try await mirror.run(from: source, intoFileAt: path, client: server)
    #expect(report.isComplete, "seed \(seed)")
    try expectFiles(keys, folder)
    // The next run finds every file again.
    let second = try await mirror.run(from: source, intoFileAt: path, client: server)
    #expect(second.skippedCount == keys.count)
  }

  @Test(
    "a text key and another that describes it have files of their own",
    arguments: ["1.5", "1", "a b", "\"", "é", "-1", "1e3"])
  func descriptions(key: String) async throws {
    let scene = try ContentScene()
    // The key as text, what describes it, and what describes that.
    var keys = [key]
    for _ in 1...2 { keys.append(FieldValue.text(keys[keys.count - 1]).description) }
    let records: [Record] = keys.enumerated().map {
      ["id": .text($1), "photo": .text("/\($0)")]
    }
    var list: [UInt8] = []
    RecordWriter.appendJSON(records, to: &list)
    scene.server["/list"] = String(decoding: list, as: UTF8.self)
    for position in keys.indices { scene.server["/\(position)"] = "\(position)" }
    try await scene.run()
    #expect(Set(scene.files.values) == ["0", "1", "2"])
  }

  private func expectFiles(_ keys: [String], _ folder: TemporaryFolder) throws {
    let connection = try DatabaseConnection(path: "\(folder.path)/list.db", access: .readOnly)
    let statement = try connection.prepare("SELECT id, photo_file FROM place")
    var paths: [[UInt8]: String] = [:]
    while try statement.step() {
      guard case .text(let id) = try statement.value(at: 0),
        case .text(let path) = try statement.value(at: 1)
      else {
        Issue.record("a row without a file")
        return
      }
      paths[Array(id.utf8)] = path
    }
    #expect(paths.count == keys.count)
    for (position, key) in keys.enumerated() {
      let path = try #require(paths[Array(key.utf8)])
      #expect(
        String(decoding: folder.bytes(of: "files/\(path)"), as: UTF8.self) == "content \(position)",
        "\(key.debugDescription)")
    }
    // On a file system that folds case and normalisation, too, each has its own.
    let folded = Set(paths.values.map { $0.lowercased().decomposedStringWithCanonicalMapping })
    #expect(folded.count == keys.count)
    let all = folder.files().filter { !$0.hasPrefix("list.db") && !$0.contains(".tandem/") }
    #expect(Set(all) == Set(paths.values.map { "files/\($0)" }))
  }
}
