import Tandem

/// The actions of a phone: ordinary writes to its own file. Synchronization follows by itself.
extension Phone {
  /// Performs the action of an address; false if there is none.
  func perform(_ action: String, on body: [UInt8]) async throws -> Bool {
    switch action {
    case "players/score":
      let input = try JSON.read(Score.self, body)
      try await write("UPDATE player SET score = score + \(input.points) WHERE id = \(input.id)")
    case "players/rename":
      let input = try JSON.read(Rename.self, body)
      try await write("UPDATE player SET name = \(input.name) WHERE id = \(input.id)")
    case "players/shuffle": try await write("UPDATE player SET score = abs(random()) % 900 + 100")
    case "players/delete":
      try await write(
        "DELETE FROM player WHERE id IN (SELECT id FROM player ORDER BY random() LIMIT 4)")
    case "players/add": try await database.write { try Phone.addPlayer($0) }
    case "players/bomb": try await bomb()
    case "places/note":
      let input = try JSON.read(Note.self, body)
      try await write("UPDATE place SET note = \(input.note) WHERE zone = \(input.zone)")
    case "places/favourite":
      let input = try JSON.read(Favourite.self, body)
      try await write("UPDATE place SET favourite = \(input.favourite) WHERE zone = \(input.zone)")
    case "network":
      let input = try JSON.read(Network.self, body)
      try await write("UPDATE network SET isOnline = \(input.online)")
    case "conflicts/resolve": try await resolve(try JSON.read(Choice.self, body))
    default: return false
    }
    return true
  }

  private func write(_ sql: SQL) async throws {
    _ = try await database.write { try $0.execute(sql) }
  }

  private static let bombCount = 50

  /// Fifty concurrent transactions, each of which changes scores, and removes and adds a player.
  /// The live queries deliver as many states as the page can take, and the last one in any case.
  private func bomb() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<Phone.bombCount {
        group.addTask {
          try await database.write { transaction in
            try transaction.execute(
              "UPDATE player SET score = score + abs(random()) % 99 - 49 WHERE random() % 3 = 0")
            try transaction.execute(
              "DELETE FROM player WHERE id = (SELECT id FROM player ORDER BY random() LIMIT 1)")
            try Phone.addPlayer(transaction)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func addPlayer(_ transaction: borrowing WriteTransaction) throws {
    let name = "\(Players.names.randomElement() ?? "Ada") \(Int.random(in: 2...99))"
    try transaction.execute(
      "INSERT INTO player (name, score) VALUES (\(name), \(Int.random(in: 100...999)))")
  }

  private struct Score: Decodable { var id: String, points: Int }
  private struct Rename: Decodable { var id: String, name: String }
  private struct Note: Decodable { var zone: String, note: String }
  private struct Favourite: Decodable { var zone: String, favourite: Int }
  private struct Network: Decodable { var online: Int }
  struct Choice: Decodable { var id: Int64, choice: String }
}
