import Tandem

/// A phone: a process with a SQLite file of its own, kept in step with the server.
struct Phone: Sendable {
  let name: String
  let database: Database
  let replica: DatabaseReplica
  let space: SyncSpace
  /// The errors that end synchronization until the switch is turned off and on.
  let failures = Broadcast<String>()

  /// The phone in a folder.
  init(named name: String, in folder: String, space: SyncSpace) async throws {
    self.name = name
    self.space = space
    database = try Database(path: Phone.file(name, in: folder))
    replica = DatabaseReplica(database)
    try await Schema.create(in: database)
    try await Schema.attach(replica, to: space)
    // The switch is a row of the file, so that a phone that was killed offline comes back offline.
    try await database.write { transaction in
      try transaction.execute(
        "CREATE TABLE IF NOT EXISTS network (id INTEGER PRIMARY KEY, isOnline INTEGER NOT NULL)")
      try transaction.execute("INSERT OR IGNORE INTO network VALUES (1, 1)")
    }
  }

  /// The path of the file of a phone.
  static func file(_ name: String, in folder: String) -> String { "\(folder)/phone-\(name).db" }

  /// The state of the switch.
  var network: LiveQuery<Record> { LiveQuery(table: "network") }

  /// Synchronizes while the switch is on, until the task is cancelled.
  func run() async throws {
    var running: Task<Void, Never>?
    defer { running?.cancel() }
    for try await rows in network.values(in: database) {
      running?.cancel()
      await running?.value
      running = rows.first?["isOnline"] == 1 ? Task { await synchronize() } : nil
    }
  }

  private func synchronize() async {
    do {
      try await replica.run(with: space)
    } catch is CancellationError {
    } catch {
      failures.send("Phone \(name.uppercased()): \(error)")
    }
  }
}
