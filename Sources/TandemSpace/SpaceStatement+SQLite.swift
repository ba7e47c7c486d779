extension SpaceStatement {
  /// The text of the statement for SQLite.
  var sqliteText: String {
    switch self {
    case .state:
      """
      SELECT epoch, head, horizon, tables, mark, digest FROM space
        JOIN history ON history.version = space.head
      """
    case .insertSpace: "INSERT INTO space VALUES (1, ?, 0, 0, '[]')"
    case .setHead: "UPDATE space SET head = ?"
    case .setHorizon: "UPDATE space SET horizon = ?"
    case .setTables: "UPDATE space SET tables = ?"
    case .toggleMoved: "UPDATE space SET horizon = -1 - horizon"
    case .setEpoch: "UPDATE space SET epoch = ?, horizon = head"
    case .usage: "SELECT version, records, bytes FROM usage"
    case .setUsage: "INSERT OR REPLACE INTO usage VALUES (1, ?, ?, ?)"

    case .insertHistory: "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?)"
    case .mark: "SELECT mark FROM history WHERE version = ?"
    case .revisionOfCommit: "SELECT version, mark FROM history WHERE commit_id = ?"
    case .setMark: "UPDATE history SET mark = ? WHERE version = ?"
    case .lastCommits:
      Self.commits(name: "(SELECT name FROM replica_name WHERE id = history.replica)")
    case .lastCommitsWithoutNames: Self.commits(name: "NULL")
    case .firstVersionSince: "SELECT min(version) FROM history WHERE time >= ?"
    case .forgetDigests:
      "UPDATE history SET digest = '', replica = NULL WHERE version < ? AND digest <> ''"
    case .forgetDeletions: "DELETE FROM record WHERE version <= ? AND fields IS NULL"
    case .forgetOverruled: "DELETE FROM overruled WHERE version <= ?"
    case .forgetCounts: "DELETE FROM change_count WHERE version <= ?"

    case .replica: "SELECT account, sequence, commit_id, outcome FROM replica WHERE id = ?"
    case .storeReplica:
      """
      INSERT INTO replica VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE
        SET account = coalesce(account, excluded.account), sequence = excluded.sequence,
          commit_id = excluded.commit_id, outcome = excluded.outcome
      """
    case .replicasBeginning:
      "SELECT id FROM replica WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id"
    case .lastReplicas:
      """
      SELECT id, account, time FROM replica
        LEFT JOIN history ON history.commit_id = replica.commit_id
        ORDER BY json_extract(outcome, '$.outcome') = 'accepted', version DESC, id LIMIT ?
      """
    case .replicaCount: "SELECT count(*) FROM replica"
    case .setName: "INSERT OR REPLACE INTO replica_name VALUES (?, ?)"
    case .removeName: "DELETE FROM replica_name WHERE id = ?"

    case .record:
      "SELECT fields, version, created, field_versions FROM record WHERE tab = ? AND key = ?"
    case .insertRecord:
      """
      INSERT INTO record (tab, key, fields, version, created, field_versions, id)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """
    case .updateRecord:
      """
      UPDATE record SET fields = ?3, version = ?4, created = ?5, field_versions = ?6
      WHERE tab = ?1 AND key = ?2
      """
    case .recordVersions:
      "SELECT version, fields IS NOT NULL, created FROM record WHERE tab = ? AND key = ?"
    case .recordChangedSince: "SELECT 1 FROM record WHERE version > ? AND tab = ? LIMIT 1"
    case .changes:
      """
      SELECT version, tab, key, id, fields FROM record WHERE (version, tab, key) > (?, ?, ?)
        AND (fields IS NOT NULL OR version > ?) ORDER BY version, tab, key
      """
    case .liveRecords: "SELECT id, fields FROM record WHERE tab = ? AND fields IS NOT NULL"

    case .insertOverruled: "INSERT INTO overruled VALUES (?, ?, ?, ?, ?)"
    case .overruledByCommit:
      "SELECT tab, id, record_version, fields FROM overruled WHERE version = ? ORDER BY rowid"
    case .lastOverruled:
      "SELECT tab, id, version, record_version FROM overruled ORDER BY version DESC, rowid LIMIT ?"
    case .overruledCount: "SELECT count(*) FROM overruled"

    case .dropOldParts: "DELETE FROM part WHERE time NOT BETWEEN ? AND ?"
    case .dropParts: "DELETE FROM part WHERE replica = ?"
    case .storePart: "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    case .parts:
      """
      SELECT commit_id, "of", base, account, part, change_count, length(message), time,
        overruled_count
      FROM part
      WHERE replica = ? ORDER BY part
      """
    case .part: "SELECT message FROM part WHERE replica = ? AND part = ?"

    case .rulesOfTable: "\(Self.ruleRows) WHERE dropped = 0 AND (tab = ?1 OR parent = ?1)"
    case .ownRules: "\(Self.ruleRows) WHERE dropped = 0 AND tab = ?"
    case .rulesAfter: "\(Self.ruleRows) WHERE number > ?"
    case .rules: "\(Self.ruleRows) WHERE dropped = 0 ORDER BY number"
    case .lastRule: "SELECT max(number) FROM rule"
    case .insertRule: "INSERT INTO rule (tab, parent, definition, dropped) VALUES (?, ?, ?, 0)"
    case .rule: "SELECT 1 FROM rule WHERE tab = ? AND definition = ?"
    case .dropRule: "UPDATE rule SET dropped = 1 WHERE number = ?"
    case .dropClaims: "DELETE FROM claim WHERE rule = ?"

    case .holders:
      """
      SELECT claim.key, version FROM claim CROSS JOIN record ON tab = ?4 AND record.key = claim.key
        WHERE rule = ?1 AND side = ?2 AND value = ?3
      """
    case .statedClaim: "SELECT value FROM claim WHERE rule = ? AND key = ? AND side = 2"
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

    case .numbers: "SELECT tab, highest FROM number"
    case .setNumber: "INSERT OR REPLACE INTO number VALUES (?, ?)"
    case .counts: "SELECT tab, count FROM change_count WHERE version = ?"
    case .storeCount: "INSERT OR REPLACE INTO change_count VALUES (?, ?, ?)"
    case .definitions: "SELECT definitions FROM column_definition WHERE tab = ?"
    case .storeDefinitions: "INSERT OR REPLACE INTO column_definition VALUES (?, ?)"
    case .forgetDefinitions: "DELETE FROM column_definition WHERE tab = ?"
    case .definitionByteCount:
      "SELECT sum(length(CAST(definitions AS BLOB))) FROM column_definition"
    }
  }

  private static let ruleRows = "SELECT number, tab, definition FROM rule"
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
