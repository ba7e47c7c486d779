package import TandemPostgreSQL
package import TandemRecords

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

  /// The rows of a statement on the tables `tandem.webhook_position` and `tandem.webhook_letter`, whose parameters `$1`, `$2`
  /// … come first in this order.
  func rows(_ text: String, _ parameters: [FieldValue]) async throws -> [[FieldValue]]

  /// Changes rows by such a statement; returns their number.
  func change(_ text: String, _ parameters: [FieldValue]) async throws -> Int
}

extension PostgreSQLWebhooks: WebhookStore {}

extension WebhookStore {
  /// The positions by the names of spaces; `nil` before the first delivery of all.
  package func positions() async throws -> [String: String]? {
    let rows = try await rows("SELECT space, position FROM tandem.webhook_position", [])
    // No space has an empty name.
    guard rows.contains(where: { $0[0] == "" }) else { return nil }
    return Dictionary(
      rows.compactMap { row in
        row[0].textValue.flatMap { space in row[1].textValue.map { (space, $0) } }
      }
    ) { first, _ in first }.filter { !$0.key.isEmpty }
  }

  /// The number of dead letters.
  package func letterCount() async throws -> Int {
    try await rows("SELECT count(*) FROM tandem.webhook_letter", []).first?[0].integerValue ?? 0
  }

  /// The dead letters after the one of a number, in the order in which they were given up, at most so many.
  package func letters(
    dueOnly: Bool, after id: Int64, maxCount: Int
  ) async throws -> [DeadLetter] {
    try await rows(
      """
      SELECT id, space, reason, time, body, is_due FROM tandem.webhook_letter
        WHERE is_due + $1 > 0 AND id > $2 ORDER BY id LIMIT $3
      """, [.integer(dueOnly ? 0 : 1), .integer(id), .integer(Int64(maxCount))]
    ).compactMap { DeadLetter($0) }
  }

  /// Lets dead letters be delivered again; `nil` for all. Returns their number.
  package func retry(_ id: Int64?) async throws -> Int {
    try await change(
      "UPDATE tandem.webhook_letter SET is_due = 1 WHERE id = $1 OR $1 = 0", [.integer(id ?? 0)])
  }

  /// Takes note that a letter was delivered, or is not due any more because it failed again.
  package func settle(_ id: Int64, failure: String?) async throws {
    if let failure {
      _ = try await change(
        "UPDATE tandem.webhook_letter SET is_due = 0, reason = $1 WHERE id = $2",
        [.text(failure), .integer(id)])
    } else {
      _ = try await change("DELETE FROM tandem.webhook_letter WHERE id = $1", [.integer(id)])
    }
  }

  /// Forgets dead letters; `nil` for all. Returns their number.
  package func discard(_ id: Int64?) async throws -> Int {
    try await change(
      "DELETE FROM tandem.webhook_letter WHERE id = $1 OR $1 = 0", [.integer(id ?? 0)])
  }
}

extension DeadLetter {
  /// The letter of a row; `nil` if another program has changed it.
  fileprivate init?(_ row: [FieldValue]) {
    guard row.count == 6, case .integer(let id) = row[0], let space = row[1].textValue,
      let reason = row[2].textValue, let time = row[3].integerValue, case .blob(let body) = row[4],
      let isDue = row[5].integerValue
    else { return nil }
    self.init(
      id: id, space: space, reason: reason, time: time, body: body, isDue: isDue != 0)
  }
}
