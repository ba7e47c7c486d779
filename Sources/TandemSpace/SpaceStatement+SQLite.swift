extension SpaceStatement {
  /// The text of the statement for SQLite: that for PostgreSQL without the space, unless there is another one here.
  var sqliteText: String {
    switch self {
    case .state:
      """
      SELECT epoch, head, horizon, tables, mark, digest FROM space
        JOIN history ON history.version = space.head
      """
    case .insertSpace: "INSERT INTO space VALUES (1, ?, 0, 0, '[]')"
    case .setUsage: "INSERT OR REPLACE INTO usage VALUES (1, ?, ?, ?)"

    case .lastCommits:
      Self.commits(name: "(SELECT name FROM replica_name WHERE id = history.replica)")
    case .lastCommitsWithoutNames: Self.commits(name: "NULL")

    case .replicasBeginning:
      "SELECT id FROM replica WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id"
    case .lastReplicas:
      """
      SELECT id, account, time FROM replica
        LEFT JOIN history ON history.commit_id = replica.commit_id
        ORDER BY json_extract(outcome, '$.outcome') = 'accepted', version DESC, id LIMIT ?
      """

    case .recordVersions:
      "SELECT version, fields IS NOT NULL, created FROM record WHERE tab = ? AND key = ?"
    case .changes:
      """
      SELECT version, tab, key, id, fields FROM record WHERE (version, tab, key) > (?, ?, ?)
        AND (fields IS NOT NULL OR version > ?) ORDER BY version, tab, key
      """
    case .liveRecords: "SELECT id, fields FROM record WHERE tab = ? AND fields IS NOT NULL"

    case .overruledByCommit:
      "SELECT tab, id, record_version, fields FROM overruled WHERE version = ? ORDER BY rowid"
    case .lastOverruled:
      "SELECT tab, id, version, record_version FROM overruled ORDER BY version DESC, rowid LIMIT ?"

    case .insertRule: "INSERT INTO rule (tab, parent, definition, dropped) VALUES (?, ?, ?, 0)"

    case .holders:
      """
      SELECT claim.key, version FROM claim CROSS JOIN record ON tab = ?4 AND record.key = claim.key
        WHERE rule = ?1 AND side = ?2 AND value = ?3
      """
    case .insertClaim: "INSERT INTO claim VALUES (?, ?, ?, ?)"
    case .deleteClaim: "DELETE FROM claim WHERE rule = ? AND side = ? AND value = ? AND key = ?"
    case .breakingIndex: "\(Self.withoutOwnIndexValue) LIMIT ?3"
    case .breakingUnique: "\(Self.withoutOwnValue) LIMIT ?3"
    case .breakingReference: "\(Self.withoutOffer) LIMIT ?3"
    case .breakingKeyReference: "\(Self.withoutParent) LIMIT ?3"
    case .firstBreakingIndex: "\(Self.withoutOwnIndexValue) \(Self.order) LIMIT ?3"
    case .firstBreakingUnique: "\(Self.withoutOwnValue) \(Self.order) LIMIT ?3"
    case .firstBreakingReference: "\(Self.withoutOffer) \(Self.order) LIMIT ?3"
    case .firstBreakingKeyReference: "\(Self.withoutParent) \(Self.order) LIMIT ?3"

    case .definitionByteCount:
      "SELECT sum(length(CAST(definitions AS BLOB))) FROM column_definition"

    default: Self.withoutSpace(postgreSQLText)
    }
  }

  /// The text without the schema, the column and the number of the space, because a file has one space. SQLite numbers the
  /// other parameters from 1, and has no casts.
  private static func withoutSpace(_ text: String) -> String {
    var text = text
    for part in [
      "tandem.", "space = $1 AND ", " WHERE space = $1", " WHERE id = $1", "space, ", "$1, ",
      "::bigint",
    ] { text.replace(part, with: "") }
    for number in 2...maxParameterCount { text.replace("$\(number)", with: "?\(number - 1)") }
    return text
  }

  /// The number of parameters that a statement has for PostgreSQL at the most.
  private static let maxParameterCount = 12

  private static let order = "ORDER BY version, record.key"

  private static func commits(name: String) -> String {
    """
    SELECT version, time, history.commit_id, replica, account, \(name) FROM history
      LEFT JOIN replica ON replica.id = history.replica
      WHERE history.commit_id IS NOT NULL AND version > (SELECT horizon FROM space)
      ORDER BY version DESC LIMIT ?
    """
  }

  private static let withoutOwnIndexValue = """
    SELECT id FROM record LEFT JOIN claim ON rule = ?1 AND side = 2 AND claim.key = record.key
      WHERE tab = ?2 AND fields IS NOT NULL AND (value IS NULL OR value <> x'' AND EXISTS (
        SELECT 1 FROM claim AS other WHERE other.rule = ?1 AND other.side = 2
          AND other.value = claim.value AND other.key <> claim.key))
    """
  private static let withoutOwnValue = breaking(
    """
    EXISTS (SELECT 1 FROM claim AS other WHERE other.rule = claim.rule AND other.side = 0
      AND other.value = claim.value AND other.key <> claim.key)
    """)
  private static let withoutOffer = breaking(
    """
    NOT EXISTS (SELECT 1 FROM claim AS offer WHERE offer.rule = claim.rule AND offer.side = 1
      AND offer.value = claim.value)
    """)
  private static let withoutParent = breaking(
    """
    NOT EXISTS (SELECT 1 FROM record AS parent WHERE parent.tab = ?4
      AND parent.key = claim.value AND parent.fields IS NOT NULL)
    """)

  private static func breaking(_ condition: String) -> String {
    """
    SELECT id FROM claim CROSS JOIN record ON tab = ?2 AND record.key = claim.key
      WHERE rule = ?1 AND side = 0 AND \(condition)
    """
  }
}
