import Tandem

/// What the middle of the page shows, in the tables of the server's database: the page follows them
/// by live queries, as a phone follows its own.
struct Stage: Sendable {
  let database: Database

  /// The tables, without anything of an earlier run.
  init(in database: Database) async throws {
    self.database = database
    try await database.write { transaction in
      for table in ["phone", "space", "history", "report"] {
        try transaction.execute("DROP TABLE IF EXISTS \(identifier: table)")
      }
      try transaction.execute(
        """
        CREATE TABLE phone (name TEXT NOT NULL PRIMARY KEY, title TEXT, address TEXT, pid INTEGER, isRunning INTEGER,
          statement TEXT)
        """)
      try transaction.execute(
        "CREATE TABLE space (id INTEGER PRIMARY KEY, revision INTEGER, digest TEXT)")
      try transaction.execute(
        """
        CREATE TABLE history (
          version INTEGER PRIMARY KEY, changes INTEGER, replica TEXT, author TEXT)
        """)
      try transaction.execute("CREATE TABLE report (id INTEGER PRIMARY KEY, text TEXT)")
    }
  }

  /// Sends the contents of the tables, then their changes.
  func send(to stream: EventStream, feed: Feed, records: Database) async throws {
    let count = LiveQuery(
      "SELECT 1 AS id, (SELECT count(*) FROM place) + (SELECT count(*) FROM player) AS records",
      key: "id")
    try await stream.sending(
      {
        for try await rows in LiveQuery(table: "phone").values(in: database) {
          try stream.send("phones", JSON.list(rows))
        }
      },
      {
        for try await change in feed.places.differences(in: database) {
          try stream.send("feed", JSON.difference(change))
        }
      },
      { try await sendRow(of: LiveQuery(table: "space"), in: database, "space", to: stream) },
      { try await sendRow(of: LiveQuery(table: "report"), in: database, "mirror", to: stream) },
      { try await sendRow(of: count, in: records, "records", to: stream) },
      {
        for try await change in LiveQuery(table: "history").differences(in: database) {
          for commit in change.inserted { try stream.send("commit", JSON.object(commit)) }
        }
      })
  }

  private func sendRow(
    of query: LiveQuery<Record>, in database: Database, _ name: String, to stream: EventStream
  ) async throws {
    for try await rows in query.values(in: database) {
      if let row = rows.first { try stream.send(name, JSON.object(row)) }
    }
  }

  /// Shows the process of a phone.
  func show(_ phone: PhoneRow) async throws {
    try await database.write { try $0.upsert(phone) }
  }

  /// Shows the last run of the mirror.
  func show(report: String) async throws {
    try await database.write {
      try $0.execute("INSERT OR REPLACE INTO report VALUES (1, \(report))")
    }
  }

  private static let maxCommitCount = 100

  /// A commit of the space.
  struct Commit: Sendable {
    var changes: Int
    /// The replica that made it.
    var replica: String?
    /// The author, unless it is the phone with that replica.
    var author: String?
  }

  /// Shows the state of the space, and the commit before it.
  func show(revision: Int, digest: String, _ commit: Commit?) async throws {
    try await database.write { transaction in
      try transaction.execute("INSERT OR REPLACE INTO space VALUES (1, \(revision), \(digest))")
      guard let commit else { return }
      try transaction.execute(
        """
        INSERT OR REPLACE INTO history
        VALUES (\(revision), \(commit.changes), \(commit.replica), \(commit.author))
        """)
      try transaction.execute(
        "DELETE FROM history WHERE version <= \(revision - Stage.maxCommitCount)")
    }
  }
}

/// A phone as the page knows it.
struct PhoneRow: Codable, DatabaseRecord {
  static let tableName = "phone"
  static let keyColumnNames = ["name"]

  var name: String
  var title: String
  var address: String
  var pid: Int
  var isRunning: Bool
  /// A line for a terminal that changes the phone's file.
  var statement: String
}
