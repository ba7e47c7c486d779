import Tandem

/// The tables of each phone, and of the replica that the feed is mirrored into.
enum Schema {
  /// The tables to synchronize, with the rules for fields that two phones change at the same time.
  /// There is no rule for names: such a conflict stays open until somebody chooses.
  static let attachedTables = [
    AttachedTable("place", policies: ["note": .text, "favourite": .maximum]),
    AttachedTable("player", policies: ["score": .counter]),
  ]

  /// Creates the tables if they are missing.
  static func create(in database: Database) async throws {
    try await database.write { transaction in
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS place (
          zone TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL DEFAULT '', latitude REAL NOT NULL DEFAULT 0,
          longitude REAL NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '', favourite INTEGER NOT NULL DEFAULT 0)
        """)
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS player (
          id TEXT NOT NULL PRIMARY KEY DEFAULT (lower(hex(randomblob(8)))), name TEXT NOT NULL, score INTEGER NOT NULL)
        """)
    }
  }

  /// Attaches a file with these tables to the space, or notes the new address of the space: each run of
  /// the demo serves it on another port.
  static func attach(_ replica: DatabaseReplica, to space: SyncSpace) async throws {
    do {
      guard try await replica.status().space != space.name else { return }
      try await replica.move(to: space)
    } catch let error as ReplicaError where error.code == .notAttached {
      try await replica.attach(attachedTables, to: space)
    }
  }
}

/// The players at the start.
enum Players {
  static let names = [
    "Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "Hedy", "Ida",
    "John", "Katherine",
    "Leslie", "Margaret", "Niklaus", "Radia",
  ]

  /// Adds the players to a table without any.
  static func create(in database: Database) async throws {
    try await database.write { transaction in
      guard try transaction.fetchValue("SELECT count(*) FROM player", as: Int.self) == 0 else {
        return
      }
      for (offset, name) in names.enumerated() {
        try transaction.execute(
          "INSERT INTO player VALUES (\("player-\(offset + 10)"), \(name), \(100 + offset * 370 % 900))"
        )
      }
    }
  }
}
