import TandemRecords
import TandemSpace
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

@Suite("Plans of statements on PostgreSQL") struct StatementPlanTests {
  /// Rows of 1,000 spaces in each table, which the planner knows.
  private static let rows = """
    INSERT INTO tandem.space SELECT s, 'e', 40, 0, '[]' FROM generate_series(1, 1000) s;
    INSERT INTO tandem.record
      SELECT s, 't', int4send(n), n, '{}', n, n, '{}' FROM generate_series(1, 1000) s, generate_series(1, 40) n;
    INSERT INTO tandem.history
      SELECT s, n, n, '', s || '-' || n, 'r', n FROM generate_series(1, 1000) s, generate_series(1, 40) n;
    INSERT INTO tandem.claim
      SELECT s, 1, n % 3, sha256(int4send(n)), int4send(n), int4send(n)
        FROM generate_series(1, 1000) s, generate_series(1, 40) n;
    INSERT INTO tandem.replica
      SELECT s, n, NULL, 1, 'c', '{}' FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.overruled (space, version, tab, id, record_version)
      SELECT s, n, 't', 'i', n FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.change_count
      SELECT s, n, 't', 1 FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.replica_name
      SELECT s, n, 'name' FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.column_definition
      SELECT s, n, '[]' FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.part
      SELECT s, 'r', n, 1, 'c', 5, NULL, 'b', 1, 0, n, '' FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.rule
      SELECT s, n, 't', NULL, '{}', 0 FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    INSERT INTO tandem.usage SELECT s, 40, 40, 400 FROM generate_series(1, 1000) s;
    INSERT INTO tandem.number SELECT s, n, 1 FROM generate_series(1, 1000) s, generate_series(1, 5) n;
    ANALYZE;
    """

  @Test("Each statement finds its rows by an index that begins with the space")
  func indexes() throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    try cluster.run(PostgreSQLSchema.sql, at: address)
    try cluster.run(Self.rows, at: address)
    let connection = try PostgreSQLConnection(address: address)
    try connection.exchange([
      // The plan for any parameters, which a statement has after its first executions.
      PostgreSQLQuery("SET plan_cache_mode = force_generic_plan"),
      PostgreSQLQuery(
        """
        CREATE FUNCTION pg_temp.plan(statement text, parameters text) RETURNS SETOF text LANGUAGE plpgsql AS $$
        BEGIN
          EXECUTE 'PREPARE planned AS ' || statement;
          RETURN QUERY EXECUTE 'EXPLAIN EXECUTE planned(' || parameters || ')';
          DEALLOCATE planned;
        END $$
        """),
    ])
    let statements =
      SpaceStatement.allCases.map(\.postgreSQLText) + [
        PostgreSQLLookup.replicas, PostgreSQLLookup.commits, PostgreSQLLookup.marks,
        PostgreSQLLookup.records, PostgreSQLLookup.statedClaims, PostgreSQLLookup.holders,
      ]
    for statement in statements {
      let count = (1...20).last { statement.contains("$\($0)") } ?? 0
      let nulls = Array(repeating: "NULL", count: count).joined(separator: ", ")
      let lines = try connection.exchange([
        PostgreSQLQuery(
          "SELECT pg_temp.plan($1, $2)", [.value(.text(statement)), .value(.text(nulls))])
      ])[0].compactMap { $0[0].textValue }
      #expect(!lines.isEmpty)
      let plan = lines.joined(separator: "\n")
      for line in lines {
        #expect(!line.contains("Seq Scan"), "\(statement)\n\(plan)")
        guard line.contains("Index Cond:") else { continue }
        #expect(line.contains("space = $1") || line.contains("id = $1"), "\(statement)\n\(plan)")
      }
    }
  }
}
