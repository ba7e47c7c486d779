/// Statements that look up many rows at once. The first column says which of them a row belongs to.
enum PostgreSQLLookup {
  /// : replicas → replica, and the columns of ``SpaceStatement/replica``
  static let replicas = """
    SELECT id, account, sequence, commit_id, outcome FROM tandem.replica
      WHERE space = $1 AND id = ANY ($2::text[])
    """
  /// : commits → commit, and the columns of ``SpaceStatement/revisionOfCommit``
  static let commits = """
    SELECT commit_id, version, mark FROM tandem.history
      WHERE space = $1 AND commit_id = ANY ($2::text[])
    """
  /// : versions → version, mark
  static let marks = """
    SELECT version, mark FROM tandem.history WHERE space = $1 AND version = ANY ($2::bigint[])
    """
  /// : tables, keys → table, key, and the columns of ``SpaceStatement/record``
  static let records = """
    SELECT r.tab, r.key, r.fields, r.version, r.created, r.field_versions
      FROM unnest($2::text[], $3::bytea[]) AS k (tab, key)
      JOIN tandem.record r ON r.space = $1 AND r.tab = k.tab AND r.key = k.key
    """
  /// : rules, keys → rule, key, value
  static let statedClaims = """
    SELECT c.rule, c.key, c.value FROM unnest($2::bigint[], $3::bytea[]) AS k (rule, key)
      JOIN tandem.claim c ON c.space = $1 AND c.rule = k.rule AND c.key = k.key AND c.side = 2
    """
  /// : rules, sides, values, tables → place, and the columns of ``SpaceStatement/holders``, at most
  /// ``maxHolderCount`` and one for each
  static let holders = """
    SELECT k.place, h.key, h.version
      FROM unnest($2::bigint[], $3::bigint[], $4::bytea[], $5::text[])
        WITH ORDINALITY AS k (rule, side, value, tab, place)
      CROSS JOIN LATERAL (
        SELECT c.key, r.version FROM tandem.claim c
          JOIN tandem.record r ON r.space = $1 AND r.tab = k.tab AND r.key = c.key
          WHERE c.space = $1 AND c.rule = k.rule AND c.side = k.side
            AND c.hash = sha256(k.value) AND c.value = k.value
          LIMIT \(maxHolderCount + 1)) h
    """
  /// The number of holders of a value that are read ahead. A parent may have any number of children, of which mostly
  /// the first is enough.
  static let maxHolderCount = 32
}
