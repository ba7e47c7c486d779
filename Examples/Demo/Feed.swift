import Tandem

/// The list of places on the web, which anybody may edit. It is a table of the server's database.
struct Feed: Sendable {
  let database: Database

  /// The feed in a database: that of an earlier run, or the places of the time zone database.
  init(in database: Database) async throws {
    self.database = database
    let original = try Feed.original()
    try await database.write { transaction in
      try transaction.execute(
        """
        CREATE TABLE IF NOT EXISTS feed (
          zone TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, latitude REAL NOT NULL, longitude REAL NOT NULL)
        """)
      try transaction.execute("CREATE TABLE IF NOT EXISTS feed_version (version INTEGER NOT NULL)")
      guard try transaction.fetchValue("SELECT count(*) FROM feed_version", as: Int.self) == 0
      else { return }
      try transaction.execute("INSERT INTO feed_version VALUES (1)")
      for place in original { try transaction.insert(place) }
    }
  }

  /// The places, for the form of the page.
  var places: LiveQuery<Record> {
    LiveQuery("SELECT zone, name, latitude, longitude FROM feed", key: "zone")
  }

  /// The list as JSON, with the entity tag of its version.
  func list() async throws -> (json: [UInt8], tag: String) {
    try await database.read { transaction in
      let version =
        try transaction.fetchValue("SELECT version FROM feed_version", as: Int.self) ?? 0
      return (
        JSON.list(try transaction.fetchAll("SELECT * FROM feed ORDER BY zone")), "\"\(version)\""
      )
    }
  }

  /// The edits that the page offers, by the last parts of their addresses; false if there is no
  /// such edit.
  func perform(_ edit: String, on body: [UInt8]) async throws -> Bool {
    switch edit {
    case "move":
      let place = try JSON.read(Move.self, body)
      try await write(
        """
        UPDATE feed SET latitude = max(-90, min(90, \(place.latitude))),
          longitude = max(-180, min(180, \(place.longitude))) WHERE zone = \(place.zone)
        """)
    case "remove":
      try await write("DELETE FROM feed WHERE zone = \(try JSON.read(Zone.self, body).zone)")
    case "drift":
      try await write(
        """
        UPDATE feed SET longitude = round(max(-179, min(179, longitude + random() % 25)), 2)
        WHERE zone IN (SELECT zone FROM feed ORDER BY random() LIMIT 40)
        """)
    case "reset":
      let original = try Feed.original()
      try await database.write { transaction in
        try transaction.execute("DELETE FROM feed")
        for place in original { try transaction.insert(place) }
        try transaction.execute("UPDATE feed_version SET version = version + 1")
      }
    default: return false
    }
    return true
  }

  private func write(_ sql: SQL) async throws {
    try await database.write { transaction in
      try transaction.execute(sql)
      try transaction.execute("UPDATE feed_version SET version = version + 1")
    }
  }

  private struct Zone: Decodable { var zone: String }
  private struct Move: Decodable { var zone: String, latitude: Double, longitude: Double }
}
