package import TandemRecords
internal import TandemSync

/// The state of a webhook in the database of spaces, which all nodes share. One node at a time delivers.
///
/// The turn of a node is a lease by the clock of the database, and not a lock of its connection: a pooler would give the
/// connection to others, and a node whose connection broke would go on. A node that has lost its turn cannot keep
/// positions any more.
package struct PostgreSQLWebhooks: Sendable {
  /// The statements that make the tables, for those who may not give the server the right to. In a schema of an earlier
  /// version, they are made when the first server has a webhook.
  package static let sql = """
    CREATE TABLE IF NOT EXISTS tandem.webhook_turn (
      id bigint PRIMARY KEY, node text NOT NULL, ends timestamptz NOT NULL);
    CREATE TABLE IF NOT EXISTS tandem.webhook_position (
      space text COLLATE "C" PRIMARY KEY, position text NOT NULL);
    CREATE TABLE IF NOT EXISTS tandem.webhook_letter (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, space text NOT NULL, reason text NOT NULL,
      time bigint NOT NULL, is_due bigint NOT NULL, body bytea NOT NULL);
    """

  private let database: PostgreSQLDatabase
  private let node: String

  /// Opens the state.
  ///
  /// - Parameter creates: True to make the tables if they are missing.
  /// - Throws: ``PostgreSQLError``; ``TandemSync/SyncRequestError`` if the database does not answer.
  package init(_ database: PostgreSQLDatabase, creates: Bool) async throws {
    self.database = database
    var generator = SystemRandomNumberGenerator()
    node = SyncToken.random(using: &generator).description
    try await database.request { connection in
      guard try creates || Self.areThere(connection) else {
        throw PostgreSQLError(
          .schema, "the database has no webhook: no server with a webhook has used it")
      }
      try PostgreSQLSchema.create("the tables of the webhook", Self.sql, connection) {
        try Self.areThere(connection)
      }
    }
  }

  private static func areThere(_ connection: PostgreSQLConnection) throws -> Bool {
    let table = PostgreSQLQuery("SELECT to_regclass('tandem.webhook_letter')::oid::bigint")
    if case .integer? = try connection.exchange([table])[0].first?.first { return true }
    return false
  }

  /// The rows of a statement.
  package func rows(
    _ text: String, _ parameters: [FieldValue]
  ) async throws -> [[FieldValue]] {
    try await database.rows(PostgreSQLQuery(text, parameters.map { .value($0) }))
  }

  /// Changes rows; returns their number.
  package func change(_ text: String, _ parameters: [FieldValue]) async throws -> Int {
    try await rows("\(text) RETURNING 1::bigint", parameters).count
  }

  package func takeTurn(for time: Duration) async throws -> Bool {
    let milliseconds =
      time.components.seconds * 1_000
      + time.components.attoseconds / 1_000_000_000_000_000
    return try await !rows(
      """
      INSERT INTO tandem.webhook_turn AS turn
        VALUES (1, $1::text, clock_timestamp() + $2::bigint * interval '1 millisecond')
        ON CONFLICT (id) DO UPDATE SET node = excluded.node, ends = excluded.ends
          WHERE turn.node = excluded.node OR turn.ends < clock_timestamp()
        RETURNING id
      """, [.text(node), .integer(milliseconds)]
    ).isEmpty
  }

  package func endTurn() async throws {
    _ = try await rows("DELETE FROM tandem.webhook_turn WHERE node = $1", [.text(node)])
  }

  package func begin(at positions: [String: String]) async throws {
    let all = [("", "")] + positions.map { ($0.key, $0.value) }
    _ = try await database.rows(
      PostgreSQLQuery(
        """
        INSERT INTO tandem.webhook_position SELECT * FROM unnest($1::text[], $2::text[])
          ON CONFLICT DO NOTHING
        """, [.texts(all.map(\.0)), .texts(all.map(\.1))]))
  }

  package func keep(
    _ position: String, of space: String,
    burying letter: (reason: String, time: Int, body: [UInt8])?
  ) async throws -> Bool {
    let turn = Self.turn
    let kept = """
      INSERT INTO tandem.webhook_position SELECT $2::text, $3::text FROM turn
        ON CONFLICT (space) DO UPDATE SET position = excluded.position RETURNING space
      """
    let parameters: [FieldValue] = [.text(node), .text(space), .text(position)]
    guard let letter else {
      return try await !rows("\(turn) \(kept)", parameters).isEmpty
    }
    return try await !rows(
      """
      \(turn), kept AS (\(kept))
      INSERT INTO tandem.webhook_letter (space, reason, time, is_due, body)
        SELECT $2::text, $4::text, $5::bigint, 0, $6::bytea FROM kept RETURNING id
      """,
      parameters + [
        .text(letter.reason), .integer(Int64(letter.time)), .blob(letter.body),
      ]
    ).isEmpty
  }

  package func forget(_ space: String) async throws -> Bool {
    try await !rows(
      """
      \(Self.turn), forgotten AS (
        DELETE FROM tandem.webhook_position USING turn WHERE space = $2::text)
      SELECT id FROM turn
      """, [.text(node), .text(space)]
    ).isEmpty
  }

  /// The turn of this node, if it is its turn.
  private static let turn = """
    WITH turn AS (
      SELECT id FROM tandem.webhook_turn WHERE node = $1::text AND ends > clock_timestamp() FOR SHARE)
    """
}
