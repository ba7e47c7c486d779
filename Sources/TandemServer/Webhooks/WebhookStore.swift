package import TandemPostgreSQL
internal import TandemRecords

/// A delivery that was given up.
package struct DeadLetter: Hashable, Sendable {
  /// The number, by which operators name it.
  package let id: Int64
  package let space: String
  /// Why it was given up.
  package let reason: String
  /// The time when it was given up, in seconds since 1970.
  package let time: Int
  package let body: [UInt8]
  /// True if it is to be delivered again.
  package let isDue: Bool
}

extension DeadLetter {
  /// The number of letters that are read at a time, because each may have megabytes.
  package static let readCount = 10
}

/// Keeps how far a webhook was delivered, and the deliveries that were given up.
package protocol WebhookStore: Sendable {
  /// Begins, or goes on with, the deliveries of this node: other nodes must not deliver for the given time.
  ///
  /// - Returns: False if another node delivers.
  func takeTurn(for time: Duration) async throws -> Bool

  /// Lets another node deliver.
  func endTurn() async throws

  /// The positions by the names of spaces; `nil` before the first delivery of all.
  func positions() async throws -> [String: String]?

  /// Keeps the positions of the spaces that are there before the first delivery: nothing earlier is delivered.
  func begin(at positions: [String: String]) async throws

  /// Keeps a position; with a letter if its delivery was given up.
  ///
  /// - Returns: False if it is another node's turn. Nothing is kept then.
  func keep(
    _ position: String, of space: String,
    burying letter: (reason: String, time: Int, body: [UInt8])?
  ) async throws -> Bool

  /// Forgets the position of a space that is gone.
  ///
  /// - Returns: False if it is another node's turn. Nothing is forgotten then.
  func forget(_ space: String) async throws -> Bool

  /// The number of dead letters.
  func letterCount() async throws -> Int

  /// The dead letters after the one of a number, in the order in which they were given up, at most so many.
  func letters(dueOnly: Bool, after id: Int64, maxCount: Int) async throws -> [DeadLetter]

  /// Lets dead letters be delivered again; `nil` for all. Returns their number.
  func retry(_ id: Int64?) async throws -> Int

  /// Takes note that a letter was delivered, or is not due any more because it failed again.
  func settle(_ id: Int64, failure: String?) async throws

  /// Forgets dead letters; `nil` for all. Returns their number.
  func discard(_ id: Int64?) async throws -> Int
}

extension [[FieldValue]] {
  /// The positions by the names of spaces, of rows of both; `nil` before the first delivery of all.
  var positions: [String: String]? {
    // No space has an empty name.
    guard contains(where: { $0[0] == "" }) else { return nil }
    return Dictionary(
      compactMap { row in
        row[0].textValue.flatMap { space in row[1].textValue.map { (space, $0) } }
      }
    ) { first, _ in first }.filter { !$0.key.isEmpty }
  }
}

extension PostgreSQLWebhooks: WebhookStore {
  package func positions() async throws -> [String: String]? {
    try await positionRows().positions
  }

  package func letters(
    dueOnly: Bool, after id: Int64, maxCount: Int
  ) async throws -> [DeadLetter] {
    try await letterRows(dueOnly: dueOnly, after: id, maxCount: maxCount)
      .compactMap { DeadLetter($0) }
  }
}
