import Foundation
import Tandem
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@testable import TandemPostgreSQL

@Suite("tandem store copy", .timeLimit(.minutes(20)))
struct StoreCopyTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct NotAccepted: Error { let outcome: SyncOutcome }

  private func serve(_ place: String, port: String) async throws -> (RunningTool, port: String) {
    let words = place.hasPrefix("host=") ? ["--store", place] : ["--data", place]
    let server = try RunningTool(["serve", "--listen", "127.0.0.1:\(port)", "--json"] + words)
    return (server, String(try await server.servedURL().split(separator: ":").last ?? ""))
  }

  /// The address of a database with the schema.
  private func makeStore() async throws -> String {
    let address = try TestCluster.shared.get().makeDatabase()
    try PostgreSQLSchema.create(PostgreSQLConnection(address: address))
    return address
  }

  @Test("Copies go on with a space that goes to a database and back, without fetching it again")
  func replicas() async throws {
    let address = try await makeStore()
    let data = folder.path(of: "spaces")
    var (server, port) = try await serve(data, port: "0")
    try await shell(
      """
      for f in a b; do sqlite3 $f.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)"; done
      sqlite3 a.db "INSERT INTO note VALUES ('plan', 'Plan'), ('x', NULL)"
      for f in a b; do $tandem attach $f.db --server http://127.0.0.1:\(port) --space notes --table note &&
        $tandem sync $f.db || exit 9; done
      """)
    let places = [data, address, folder.path(of: "back")]
    for (round, target) in places.enumerated().dropFirst() {
      let source = places[round - 1]
      // The server of the files has locked them; that of the database may run.
      if round == 1 {
        let refusal = try await shell("$tandem store copy '\(source)' '\(target)'", status: 1)
        #expect(refusal.error.contains("another server serves the directory"))
      }
      try await shell("sqlite3 a.db \"UPDATE note SET title = 'offline \(round)' WHERE id = 'x'\"")
      server.signal(SIGTERM)
      #expect(await server.end() == 0)
      let copied = try await shell("$tandem store copy '\(source)' '\(target)' notes --json")
      #expect(copied.output.contains(#"{"space":"notes","outcome":"copied","revision":""#))
      let again = try await shell("$tandem store copy '\(source)' '\(target)'")
      #expect(again.output == "notes: was copied before\n")
      // A second copy elsewhere would be another space that replicas take for this one.
      let elsewhere = round == 1 ? try await makeStore() : "elsewhere"
      let refusal = try await shell("$tandem store copy '\(source)' '\(elsewhere)'", status: 1)
      #expect(refusal.error.contains("it was moved before"))
      // A server of the old place refuses the space, so that the edit waits.
      (server, _) = try await serve(source, port: port)
      let refused = try await Tool.shell("$tandem sync a.db", in: folder)
      #expect(refused.status != 0 && refused.error.contains("moved"), "\(refused)")
      server.signal(SIGTERM)
      #expect(await server.end() == 0)
      (server, _) = try await serve(target, port: port)
      let result = try await shell(
        """
        $tandem sync a.db && $tandem sync b.db --json > b.json && $tandem diff a.db b.db --table note &&
        $tandem sync a.db --verify && $tandem sync b.db --verify && cat b.json
        """)
      // Only the edited row came.
      #expect(result.output.contains(#""pulled":1,"#), "\(result.output)")
    }
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
  }

  @Test("Other users cannot read what commands write into a directory of spaces")
  func privateFiles() async throws {
    let address = try await makeStore()
    try await shell(
      """
      umask 0
      mkdir spaces restored imported copied
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT)" &&
      $tandem attach a.db --space spaces/notes.space --table note -q && $tandem sync a.db -q &&
      $tandem member notes add ada --role owner --data spaces &&
      $tandem backup --data spaces out -q && $tandem restore --data restored out -q &&
      $tandem space export notes.space --space notes --data spaces &&
      $tandem space import notes.space --space notes --data imported &&
      $tandem store copy spaces '\(address)' && $tandem store copy '\(address)' copied
      """)
    let listed = try await shell(
      "ls restored imported copied; find restored imported copied -type f -perm /077")
    for name in ["notes.space", "members.sqlite"] {
      let count = listed.output.split(separator: "\n").filter { $0 == name }.count
      #expect(count == 3, "\(listed.output)")
    }
    #expect(!listed.output.contains("/"), "\(listed.output)")
  }

  /// Makes a space with many records in a file.
  private func makeLargeSpace(_ name: String, recordCount: Int) async throws {
    try FileManager.default.createDirectory(
      atPath: folder.path(of: "spaces"), withIntermediateDirectories: true)
    let store = try await SQLiteSpaceStore.open(
      path: folder.path(of: "spaces/\(name).space"), creates: true)
    _ = try await store.declare([
      SpaceTable(name: "t", columns: ["a"], keyColumns: ["id"], granularity: .field)
    ])
    let perCommit = 5_000
    for number in 0..<recordCount / perCommit {
      let outcome = try await store.commit(
        SyncCommit(
          replica: SyncToken(bits: 7), sequence: number + 1, id: SyncToken(bits: UInt128(number)),
          base: try await store.state().head,
          changes: (0..<perCommit).map { row in
            SyncChange(
              key: SyncKey(table: "t", id: [.integer(Int64(number * perCommit + row))]),
              verb: .insert(["a": .text("row \(row)")]))
          }))
      guard case .accepted = outcome else { throw NotAccepted(outcome: outcome) }
    }
    await store.close()
  }

  @Test("A copy of 100,000 rows that is killed leaves nothing half, and is done again")
  func killed() async throws {
    let address = try await makeStore()
    let connection = try PostgreSQLConnection(address: address)
    try await makeLargeSpace("big", recordCount: 100_000)
    let spaces = folder.path(of: "spaces")
    var copy = try RunningTool(["store", "copy", spaces, address, "-q"])
    let inserting = PostgreSQLQuery(
      """
      SELECT pid::bigint FROM pg_stat_activity WHERE datname = current_database()
        AND query LIKE 'INSERT INTO tandem.record %'
      """)
    while try connection.exchange([inserting])[0].isEmpty { await Task.yield() }
    copy.signal(SIGKILL)
    #expect(await copy.end() == -SIGKILL)
    let names = PostgreSQLQuery("SELECT name FROM tandem.name")
    #expect(try connection.exchange([names])[0].isEmpty)
    let described = try await shell("$tandem space --space big --data spaces").output
    #expect(described.hasPrefix("t(id): a\n100000 records, "))
    let result = try await shell("$tandem store copy spaces '\(address)'")
    #expect(result.output.hasPrefix("big: copied at version 20, 1000"))
    #expect(result.error.contains("marked as moved"))

    // And back, killed while the file is written.
    let back = folder.path(of: "back")
    copy = try RunningTool(["store", "copy", address, back, "-q"])
    let file = "\(back)/.tandem-copy-wal"
    func size() -> Int {
      (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
    }
    while size() < 1_000_000 { await Task.yield() }
    copy.signal(SIGKILL)
    #expect(await copy.end() == -SIGKILL)
    #expect(!FileManager.default.fileExists(atPath: "\(back)/big.space"))
    #expect(
      try await shell("$tandem space --space big --store '\(address)'").output == described)
    try await shell("$tandem store copy '\(address)' back && ls -A back")
    let left = try FileManager.default.contentsOfDirectory(atPath: back)
    #expect(left == ["big.space"])
    #expect(try await shell("$tandem log --space big --data back --json | wc -l").output == "20\n")
  }

  @Test("A space that is there, a name that no file has, and wrong places are refused")
  func refusals() async throws {
    let address = try await makeStore()
    let database = try await PostgreSQLDatabase.open(address: address, creates: false)
    for name in ["../up", "a", "näme ☃ '\"", "ok.1-_"] {
      _ = try await PostgreSQLSpaceStore.open(database, name: name, creates: true)
    }
    await database.close()
    try await makeLargeSpace("a", recordCount: 0)
    let result = try await shell("$tandem store copy '\(address)' spaces --json", status: 1)
    let outcomes = result.output.split(separator: "\n").map { line in
      line.contains(#""outcome":"copied""#) ? "copied" : "failed"
    }
    #expect(outcomes == ["failed", "failed", "failed", "copied"])
    #expect(result.error.contains("has a space of this name") && result.error.contains("matches"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "spaces")).sorted()
        == ["a.space", "ok.1-_.space"])
    #expect(!FileManager.default.fileExists(atPath: folder.path(of: "up.space")))
    for (arguments, status, part) in [
      ("copy spaces '\(address)' a", 1, "has a space of this name"),
      ("copy . '\(address)'", 1, "it has no spaces"),
      ("copy spaces '\(address)' ok.1-", 1, "did you mean ok.1-_?"),
      ("copy spaces back", 2, "address of a PostgreSQL database"),
      ("copy none '\(address)'", 1, "cannot read the directory"),
      ("copy spaces postgresql://u:secret@h/d", 1, "PGPASSFILE"),
      ("copy spaces", 2, "copy FROM TO"), ("sql x", 2, "write sql"),
    ] {
      let error = try await shell("$tandem store \(arguments)", status: Int32(status)).error
      #expect(error.contains(part), "\(arguments): \(error)")
    }
  }
}
