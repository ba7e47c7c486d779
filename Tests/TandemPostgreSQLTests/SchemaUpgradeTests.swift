import TandemRecords
import TandemSpace
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Upgrades of the schema on PostgreSQL", .timeLimit(.minutes(20)))
struct SchemaUpgradeTests {
  @Test("Tables of an earlier version become those that a new database has, with their rows")
  func equal() async throws {
    let cluster = try TestCluster.shared.get()
    let (former, fresh) = (try cluster.makeDatabase(), try cluster.makeDatabase())
    try cluster.run(Self.format2, at: former)
    try cluster.run("INSERT INTO tandem.name (name) VALUES ('notes'), ('todo')", at: former)
    let error = await #expect(throws: PostgreSQLError.self) {
      try await PostgreSQLDatabase.open(address: former, creates: true)
    }
    #expect(error?.message.contains("tandem store upgrade") == true)
    // What was refused is as it was. The tables of webhooks are made with the first one.
    let strays = PostgreSQLQuery(
      "SELECT count(*) FROM pg_tables WHERE schemaname = 'tandem' AND tablename LIKE 'webhook%'")
    var other: PostgreSQLConnection? = try PostgreSQLConnection(
      address: former + " application_name=other")
    #expect(try other?.exchange([strays])[0] == [[.integer(0)]])
    other = nil
    #expect(try await PostgreSQLDatabase.upgrade(address: former) == (2, 3))
    #expect(try await PostgreSQLDatabase.upgrade(address: former) == (3, 3))
    let upgraded = try await PostgreSQLDatabase.open(address: former, creates: false)
    let new = try await PostgreSQLDatabase.open(address: fresh, creates: true)
    #expect(try await columns(upgraded) == columns(new))
    #expect(try await indexes(upgraded) == indexes(new))
    let rows = "SELECT name || ' ' || space FROM tandem.name ORDER BY space"
    #expect(try await texts(rows, upgraded) == ["notes 1", "todo 2"])
    _ = try await PostgreSQLSpaceStore.open(upgraded, name: "third", creates: true)
    let members = PostgreSQLMembers(upgraded)
    _ = try await members.change(SpaceMemberChange(account: "ann", role: .owner), in: "third")
    #expect(try await members.members(of: "third").map(\.account) == ["ann"])
    for database in [upgraded, new] { await database.close() }
  }

  @Test("Tables that a server uses, or that cannot be upgraded, stay as they are")
  func refused() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    // A connection is listed for a moment after its end.
    func message(isUsed: Bool = false) async throws -> String {
      while true {
        do {
          return "\(try await PostgreSQLDatabase.upgrade(address: address))"
        } catch let error as PostgreSQLError {
          if isUsed || !error.message.contains("stop them first") { return error.message }
        }
      }
    }
    #expect(try await message().contains("no schema tandem"))
    try cluster.run(Self.format2, at: address)
    var server: PostgreSQLConnection? = try PostgreSQLConnection(address: address)
    #expect(try await message(isUsed: true).contains("stop them first"))
    try server?.exchange([PostgreSQLQuery("CREATE TABLE tandem.member (x bigint)")])
    server = nil
    #expect(try await message().contains("is as it was"))
    try cluster.run("DROP TABLE tandem.member; UPDATE tandem.meta SET format = 1", at: address)
    #expect(try await message().contains("tandem store copy"))
    try cluster.run("UPDATE tandem.meta SET format = 4", at: address)
    #expect(try await message().contains("newer version"))
    try cluster.run("UPDATE tandem.meta SET format = 2", at: address)
    #expect(try await message() == "(from: 2, to: 3)")
  }

  @Test("A server with another role than the owner may use what an upgrade made")
  func rights() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let role = "server; \(address.split(separator: "=").last ?? "")"
    try cluster.run(Self.format2, at: address)
    try cluster.run(
      """
      CREATE ROLE "\(role)" LOGIN;
      GRANT USAGE ON SCHEMA tandem TO "\(role)";
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tandem TO "\(role)"
      """, at: address)
    #expect(try await PostgreSQLDatabase.upgrade(address: address) == (2, 3))
    let server = address.replacing("user=tandem", with: "user='\(role)'")
    let database = try await PostgreSQLDatabase.open(address: server, creates: false)
    _ = try await PostgreSQLSpaceStore.open(database, name: "notes", creates: true)
    let members = PostgreSQLMembers(database)
    _ = try await members.change(SpaceMemberChange(account: "ann", role: .owner), in: "notes")
    #expect(try await members.members(of: "notes").map(\.account) == ["ann"])
    await database.close()
    try cluster.run("REVOKE ALL ON tandem.member FROM \"\(role)\"", at: address)
    let error = await #expect(throws: PostgreSQLError.self) {
      try await PostgreSQLDatabase.open(address: server, creates: false)
    }
    #expect(error?.code == .schema)
    #expect(error?.message.contains("let its owner grant") == true)
  }

  @Test("A server that may not create tables starts with an option to do so, if they are there")
  func withoutRights() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let role = "user_\(address.split(separator: "=").last ?? "")"
    // Without the tables of webhooks, which earlier versions did not make.
    try cluster.run(
      PostgreSQLSchema.sql + """
        ;CREATE ROLE \(role) LOGIN;
        GRANT USAGE ON SCHEMA tandem TO \(role);
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tandem TO \(role)
        """, at: address)
    let user = address.replacing("user=tandem", with: "user=\(role)")
    let database = try await PostgreSQLDatabase.open(address: user, creates: true)
    _ = try await PostgreSQLSpaceStore.open(database, name: "notes", creates: true)
    await database.close()
  }

  @Test("An upgrade whose connection breaks does not say that nothing has changed")
  func cut() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    let proxy = try TestProxy(to: cluster.socket)
    defer { proxy.close() }
    let name = String(address.split(separator: "=").last ?? "")
    let broken = cluster.address(of: name, through: proxy.folder)
    var unknownCount = 0
    // More than the messages of an upgrade, the last one of which has the transaction.
    for message in 1...10 {
      for cut in TestProxy.Cut.allCases {
        try cluster.run(
          "SET client_min_messages = error; DROP SCHEMA IF EXISTS tandem CASCADE; " + Self.format2,
          at: address)
        proxy.cut(cut, atMessage: message)
        while true {
          do {
            let (_, format) = try await PostgreSQLDatabase.upgrade(address: broken)
            #expect(format == 3)
            break
          } catch let error as PostgreSQLError {
            #expect(!error.message.contains("as it was"), "\(cut) \(message)")
            if error.message.contains("is unknown") { unknownCount += 1 }
          }
        }
      }
    }
    #expect(unknownCount >= 2)
  }

  @Test("An upgrade that waits for another one finds what that has done")
  func simultaneous() async throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    try cluster.run(Self.format2, at: address)
    // Connections of another name are not taken for those of servers.
    let other = try PostgreSQLConnection(address: address + " application_name=other")
    try other.exchange(
      other.begin("READ COMMITTED READ WRITE") + [PostgreSQLQuery(PostgreSQLSchema.lock)])
    async let upgrade = PostgreSQLDatabase.upgrade(address: address)
    let waiting = PostgreSQLQuery(
      """
      SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      """)
    while try other.exchange([waiting])[0] == [[.integer(0)]] { await Task.yield() }
    for statement in [
      "ALTER TABLE tandem.meta ADD COLUMN members bigint NOT NULL DEFAULT 0",
      "CREATE TABLE tandem.member (account text)", "UPDATE tandem.meta SET format = 3", "COMMIT",
    ] {
      try other.exchange([PostgreSQLQuery(statement)])
    }
    let formats = try await upgrade
    #expect(formats.from == 3 && formats.to == 3)
  }

  private func columns(_ database: PostgreSQLDatabase) async throws -> [String] {
    try await texts(
      """
      SELECT concat_ws(' ', table_name, ordinal_position, column_name, data_type, collation_name,
          is_nullable, column_default, is_identity)
        FROM information_schema.columns
        WHERE table_schema = 'tandem' AND table_name NOT LIKE 'webhook%' ORDER BY 1
      """, database)
  }

  private func indexes(_ database: PostgreSQLDatabase) async throws -> [String] {
    try await texts(
      """
      SELECT indexdef FROM pg_indexes
        WHERE schemaname = 'tandem' AND tablename NOT LIKE 'webhook%' ORDER BY 1
      """, database)
  }

  private func texts(_ sql: String, _ database: PostgreSQLDatabase) async throws -> [String] {
    let rows = try await database.run { try $0.exchange([PostgreSQLQuery(sql)])[0] }
    return rows.map { row in
      guard case .text(let text)? = row.first else { return "\(row)" }
      return text
    }
  }

  /// The tables as commit 5e27ac7 made them.
  private static let format2 = """
    CREATE SCHEMA tandem;
    CREATE TABLE tandem.meta (format bigint NOT NULL, tokens bigint NOT NULL DEFAULT 0);
    INSERT INTO tandem.meta (format) VALUES (2);
    CREATE TABLE tandem.token (
      hash text COLLATE "C" PRIMARY KEY, number bigint GENERATED ALWAYS AS IDENTITY,
      definition text NOT NULL, used bigint);
    CREATE TABLE tandem.name (
      name text COLLATE "C" PRIMARY KEY, space bigint GENERATED ALWAYS AS IDENTITY, former text);
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
}
