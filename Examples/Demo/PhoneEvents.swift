import Tandem

/// What a phone shows, as events: each one is a difference that a live query delivers after a
/// commit, by this process or another one.
extension Phone {
  /// The pins, the ranking, and the state of synchronization.
  func send(to stream: EventStream, order: String, onlyFavourites: Bool) async throws {
    let least = onlyFavourites ? 1 : 0
    let pins = LiveQuery(
      "SELECT zone, name, latitude, longitude, favourite FROM place WHERE favourite >= \(least)",
      key: "zone")
    let ranking =
      order == "name"
      ? LiveQuery("SELECT id, name, score FROM player ORDER BY name, id", key: "id")
      : LiveQuery("SELECT id, name, score FROM player ORDER BY score DESC, id", key: "id")
    try await stream.sending(
      {
        for try await change in pins.differences(in: database) {
          try stream.send("pins", JSON.difference(change))
        }
      },
      {
        for try await change in ranking.listDifferences(in: database) {
          try stream.send("ranking", JSON.batches(change))
        }
      },
      {
        for try await rows in network.values(in: database) {
          if let row = rows.first { try stream.send("network", JSON.object(row)) }
        }
      },
      {
        for await message in failures.values() {
          try stream.send("failure", JSON.object(["message": .text(message)] as Record))
        }
      },
      { try await sendStatus(to: stream) })
  }

  /// The state of synchronization, with the conflicts.
  private func sendStatus(to stream: EventStream) async throws {
    for try await status in replica.statusUpdates {
      try stream.send("conflicts", JSON.list(try await conflictCards()))
      try stream.send("status", JSON.object(Status(status)))
    }
  }

  private struct Status: Encodable {
    let state: String
    let replica: String
    let revision: Int?
    let pending: Int
    let conflicts: Int
    let rejected: Int

    init(_ status: ReplicaStatus) {
      state = status.state.rawValue
      replica = status.replica
      revision = status.revision?.version
      pending = status.pendingCount
      conflicts = status.conflictCount
      rejected = status.rejectedCount
    }
  }
}
