extension SpaceStatement {
  /// The text of the statement for PostgreSQL, which has many spaces in the tables of a schema. The parameter `$1` is the
  /// number of the space; those of the statement follow.
  ///
  /// Most texts hold for SQLite, too, without the space (``sqliteText``).
  package var postgreSQLText: String {
    switch self {
    case .state:
      """
      SELECT s.epoch, s.head, s.horizon, s.tables, h.mark, h.digest FROM tandem.space s
        JOIN tandem.history h ON h.space = $1 AND h.version = s.head WHERE s.id = $1
      """
    case .insertSpace: "INSERT INTO tandem.space VALUES ($1, $2, 0, 0, '[]')"
    case .setHead: "UPDATE tandem.space SET head = $2 WHERE id = $1"
    case .setHorizon: "UPDATE tandem.space SET horizon = $2 WHERE id = $1"
    case .setTables: "UPDATE tandem.space SET tables = $2 WHERE id = $1"
    case .toggleMoved: "UPDATE tandem.space SET horizon = -1 - horizon WHERE id = $1"
    case .setEpoch: "UPDATE tandem.space SET epoch = $2, horizon = head WHERE id = $1"

    case .usage: "SELECT version, records, bytes FROM tandem.usage WHERE space = $1"
    case .setUsage:
      """
      INSERT INTO tandem.usage VALUES ($1, $2, $3, $4) ON CONFLICT (space) DO UPDATE SET
        version = excluded.version, records = excluded.records, bytes = excluded.bytes
      """

    case .insertHistory: "INSERT INTO tandem.history VALUES ($1, $2, $3, $4, $5, $6, $7)"
    case .mark: "SELECT mark FROM tandem.history WHERE space = $1 AND version = $2"
    case .revisionOfCommit:
      "SELECT version, mark FROM tandem.history WHERE space = $1 AND commit_id = $2"
    case .setMark: "UPDATE tandem.history SET mark = $2 WHERE space = $1 AND version = $3"
    case .lastCommits, .lastCommitsWithoutNames:
      """
      SELECT h.version, h.time, h.commit_id, h.replica, r.account, n.name FROM tandem.history h
        LEFT JOIN tandem.replica r ON r.space = $1 AND r.id = h.replica
        LEFT JOIN tandem.replica_name n ON n.space = $1 AND n.id = h.replica
        WHERE h.space = $1 AND h.commit_id IS NOT NULL
          AND h.version > (SELECT horizon FROM tandem.space WHERE id = $1)
        ORDER BY h.version DESC LIMIT $2
      """
    case .firstVersionSince:
      "SELECT min(version) FROM tandem.history WHERE space = $1 AND time >= $2"
    case .forgetDigests:
      """
      UPDATE tandem.history SET digest = '', replica = NULL
        WHERE space = $1 AND version < $2 AND digest <> ''
      """
    case .forgetDeletions:
      "DELETE FROM tandem.record WHERE space = $1 AND version <= $2 AND fields IS NULL"
    case .forgetOverruled: "DELETE FROM tandem.overruled WHERE space = $1 AND version <= $2"
    case .forgetCounts: "DELETE FROM tandem.change_count WHERE space = $1 AND version <= $2"

    case .replica:
      """
      SELECT account, sequence, commit_id, outcome FROM tandem.replica WHERE space = $1 AND id = $2
      """
    case .storeReplica:
      """
      INSERT INTO tandem.replica AS r VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (space, id) DO UPDATE
        SET account = coalesce(r.account, excluded.account), sequence = excluded.sequence,
          commit_id = excluded.commit_id, outcome = excluded.outcome
      """
    case .replicasBeginning:
      "SELECT id FROM tandem.replica WHERE space = $1 AND starts_with(id, $2) ORDER BY id"
    case .lastReplicas:
      """
      SELECT r.id, r.account, h.time FROM tandem.replica r
        LEFT JOIN tandem.history h ON h.space = $1 AND h.commit_id = r.commit_id
        WHERE r.space = $1
        ORDER BY r.outcome::json ->> 'outcome' = 'accepted', h.version DESC NULLS LAST, r.id
        LIMIT $2
      """
    case .replicaCount: "SELECT count(*) FROM tandem.replica WHERE space = $1"
    case .setName:
      """
      INSERT INTO tandem.replica_name VALUES ($1, $2, $3)
        ON CONFLICT (space, id) DO UPDATE SET name = excluded.name
      """
    case .removeName: "DELETE FROM tandem.replica_name WHERE space = $1 AND id = $2"

    case .record:
      """
      SELECT fields, version, created, field_versions FROM tandem.record
        WHERE space = $1 AND tab = $2 AND key = $3
      """
    case .insertRecord:
      """
      INSERT INTO tandem.record (space, tab, key, fields, version, created, field_versions, id)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      """
    case .updateRecord:
      """
      UPDATE tandem.record SET fields = $4, version = $5, created = $6, field_versions = $7
        WHERE space = $1 AND tab = $2 AND key = $3
      """
    case .recordVersions:
      """
      SELECT version, (fields IS NOT NULL)::int::bigint, created FROM tandem.record
        WHERE space = $1 AND tab = $2 AND key = $3
      """
    case .recordChangedSince:
      "SELECT version FROM tandem.record WHERE space = $1 AND version > $2 AND tab = $3 LIMIT 1"
    case .changes:
      // As in other scans, a number of rows follows the parameters of the statement, and a place if these have none.
      """
      SELECT version, tab, key, id, fields FROM tandem.record
        WHERE space = $1 AND (version, tab, key) > ($2, $3, $4)
          AND (fields IS NOT NULL OR version > $5)
        ORDER BY version, tab, key LIMIT $6
      """
    case .liveRecords:
      """
      SELECT id, fields, key FROM tandem.record
        WHERE space = $1 AND tab = $2 AND fields IS NOT NULL AND key > $3 ORDER BY key LIMIT $4
      """

    case .insertOverruled:
      """
      INSERT INTO tandem.overruled (space, version, tab, id, record_version, fields)
        VALUES ($1, $2, $3, $4, $5, $6)
      """
    case .overruledByCommit:
      """
      SELECT tab, id, record_version, fields FROM tandem.overruled
        WHERE space = $1 AND version = $2 ORDER BY number
      """
    case .lastOverruled:
      """
      SELECT tab, id, version, record_version FROM tandem.overruled
        WHERE space = $1 ORDER BY version DESC, number LIMIT $2
      """
    case .overruledCount: "SELECT count(*) FROM tandem.overruled WHERE space = $1"

    case .dropOldParts:
      "DELETE FROM tandem.part WHERE space = $1 AND time NOT BETWEEN $2 AND $3"
    case .dropParts: "DELETE FROM tandem.part WHERE space = $1 AND replica = $2"
    case .storePart:
      """
      INSERT INTO tandem.part (space, replica, sequence, commit_id, part, "of", account, base,
          change_count, overruled_count, time, message)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (space, replica, part) DO UPDATE SET sequence = excluded.sequence,
          commit_id = excluded.commit_id, "of" = excluded."of", account = excluded.account,
          base = excluded.base, change_count = excluded.change_count,
          overruled_count = excluded.overruled_count, time = excluded.time,
          message = excluded.message
      """
    case .parts:
      """
      SELECT commit_id, "of", base, account, part, change_count, length(message)::bigint, time,
          overruled_count
        FROM tandem.part WHERE space = $1 AND replica = $2 ORDER BY part
      """
    case .part: "SELECT message FROM tandem.part WHERE space = $1 AND replica = $2 AND part = $3"

    case .rulesOfTable: "\(Self.ruleRows) dropped = 0 AND (tab = $2 OR parent = $2)"
    case .ownRules: "\(Self.ruleRows) dropped = 0 AND tab = $2"
    case .rulesAfter: "\(Self.ruleRows) number > $2"
    case .rules: "\(Self.ruleRows) dropped = 0 ORDER BY number"
    case .lastRule: "SELECT max(number) FROM tandem.rule WHERE space = $1"
    case .insertRule:
      """
      INSERT INTO tandem.rule (space, number, tab, parent, definition, dropped)
        SELECT $1::bigint, coalesce(max(number), 0) + 1, $2::text, $3::text, $4::text, 0
        FROM tandem.rule WHERE space = $1
      """
    case .rule:
      "SELECT number FROM tandem.rule WHERE space = $1 AND tab = $2 AND definition = $3"
    case .dropRule: "UPDATE tandem.rule SET dropped = 1 WHERE space = $1 AND number = $2"
    case .dropClaims: "DELETE FROM tandem.claim WHERE space = $1 AND rule = $2"

    case .holders:
      """
      SELECT c.key, r.version FROM tandem.claim c
        JOIN tandem.record r ON r.space = $1 AND r.tab = $5 AND r.key = c.key
        WHERE c.space = $1 AND c.rule = $2 AND c.side = $3 AND c.hash = sha256($4) AND c.value = $4
          AND c.key > $6 ORDER BY c.key LIMIT $7
      """
    case .statedClaim:
      "SELECT value FROM tandem.claim WHERE space = $1 AND rule = $2 AND key = $3 AND side = 2"
    case .insertClaim: "INSERT INTO tandem.claim VALUES ($1, $2, $3, sha256($4), $4, $5)"
    case .deleteClaim:
      """
      DELETE FROM tandem.claim WHERE space = $1 AND rule = $2 AND side = $3 AND hash = sha256($4)
        AND value = $4 AND key = $5
      """
    case .breakingIndex: "\(Self.withoutOwnIndexValue) LIMIT $4"
    case .breakingUnique: "\(Self.withoutOwnValue) LIMIT $4"
    case .breakingReference: "\(Self.withoutOffer) LIMIT $4"
    case .breakingKeyReference: "\(Self.withoutParent) LIMIT $4"
    case .firstBreakingIndex: "\(Self.withoutOwnIndexValue) \(Self.order) LIMIT $4"
    case .firstBreakingUnique: "\(Self.withoutOwnValue) \(Self.order) LIMIT $4"
    case .firstBreakingReference: "\(Self.withoutOffer) \(Self.order) LIMIT $4"
    case .firstBreakingKeyReference: "\(Self.withoutParent) \(Self.order) LIMIT $4"

    case .numbers: "SELECT tab, highest FROM tandem.number WHERE space = $1"
    case .setNumber:
      """
      INSERT INTO tandem.number VALUES ($1, $2, $3)
        ON CONFLICT (space, tab) DO UPDATE SET highest = excluded.highest
      """
    case .counts: "SELECT tab, count FROM tandem.change_count WHERE space = $1 AND version = $2"
    case .storeCount:
      """
      INSERT INTO tandem.change_count VALUES ($1, $2, $3, $4)
        ON CONFLICT (space, version, tab) DO UPDATE SET count = excluded.count
      """
    case .definitions:
      "SELECT definitions FROM tandem.column_definition WHERE space = $1 AND tab = $2"
    case .forgetDefinitions:
      "DELETE FROM tandem.column_definition WHERE space = $1 AND tab = $2"
    case .storeDefinitions:
      """
      INSERT INTO tandem.column_definition VALUES ($1, $2, $3)
        ON CONFLICT (space, tab) DO UPDATE SET definitions = excluded.definitions
      """
    case .definitionByteCount:
      """
      SELECT sum(octet_length(definitions))::bigint FROM tandem.column_definition WHERE space = $1
      """
    }
  }

  private static let ruleRows =
    "SELECT number, tab, definition FROM tandem.rule WHERE space = $1 AND"
  private static let order = "ORDER BY r.version, r.key"

  private static let withoutOwnIndexValue = """
    SELECT r.id FROM tandem.record r
      LEFT JOIN tandem.claim c ON c.space = $1 AND c.rule = $2 AND c.side = 2 AND c.key = r.key
      WHERE r.space = $1 AND r.tab = $3 AND r.fields IS NOT NULL
        AND (c.value IS NULL OR c.value <> '' AND EXISTS (
          SELECT FROM tandem.claim o WHERE o.space = $1 AND o.rule = $2 AND o.side = 2
            AND o.hash = c.hash AND o.value = c.value AND o.key <> c.key))
    """
  private static let withoutOwnValue = breaking(
    """
    EXISTS (SELECT FROM tandem.claim o WHERE o.space = $1 AND o.rule = $2 AND o.side = 0
      AND o.hash = c.hash AND o.value = c.value AND o.key <> c.key)
    """)
  private static let withoutOffer = breaking(
    """
    NOT EXISTS (SELECT FROM tandem.claim o WHERE o.space = $1 AND o.rule = $2 AND o.side = 1
      AND o.hash = c.hash AND o.value = c.value)
    """)
  private static let withoutParent = breaking(
    """
    NOT EXISTS (SELECT FROM tandem.record p WHERE p.space = $1 AND p.tab = $5 AND p.key = c.value
      AND p.fields IS NOT NULL)
    """)

  private static func breaking(_ condition: String) -> String {
    """
    SELECT r.id FROM tandem.claim c
      JOIN tandem.record r ON r.space = $1 AND r.tab = $3 AND r.key = c.key
      WHERE c.space = $1 AND c.rule = $2 AND c.side = 0 AND \(condition)
    """
  }
}
