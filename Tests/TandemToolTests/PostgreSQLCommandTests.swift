import Tandem
import TandemPostgreSQL
import TestFolder
import TestPostgreSQL
import TestTool
import Testing

@Suite("Commands for spaces on PostgreSQL", .timeLimit(.minutes(20)))
struct PostgreSQLCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct NotAccepted: Error { let outcome: SyncOutcome }

  /// Makes a table with a constraint and three commits.
  private func fill(_ store: some SpaceStore) async throws {
    _ = try await store.declare([
      SpaceTable(
        name: "cat", columns: ["mail"], keyColumns: ["id"], granularity: .field,
        constraints: [.unique([ComparedColumn("mail")])])
    ])
    for number in 1...3 {
      let outcome = try await store.commit(
        SyncCommit(
          replica: SyncToken(bits: 7), sequence: number, id: SyncToken(bits: UInt128(number)),
          base: try await store.state().head,
          changes: [
            SyncChange(
              key: SyncKey(table: "cat", id: [.integer(Int64(number))]),
              verb: .insert(["mail": .integer(Int64(number))]))
          ]))
      guard case .accepted = outcome else { throw NotAccepted(outcome: outcome) }
    }
  }

  @Test("tandem log, forget and space write the same about a space in a file and in a database")
  func sameOutput() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    let database = try await PostgreSQLDatabase.open(address: address, creates: true)
    let stored = try #require(
      try await PostgreSQLSpaceStore.open(database, name: "notes", creates: true))
    try await fill(stored)
    await database.close()
    let filed = try await SQLiteSpaceStore.open(path: folder.path(of: "notes.space"), creates: true)
    try await fill(filed)
    await filed.close()
    for (command, status) in [
      ("log --count 2", 0), ("log --name 00=Laptop", 0), ("log --name 1=x", 1), ("log --json", 0),
      ("space", 0), ("space --redefine CAT", 0), ("space --drop-constraint 2", 1),
      ("space --drop-constraint 1", 0), ("space", 0), ("forget --keep 1", 0), ("forget", 2),
      ("log", 0),
    ] {
      // The server of tests runs without fsync, which the command reports.
      let times =
        #"sed -E 's/[0-9]{4}-[0-9-]+T[0-9:.]+Z/TIME/; s,\./notes\.space:,notes:,; /fsync/d'"#
      var outputs: [String] = []
      for place in ["--data .", "--store '\(address)'"] {
        let line = "{ $tandem \(command) --space notes \(place); echo $?; } 2>&1 | \(times)"
        outputs.append(try await shell(line).output)
      }
      #expect(outputs[0] == outputs[1], "\(command)")
      #expect(outputs[0].hasSuffix("\(status)\n"), "\(command): \(outputs[0])")
    }
  }

  @Test("A missing space, a password and two places are refused, and nothing is upgraded twice")
  func refusals() async throws {
    let address = try TestCluster.shared.get().makeDatabase()
    try await shell("$tandem log --space notes --store '\(address)'", status: 1)
    let database = try await PostgreSQLDatabase.open(address: address, creates: true)
    _ = try await PostgreSQLSpaceStore.open(database, name: "notes", creates: true)
    await database.close()
    for (command, status, part) in [
      ("log --space note --store '\(address)'", 1, "did you mean notes?"),
      ("space --space notes --store 'postgresql://u:secret@h/d'", 1, "PGPASSFILE"),
      ("forget --space notes --keep 1 --data . --store '\(address)'", 2, "name either"),
      ("log --space none.space", 1, "--store"), ("store upgrade", 2, "upgrade ADDRESS"),
      ("store upgrade 'postgresql://u:secret@h/d'", 1, "PGPASSFILE"),
      ("store upgrade '\(address)'", 0, "the schema has format 3"),
    ] {
      let error = try await shell("$tandem \(command)", status: Int32(status)).error
      #expect(error.contains(part), "\(error)")
    }
  }
}
