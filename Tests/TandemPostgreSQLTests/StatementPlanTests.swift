import Foundation
import TandemRecords
import TandemSpace
import TestPostgreSQL
import Testing

@testable import TandemPostgreSQL

/// Plans with the rows of many spaces. `TANDEM_PLAN_SPACES` is their number, and `TANDEM_PLAN_RECORDS` the number of
/// records, commits and claims of each; the costs are printed then:
///
///     TANDEM_PLAN_SPACES=10000 TANDEM_PLAN_RECORDS=1000 make check TARGET=TandemPostgreSQL FILTER=StatementPlan
@Suite("Plans of statements on PostgreSQL") struct StatementPlanTests {
  private static func number(_ name: String) -> Int? {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
  }

  private static let spaceCount = number("TANDEM_PLAN_SPACES") ?? 1_000
  private static let recordCount = number("TANDEM_PLAN_RECORDS") ?? 40

  /// Makes rows of spaces in each table, which the planner then knows.
  private static func rows(of numbers: ClosedRange<Int>) -> String {
    let spaces = "generate_series(\(numbers.lowerBound), \(numbers.upperBound)) s"
    let (some, many) = (
      "\(spaces), generate_series(1, 5) n", "\(spaces), generate_series(1, \(recordCount)) n"
    )
    return """
      INSERT INTO tandem.space SELECT s, 'e', \(recordCount), 0, '[]' FROM \(spaces);
      INSERT INTO tandem.record SELECT s, 't', int4send(n), n, '{}', n, n, '{}' FROM \(many);
      INSERT INTO tandem.history SELECT s, n, n, '', s || '-' || n, 'r', n FROM \(many);
      INSERT INTO tandem.claim
        SELECT s, 1, n % 3, sha256(int4send(n)), int4send(n), int4send(n) FROM \(many);
      INSERT INTO tandem.replica SELECT s, n, NULL, 1, 'c', '{}' FROM \(some);
      INSERT INTO tandem.overruled (space, version, tab, id, record_version)
        SELECT s, n, 't', 'i', n FROM \(some);
      INSERT INTO tandem.change_count SELECT s, n, 't', 1 FROM \(some);
      INSERT INTO tandem.replica_name SELECT s, n, 'name' FROM \(some);
      INSERT INTO tandem.column_definition SELECT s, n, '[]' FROM \(some);
      INSERT INTO tandem.part SELECT s, 'r', n, 1, 'c', 5, NULL, 'b', 1, 0, n, '' FROM \(some);
      INSERT INTO tandem.rule SELECT s, n, 't', NULL, '{}', 0 FROM \(some);
      INSERT INTO tandem.usage SELECT s, \(recordCount), \(recordCount), 400 FROM \(spaces);
      INSERT INTO tandem.number SELECT s, n, 1 FROM \(some);
      ANALYZE;
      """
  }

  /// A statement, the lines of its plan, and what the planner expects it to cost.
  private struct Plan {
    let statement: String
    let lines: [String]
    var text: String { "\(statement)\n\(lines.joined(separator: "\n"))" }

    /// The cost until the last row, in the planner's unit: a page that is read in order.
    var cost: Double? {
      guard let start = lines.first?.firstRange(of: "..") else { return nil }
      return (lines.first?[start.upperBound...].split(separator: " ").first).flatMap { Double($0) }
    }
  }

  /// The plans of all statements.
  private static func plans(
    at address: String, setting: String = "SET enable_seqscan = on"
  ) throws -> [Plan] {
    let connection = try PostgreSQLConnection(address: address)
    try connection.exchange([
      PostgreSQLQuery(setting),
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
    return try statements.map { statement in
      let count = (1...20).last { statement.contains("$\($0)") } ?? 0
      let nulls = Array(repeating: "NULL", count: count).joined(separator: ", ")
      let query = PostgreSQLQuery(
        "SELECT pg_temp.plan($1, $2)", [.value(.text(statement)), .value(.text(nulls))])
      return Plan(
        statement: statement,
        lines: try connection.exchange([query])[0].compactMap { $0[0].textValue })
    }
  }

  @Test(
    "Each statement finds its rows by an index of its space, and other spaces do not make it cost more"
  )
  func indexes() throws {
    let cluster = try TestCluster.shared.get()
    let address = try cluster.makeDatabase()
    try cluster.run(PostgreSQLSchema.sql, at: address)
    let few = Self.spaceCount / 4
    try cluster.run(Self.rows(of: 1...few), at: address)
    // Otherwise it may take less to read all of a small table.
    let former = try Self.plans(at: address, setting: "SET enable_seqscan = off")
    try cluster.run(Self.rows(of: few + 1...Self.spaceCount), at: address)
    let plans = try Self.plans(at: address)
    for (plan, former) in zip(plans, former) {
      #expect(!plan.lines.isEmpty)
      for line in plan.lines {
        #expect(!line.contains("Seq Scan"), "\(plan.text)")
        guard line.contains("Index Cond:") else { continue }
        #expect(line.contains("space = $1") || line.contains("id = $1"), "\(plan.text)")
      }
      let (cost, formerCost) = (try #require(plan.cost), try #require(former.cost))
      // All rows of the table are four times as many. Those of a space may be on more pages then, and below one more
      // page of an index.
      #expect(cost <= 2 * formerCost + 1, "\(former.text)\n\(plan.text)")
      if Self.number("TANDEM_PLAN_SPACES") != nil {
        print(former.cost ?? 0, plan.cost ?? 0, plan.statement.prefix { !$0.isNewline })
      }
    }
  }
}
