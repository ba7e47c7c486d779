import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync
import TestFolder
import Testing

/// The schemas of applications, edited on two devices that know nothing of each other.
@Suite("Applications on two devices")
struct ApplicationSchemaTests {
  /// The treatment of keys that SQLite numbers.
  enum Keys: Sendable, CaseIterable {
    /// They become random texts.
    case text
    /// They stay numbers, which the space gives.
    case renumbered
  }

  // A number in a column without a foreign key does not follow: such an application takes texts.
  static let cases = ApplicationSchema.all.flatMap { application in
    let isNumbered = !application.numbered.isEmpty && application.following.isEmpty
    return (isNumbered ? Keys.allCases : [.text]).map { (application, $0) }
  }

  let folder: TemporaryFolder
  let space: TestSpace

  init() throws {
    folder = try TemporaryFolder()
    space = try TestSpace()
  }

  /// The statements of a text, in which a line that begins with a space continues the one before.
  private static func statements(_ text: String) -> [String] {
    text.split(separator: "\n").reduce(into: []) { statements, line in
      if line.first == " ", let last = statements.popLast() {
        statements.append("\(last)\n\(line)")
      } else {
        statements.append(String(line))
      }
    }
  }

  /// Writes the files of two devices, copies of one with rows, and of a third without.
  private func writeFiles(_ application: ApplicationSchema, _ keys: Keys) async throws {
    let database = try Database(path: folder.path(of: "0.db"))
    let creation = Self.statements(application.schema)
    try await database.write { transaction in
      for sql in creation + Self.statements(application.rows) {
        try transaction.connection.execute(sql)
      }
    }
    switch keys {
    case .renumbered:
      let missing = try await database.read { transaction in
        try application.numbered.filter { name in
          try transaction.connection.rows(
            "SELECT 1 FROM sqlite_schema WHERE name = ? AND sql LIKE '%AUTOINCREMENT%'",
            [.text(name)]
          ).isEmpty
        }
      }
      if !missing.isEmpty { _ = try await database.rekey(missing, .autoincrement) }
    case .text:
      if !application.numbered.isEmpty {
        _ = try await database.rekey(application.numbered, .text)
      }
      try await database.write { transaction in
        for sql in Self.statements(application.following) {
          try transaction.connection.execute(sql)
        }
      }
    }
    let copy = folder.path(of: "1.db")
    try await database.withWriter { connection in
      try connection.execute("VACUUM INTO ?", .text(copy))
    }
    let empty = try Database(path: folder.path(of: "2.db"))
    let schema = try await database.read { transaction in
      try transaction.connection.rows(
        """
        SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite@_%' ESCAPE '@'
          AND name NOT IN (SELECT name FROM pragma_table_list WHERE type = 'shadow')
        """
      ).compactMap { $0[0].textValue }
    }
    try await empty.write { transaction in
      for sql in schema { try transaction.connection.execute(sql) }
    }
    await empty.close()
    await database.close()
  }

  private func attached(_ application: ApplicationSchema, _ keys: Keys) throws -> [TestReplica] {
    try (0...2).map { number in
      let replica = try TestReplica(
        seed: UInt64(number + 1), path: folder.path(of: "\(number).db"))
      let names = try replica.rows(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name"
      ).compactMap { $0[0].textValue }
      let tables = names.filter { name in
        !name.hasPrefix("sqlite_") && !application.leftOut.contains(name)
      }.map { name in
        AttachedTable(
          name, policies: application.policies[name] ?? [:],
          renumbers: keys == .renumbered && application.numbered.contains(name),
          allowsAssignedKeys: application.assignsNumbers, allowsBlindSpots: true)
      }
      try replica.attach(tables, space)
      replica.merging = try replica.read { try $0.storedMerging() }
      return replica
    }
  }

  @Test(
    "copies end equal, foreign keys have their rows, and no row is beneath one of another device",
    arguments: cases)
  func converges(application: ApplicationSchema, keys: Keys) async throws {
    try await writeFiles(application, keys)
    let replicas = try attached(application, keys)
    try converge(replicas, space)
    // Both are sent before either device receives the edits of the other one.
    for (replica, edits) in zip(replicas, application.edits) {
      for sql in Self.statements(edits) { try replica.execute(sql) }
    }
    for replica in replicas.prefix(2) {
      let bytes = try #require(try replica.freeze())
      try replica.settle(try space.push(bytes), bytes)
    }
    try converge(replicas, space)
    for table in try replicas[0].read({ try $0.declarations() }) {
      let names = (table.keyColumns + table.columns).sqlList
      let query =
        "SELECT \(names) FROM \(table.name.sqlQuoted) ORDER BY \(table.keyColumns.sqlList)"
      let rows = try replicas[0].rows(query)
      for replica in replicas { #expect(try replica.rows(query) == rows, "\(table.name)") }
    }
    for (number, replica) in replicas.enumerated() {
      #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty)
      #expect(try replica.rows("PRAGMA integrity_check") == [["ok"]])
      #expect(try replica.rows(application.mixed).isEmpty)
      for sql in Self.statements(application.checks) { try replica.execute(sql) }
      for (query, expected) in application.results {
        #expect(try replica.rows(query) == expected, "\(number): \(query)")
      }
      let rejected = try replica.rejectedContents()
      #expect(rejected.count == (number < 2 ? application.rejected[number] : 0), "\(rejected)")
      #expect(try replica.conflicts(includingResolved: false).isEmpty)
    }
  }
}
