import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem mirror: from a table, and into wider columns", .timeLimit(.minutes(20)))
struct MirrorTableTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func tandem(_ arguments: String) async throws -> Tool.Result {
    try await Tool.shell("$tandem mirror \(arguments)", in: folder)
  }

  @Test("a table of one file becomes that of another: keys, types and values exact, and follows it")
  func tables() async throws {
    try folder.execute(
      "a.db",
      """
      CREATE TABLE place (
        country TEXT, code INTEGER, name TEXT, height REAL, area NUMERIC, any, flag BLOB,
        loose, PRIMARY KEY (country, code))
      """,
      """
      INSERT INTO place VALUES
        ('no', 1, '007', 1.0, 2.5, '1.0', x'00ff', 1), ('no', 2, NULL, 2, 3, 1.0, NULL, 2),
        ('se', 9223372036854775807, '', NULL, '1e400', 1, x'', 3)
      """)
    let first = try await tandem("a.db --table place b.db")
    #expect(first.status == 0 && first.error.isEmpty, "\(first)")
    #expect(first.output.hasSuffix("3 inserted, 0 updated, 0 deleted; table place created\n"))
    let query =
      "SELECT *, typeof(height), typeof(area), typeof(\"any\"), typeof(flag) FROM place ORDER BY 1, 2"
    #expect(try folder.rows("b.db", query) == folder.rows("a.db", query))
    let second = try await tandem("a.db --table place b.db --json")
    #expect(second.output.contains(#""inserted":[]"#) && second.status == 0, "\(second)")
    try folder.execute(
      "a.db", "DELETE FROM place WHERE code = 2",
      "UPDATE place SET height = 7, name = NULL, area = 2.25, \"any\" = 1, loose = '007' WHERE code = 1",
      // The same number in another type, which only a column without a type can have.
      "UPDATE place SET \"any\" = 1.0 WHERE country = 'se'")
    #expect(try await tandem("a.db --table place b.db -q").status == 0)
    #expect(try folder.rows("b.db", query) == folder.rows("a.db", query))
  }

  @Test("the source may have another name, be a view, or have no key of its own")
  func otherTables() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "INSERT INTO t VALUES (1, 'x')",
      "CREATE VIEW seen AS SELECT id, n || '!' AS m FROM t", "CREATE TABLE keyless (x)")
    #expect(try await tandem("a.db b.db --from-table seen --table copy --key id -q").status == 0)
    #expect(try folder.rows("b.db", "SELECT * FROM copy") == [#"1|"x!""#])
    #expect(try await tandem("a.db a.db --from-table t --table copy -q").status == 0)
    #expect(try folder.rows("a.db", "SELECT * FROM copy") == [#"1|"x""#])
    for (arguments, words) in [
      ("a.db b.db --table keyless", "keyless has no primary key; name the columns"),
      ("a.db ./a.db --table T", "T would be mirrored into itself"),
      ("a.db b.db --table t --format csv", "--format is for a list"),
      ("a.db b.db --table t --delimiter tab", "--delimiter is for a list"),
      ("a.db b.db --table t --header 'a: b'", "--header is for a list from a URL"),
      ("list.json b.db --from-table t --table t --key id", "--from-table is for a SOURCE"),
      ("a.db list.json --table t", "SOURCE comes first, and DATABASE after it"),
    ] {
      try folder.write(#"[{"id":1}]"#, to: "list.json")
      let result = try await tandem(arguments)
      #expect(result.status == 2 && result.error.contains(words), "\(result)")
    }
  }

  @Test("a source that cannot be read is a failure, not wrong usage")
  func unreadable() async throws {
    try folder.execute("a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)")
    try folder.write("SQLite format 3\0" + String(repeating: "x", count: 3_000), to: "bad.db")
    for (arguments, words) in [
      ("a.db b.db --table tt", "a.db: there is no table tt; did you mean t?"),
      ("bad.db b.db --table t", "bad.db: file is not a database"),
    ] {
      let result = try await tandem(arguments)
      #expect(result.status == 1 && result.error.contains(words), "\(result)")
      #expect(!result.error.contains("tandem help"), "\(result)")
    }
  }

  @Test("a number that gets another type is shown, though it is equal")
  func types() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, n, v)", "INSERT INTO t VALUES (1, 1, 'x')")
    #expect(try await tandem("a.db --table t b.db").status == 0)
    try folder.execute("a.db", "UPDATE t SET n = 1.0")
    let result = try await tandem("a.db --table t b.db")
    #expect(result.output == "~ id=1  n: 1 → 1.0\n0 inserted, 1 updated, 0 deleted\n")
  }

  @Test("an emptied table empties its copy only if that is allowed, and an empty one is no error")
  func emptied() async throws {
    try folder.execute("a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)")
    #expect(try await tandem("a.db --table t b.db").status == 0)
    try folder.execute("a.db", "INSERT INTO t VALUES (1), (2)")
    #expect(try await tandem("a.db --table t b.db").status == 0)
    try folder.execute("a.db", "DELETE FROM t")
    #expect(try await tandem("a.db --table t b.db").error.contains("--allow-empty"))
    // An explicit limit holds all the same.
    let limited = try await tandem("a.db --table t b.db --allow-empty --max-deletes 1")
    #expect(limited.status == 1 && limited.error.contains("--max-deletes 2"))
    #expect(try folder.rows("b.db", "SELECT count(*) FROM t") == ["2"])
    #expect(try await tandem("a.db --table t b.db --allow-empty").status == 0)
    for options in ["", "--allow-empty", "--max-deletes 0"] {
      #expect(try await tandem("a.db --table t b.db \(options)").status == 0, "\(options)")
    }
  }

  @Test("a column that does not fit a value is named with the option that widens it")
  func widening() async throws {
    try folder.write(#"[{"id":1,"zip":100}]"#, to: "list.json")
    #expect(try await tandem("list.json list.db --table t --key id").status == 0)
    try folder.write(#"[{"id":"b","zip":"0100"},{"id":1,"zip":100}]"#, to: "list.json")
    let refused = try await tandem("list.json list.db --table t --key id")
    #expect(refused.status == 1 && refused.error.contains("(--widen)"), "\(refused)")
    let dryRun = try await tandem("list.json list.db --table t --key id --widen -n")
    #expect(dryRun.output.contains("columns would be widened: id, zip"), "\(dryRun)")
    let widened = try await tandem("list.json list.db --table t --key id --widen")
    #expect(widened.output.contains("1 inserted, 0 updated, 0 deleted; columns widened: id, zip"))
    #expect(try folder.rows("list.db", "SELECT * FROM t ORDER BY id") == ["1|100", #""b"|"0100""#])
    #expect(try await tandem("list.json list.db --table t --key id").status == 0)
  }
}
