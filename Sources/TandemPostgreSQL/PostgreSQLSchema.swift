internal import TandemRecords
internal import TandemSpace

/// The tables of spaces in a PostgreSQL database.
///
/// Each table has the number of the space as first column of its primary key, and no statement spans two spaces. There
/// are no triggers, no foreign keys and no extensions. Texts compare by their bytes, as in SQLite. An index does not
/// hold long values, so that claims are found by the hash of their values.
package enum PostgreSQLSchema {
  /// The version of the tables.
  static let format: Int64 = 3

  /// The statements that make the tables, for those who may not give the server the right to.
  package static let sql = """
    CREATE SCHEMA IF NOT EXISTS tandem;
    CREATE TABLE tandem.meta (format bigint NOT NULL, tokens bigint NOT NULL DEFAULT 0,
      members bigint NOT NULL DEFAULT 0);
    INSERT INTO tandem.meta (format) VALUES (\(format));
    CREATE TABLE tandem.token (
      hash text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY,
      definition text NOT NULL, used bigint);
    CREATE TABLE tandem.name (
      name text COLLATE "C" PRIMARY KEY, space bigint UNIQUE GENERATED ALWAYS AS IDENTITY,
      former text, creator text COLLATE "C");
    CREATE INDEX name_creator ON tandem.name (creator) WHERE creator IS NOT NULL;
    CREATE TABLE tandem.member (
      space bigint NOT NULL, account text COLLATE "C" NOT NULL, role text, change bigint NOT NULL,
      PRIMARY KEY (space, account));
    CREATE INDEX member_change ON tandem.member (change);
    CREATE TABLE tandem.space (
      id bigint PRIMARY KEY, epoch text NOT NULL, head bigint NOT NULL, horizon bigint NOT NULL,
      tables text NOT NULL) WITH (fillfactor = 50);
    CREATE TABLE tandem.record (
      space bigint NOT NULL, tab text COLLATE "C" NOT NULL, key bytea NOT NULL,
      id text COLLATE "C" NOT NULL, fields text COLLATE "C", version bigint NOT NULL,
      created bigint NOT NULL, field_versions text COLLATE "C" NOT NULL,
      PRIMARY KEY (space, tab, key)) WITH (fillfactor = 80);
    CREATE UNIQUE INDEX record_version ON tandem.record (space, version, tab, key);
    CREATE TABLE tandem.history (
      space bigint NOT NULL, version bigint NOT NULL, mark bigint NOT NULL, digest text NOT NULL,
      commit_id text COLLATE "C", replica text COLLATE "C", time bigint NOT NULL,
      PRIMARY KEY (space, version), UNIQUE (space, commit_id));
    CREATE TABLE tandem.replica (
      space bigint NOT NULL, id text COLLATE "C" NOT NULL, account text, sequence bigint NOT NULL,
      commit_id text COLLATE "C" NOT NULL, outcome text NOT NULL,
      PRIMARY KEY (space, id)) WITH (fillfactor = 50);
    CREATE TABLE tandem.overruled (
      space bigint NOT NULL, version bigint NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
      tab text NOT NULL, id text NOT NULL, record_version bigint NOT NULL, fields text,
      PRIMARY KEY (space, version, number));
    CREATE TABLE tandem.change_count (
      space bigint NOT NULL, version bigint NOT NULL, tab text COLLATE "C" NOT NULL,
      count bigint NOT NULL, PRIMARY KEY (space, version, tab));
    CREATE TABLE tandem.replica_name (
      space bigint NOT NULL, id text COLLATE "C" NOT NULL, name text NOT NULL,
      PRIMARY KEY (space, id));
    CREATE TABLE tandem.column_definition (
      space bigint NOT NULL, tab text COLLATE "C" NOT NULL, definitions text NOT NULL,
      PRIMARY KEY (space, tab));
    CREATE TABLE tandem.part (
      space bigint NOT NULL, replica text COLLATE "C" NOT NULL, part bigint NOT NULL,
      sequence bigint NOT NULL, commit_id text NOT NULL, "of" bigint NOT NULL, account text,
      base text NOT NULL, change_count bigint NOT NULL, overruled_count bigint NOT NULL,
      time bigint NOT NULL, message bytea NOT NULL, PRIMARY KEY (space, replica, part));
    CREATE TABLE tandem.rule (
      space bigint NOT NULL, number bigint NOT NULL, tab text COLLATE "C" NOT NULL,
      parent text COLLATE "C", definition text COLLATE "C" NOT NULL, dropped bigint NOT NULL,
      PRIMARY KEY (space, number));
    CREATE TABLE tandem.claim (
      space bigint NOT NULL, rule bigint NOT NULL, side bigint NOT NULL, hash bytea NOT NULL,
      value bytea NOT NULL, key bytea NOT NULL, PRIMARY KEY (space, rule, side, hash, key));
    CREATE INDEX claim_stated ON tandem.claim (space, rule, key) WHERE side = 2;
    CREATE TABLE tandem.number (
      space bigint NOT NULL, tab text COLLATE "C" NOT NULL, highest bigint NOT NULL,
      PRIMARY KEY (space, tab));
    CREATE TABLE tandem.usage (
      space bigint PRIMARY KEY, version bigint NOT NULL, records bigint NOT NULL,
      bytes bigint NOT NULL) WITH (fillfactor = 50);
    """

  /// The statements that bring the tables of an earlier version to the next one. The result is what ``sql`` makes.
  private static let upgrades: [Int64: String] = [
    2: """
    ALTER TABLE tandem.meta ADD COLUMN members bigint NOT NULL DEFAULT 0;
    ALTER TABLE tandem.name ADD COLUMN creator text COLLATE "C", ADD UNIQUE (space);
    CREATE INDEX name_creator ON tandem.name (creator) WHERE creator IS NOT NULL;
    CREATE TABLE tandem.member (
      space bigint NOT NULL, account text COLLATE "C" NOT NULL, role text, change bigint NOT NULL,
      PRIMARY KEY (space, account));
    CREATE INDEX member_change ON tandem.member (change);
    """
  ]

  /// The statements that give `tandem.member`, which an upgrade makes, the rights that `tandem.name` has: servers may have
  /// other roles than the one that upgrades.
  private static func memberGrants(
    _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) -> [String] {
    let grants = PostgreSQLQuery(
      """
      SELECT format('GRANT %s ON tandem.member TO %s', string_agg(privilege_type, ', '),
          CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
        FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner)))
        WHERE pg_class.oid = 'tandem.name'::regclass GROUP BY grantee
      """)
    return try connection.exchange([grants])[0].compactMap { $0.first?.textValue }
  }

  /// Makes the tables, and those of webhooks, unless there are tables of this or of another version.
  static func create(_ connection: PostgreSQLConnection) throws {
    guard try format(connection) == nil else { return }
    // Who was given an empty schema may have no right to make one.
    let found = try connection.exchange([
      PostgreSQLQuery("SELECT to_regnamespace('tandem')::oid::bigint")
    ])
    let isThere = found[0].first?.first != .null
    let statements = isThere ? String(sql.drop { $0 != "\n" }) : sql
    try create("the schema tandem", statements + PostgreSQLWebhooks.sql, connection) {
      try format(connection) != nil
    }
  }

  /// Makes tables in one transaction, unless they are there.
  ///
  /// - Parameter name: The name of the tables in an error.
  static func create(
    _ name: String, _ sql: String, _ connection: PostgreSQLConnection,
    unless areThere: () throws -> Bool
  ) throws {
    guard try !areThere() else { return }
    do throws(PostgreSQLError) {
      try run(sql, connection)
    } catch {
      // Another node may have done the same at the same time.
      guard try !areThere() else { return }
      throw PostgreSQLError(
        .schema,
        "\(name) cannot be created: \(error.message). Let a user with the right to do so run the output of: "
          + "tandem store sql")
    }
  }

  /// Brings tables of an earlier version to this one, in one transaction, while no server uses them.
  ///
  /// - Returns: The version that the tables had.
  static func upgrade(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Int64 {
    guard let found = try format(connection), let statements = upgrades[found] else {
      try check(connection)
      return format
    }
    let users = PostgreSQLQuery(
      """
      SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'tandem' AND pid <> pg_backend_pid()
      """)
    guard try connection.exchange([users])[0] == [[.integer(0)]] else {
      throw PostgreSQLError(
        .schema,
        "servers use the database, or a pooler keeps connections of theirs: stop them first")
    }
    let grants = try memberGrants(connection)
    do {
      try run(
        statements + "\nUPDATE tandem.meta SET format = \(found + 1)", and: grants, connection)
    } catch {
      guard error.code != .lost else {
        throw PostgreSQLError(
          .lost,
          "the connection broke during the upgrade, so that its outcome is unknown; run this again")
      }
      // Another upgrade may have been first.
      guard try format(connection) == found else { return try upgrade(connection) }
      throw PostgreSQLError(
        .schema,
        "the schema tandem cannot be upgraded, and is as it was: \(error.message)"
          + (error.code == .statement("42501") ? ". Let its owner run this" : ""))
    }
    _ = try upgrade(connection)
    return found
  }

  /// Waits for other nodes that make or change tables. Of two that make one at the same time, PostgreSQL refuses one, also
  /// with IF NOT EXISTS. The number is the word tandem.
  static let lock = "SELECT 1::bigint FROM pg_advisory_xact_lock(127961812723053)"

  /// Runs statements, and single ones after them, in one transaction, one caller at a time.
  static func run(
    _ statements: String, and others: [String] = [], _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) {
    let texts = "\(lock);\(statements)".split(separator: ";").map { text in
      String(text.drop(while: \.isWhitespace))
    }
    let queries = (texts.filter { !$0.isEmpty } + others).map { PostgreSQLQuery($0) }
    do {
      try connection.exchange(
        connection.begin("READ COMMITTED READ WRITE") + queries + [PostgreSQLQuery("COMMIT")])
    } catch {
      _ = try? connection.exchange([PostgreSQLQuery("ROLLBACK")])
      throw error
    }
  }

  /// Throws unless this version can use the tables.
  static func check(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
    guard let found = try format(connection) else {
      throw PostgreSQLError(
        .schema,
        "the database has no schema tandem; let a server create it (`creates`), or run the output of tandem store sql"
      )
    }
    guard found >= format else {
      throw PostgreSQLError(
        .schema,
        "an earlier version of Tandem made the schema tandem (format \(found), and this version needs \(format)); "
          + (upgrades[found] == nil
            ? "let that version copy the spaces into files (tandem store copy), and this one into a new database"
            : "stop all servers, and run: tandem store upgrade"))
    }
    guard found == format else {
      throw PostgreSQLError(
        .schema,
        "a newer version of Tandem made the schema tandem (format \(found)); update this program")
    }
    _ = try permitted("SELECT account FROM tandem.member LIMIT 0", connection)
  }

  /// The version of the tables; `nil` if there are none.
  private static func format(
    _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) -> Int64? {
    let table = try permitted("SELECT to_regclass('tandem.meta')::oid::bigint", connection)
    guard case .integer? = table.first?.first else { return nil }
    let rows = try permitted("SELECT format FROM tandem.meta", connection)
    guard rows.count == 1, case .integer(let format)? = rows[0].first else { throw .damaged }
    return format
  }

  /// The rows of a query; if the user has no right to them, the error says which rights to grant.
  private static func permitted(
    _ query: String, _ connection: PostgreSQLConnection
  ) throws(PostgreSQLError) -> [[FieldValue]] {
    do throws(PostgreSQLError) {
      return try connection.exchange([PostgreSQLQuery(query)])[0]
    } catch {
      guard error.code == .statement("42501") else { throw error }
      throw PostgreSQLError(
        .schema,
        "the user of the address may not use the schema tandem; let its owner grant USAGE on the schema, and SELECT, "
          + "INSERT, UPDATE and DELETE on all its tables")
    }
  }
}
