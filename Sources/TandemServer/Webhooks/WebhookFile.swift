package import TandemRecords
internal import TandemSQLite
internal import TandemSpace
internal import TandemSync

/// The state of a webhook in a SQLite file beside the files of the spaces. The server of the directory is its only
/// node; commands may use the file at the same time.
package final class WebhookFile: WebhookStore {
  private let database: Database

  private static let schema = [
    "CREATE TABLE IF NOT EXISTS position (space TEXT PRIMARY KEY, position TEXT NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS letter (
      id INTEGER PRIMARY KEY AUTOINCREMENT, space TEXT NOT NULL, reason TEXT NOT NULL,
      time INTEGER NOT NULL, is_due INTEGER NOT NULL, body BLOB NOT NULL)
    """,
  ]

  /// The file of a directory of spaces.
  package static func path(in directory: String) -> String { "\(directory)/webhook.sqlite" }

  /// Opens the file.
  ///
  /// - Parameter creates: False to open one that exists.
  /// - Throws: ``TandemSQLite/DatabaseError``.
  package init(path: String, creates: Bool) async throws {
    let access: DatabaseConfiguration.Access = creates ? .readWriteCreate : .readWrite
    database = try await Database.open(
      path: path, configuration: DatabaseConfiguration(access: access, maxReaderCount: 1))
    do {
      try await database.write { transaction in
        for statement in Self.schema { try transaction.connection.execute(statement) }
      }
    } catch {
      await database.close()
      throw error
    }
  }

  /// Closes the file.
  package func close() async { await database.close() }

  private func write<Value: Sendable>(
    _ body: @escaping @Sendable (DatabaseConnection) throws -> Value
  ) async throws -> Value {
    try await database.write { try body($0.connection) }
  }

  package func takeTurn(for time: Duration) -> Bool { true }

  package func endTurn() {}

  package func rows(
    _ text: String, _ parameters: [FieldValue]
  ) async throws -> [[FieldValue]] {
    try await database.read { try $0.connection.rows(Self.text(text), parameters) }
  }

  package func change(_ text: String, _ parameters: [FieldValue]) async throws -> Int {
    try await write { connection in
      try connection.run(Self.text(text), parameters)
      return connection.changeCount
    }
  }

  private static func text(_ text: String) -> String {
    text.replacing("tandem.webhook_", with: "")
  }

  package func begin(at positions: [String: String]) async throws {
    try await write { connection in
      for (space, position) in [("", "")] + positions.map({ ($0.key, $0.value) }) {
        try connection.run(
          "INSERT OR IGNORE INTO position VALUES (?, ?)", [.text(space), .text(position)])
      }
    }
  }

  /// Begins with the present of the copies in a directory, which are being promoted, unless a webhook has begun there.
  /// No commit may come meanwhile.
  package func begin(withCopiesIn spaces: SpaceDirectory) async throws {
    guard try await positions() == nil else { return }
    var heads: [String: String] = [:]
    for name in try spaces.names() {
      let head = try? await SQLiteSpaceStore.read(path: spaces.file(of: name)) { space in
        try space.copy()?.position.head ?? space.state().head
      }
      // A copy that cannot be read cannot be promoted either.
      if let head { heads[name] = CommitPosition(since: head, cursor: nil).description }
    }
    try await begin(at: heads)
  }

  package func keep(
    _ position: String, of space: String,
    burying letter: (reason: String, time: Int, body: [UInt8])?
  ) async throws -> Bool {
    try await write { connection in
      try connection.run(
        "INSERT OR REPLACE INTO position VALUES (?, ?)", [.text(space), .text(position)])
      guard let letter else { return true }
      try connection.run(
        "INSERT INTO letter (space, reason, time, is_due, body) VALUES (?, ?, ?, 0, ?)",
        [
          .text(space), .text(letter.reason), .integer(Int64(letter.time)), .blob(letter.body),
        ])
      return true
    }
  }

  package func forget(_ space: String) async throws -> Bool {
    try await write { try $0.run("DELETE FROM position WHERE space = ?", [.text(space)]) }
    return true
  }
}
