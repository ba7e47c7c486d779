import Foundation
import TestTool
import Testing

@Suite("tandem watch: what it shows", .timeLimit(.minutes(20)))
struct WatchCommandTests {
  private let database: WatchedDatabase

  init() async throws {
    database = try await WatchedDatabase(
      "PRAGMA journal_mode=WAL; CREATE TABLE place (id INTEGER PRIMARY KEY, name, b)")
  }

  @Test("with --json, each difference is one object on one line, rows in column order")
  func json() async throws {
    let tool = try await database.watch("--json")
    try await database.execute(
      "INSERT INTO place VALUES (2, 'B' || char(10), x'00ff10'), (1, NULL, 1.5)")
    #expect(
      await tool.line() == #"{"inserted":[{"id":1,"name":null,"b":1.5},"#
        + #"{"id":2,"name":"B\n","b":{"blob":"AP8Q"}}],"updated":[],"deleted":[]}"#)
    try await database.execute(
      "BEGIN; UPDATE place SET name = 'x' WHERE id = 1; DELETE FROM place WHERE id = 2; COMMIT")
    #expect(
      await tool.line() == #"{"inserted":[],"updated":[{"old":{"id":1,"name":null,"b":1.5},"#
        + #""new":{"id":1,"name":"x","b":1.5}}],"#
        + #""deleted":[{"id":2,"name":"B\n","b":{"blob":"AP8Q"}}]}"#)
    tool.signal(SIGINT)
    #expect(await tool.errorLine() == "tandem: 2 differences: 2 inserted, 1 updated, 1 deleted")
    #expect(await tool.errorLine() == nil)
    #expect(await tool.line() == nil)
    #expect(await tool.end() == 0)
  }

  @Test("--initial begins with the rows that are there, also when there are none")
  func initial() async throws {
    let empty = try await Tool.run([
      "watch", database.path, "--initial", "--json", "--once", "1", "--quiet",
    ])
    #expect(empty.output == #"{"inserted":[],"updated":[],"deleted":[]}"# + "\n")
    #expect(empty.status == 0 && empty.error.isEmpty)
    try await database.execute("INSERT INTO place (id) VALUES (7)")
    let tool = try await database.watch("--initial", "--json", "--once", "2")
    #expect(
      await tool.line()
        == #"{"inserted":[{"id":7,"name":null,"b":null}],"updated":[],"deleted":[]}"#)
    try await database.execute("DELETE FROM place")
    #expect(
      await tool.line()
        == #"{"inserted":[],"updated":[],"deleted":[{"id":7,"name":null,"b":null}]}"#)
    #expect(await tool.end() == 0)
  }

  @Test("for people, a line per row, without colours where nobody looks")
  func text() async throws {
    let tool = try await database.watch("--table", "place")
    try await database.execute("INSERT INTO place VALUES (1, 'a', x'00')")
    #expect(await tool.line() == #"+ id=1  name="a"  b={"blob":"AA=="}"#)
    try await database.execute("UPDATE place SET name = 'b'")
    #expect(await tool.line() == #"~ id=1  name: "a" → "b""#)
    try await database.execute("DELETE FROM place")
    #expect(await tool.line() == #"- id=1  name="b"  b={"blob":"AA=="}"#)
    tool.signal(SIGTERM)
    #expect(await tool.errorLine() == "tandem: 3 differences: 1 inserted, 1 updated, 1 deleted")
    #expect(await tool.end() == 0)
  }

  @Test("on a terminal, the lines are coloured, unless NO_COLOR is set")
  func colours() async throws {
    try await database.execute("INSERT INTO place (id) VALUES (1)")
    let watch = "$tandem watch places.db --initial --once 1 -q"
    // Python has a terminal to offer.
    let terminal = "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])'"
    let colored = try await Tool.shell(
      "NO_COLOR= TERM=xterm \(terminal) \(watch) </dev/null", in: database.folder)
    #expect(colored.output.contains("\u{1B}[32m+ id=1\u{1B}[0m"), "\(colored)")
    let plain = try await Tool.shell(
      "NO_COLOR=1 TERM=xterm \(terminal) \(watch) </dev/null", in: database.folder)
    #expect(plain.output.contains("+ id=1") && !plain.output.contains("\u{1B}"), "\(plain)")
  }

  @Test("--list shows positions and moves in the order of the query")
  func list() async throws {
    try await database.execute("INSERT INTO place VALUES (1, 'a', 0), (2, 'b', 0), (3, 'c', 0)")
    let query = "SELECT id, name FROM place ORDER BY name"
    let tool = try await database.watch("--query", query, "--key", "id", "--list")
    let json = try await database.watch(
      "--query", query, "--key", "id", "--list", "--json", "--initial")
    #expect(
      await json.line()
        == #"{"deletions":[],"insertions":[{"offset":0,"element":{"id":1,"name":"a"}},"#
        + #"{"offset":1,"element":{"id":2,"name":"b"}},{"offset":2,"element":{"id":3,"name":"c"}}],"#
        + #""moves":[],"updates":[]}"#)
    try await database.execute(
      """
      BEGIN; UPDATE place SET name = 'd' WHERE id = 1; DELETE FROM place WHERE id = 2;
      INSERT INTO place VALUES (4, 'e', 0); COMMIT
      """)
    var lines: [String] = []
    while lines.count < 4, let line = await tool.line() { lines.append(line) }
    #expect(
      lines == [
        #"[1] - id=2  name="b""#, "[0] > id=3  2 → 0", #"[1] ~ id=1  name: "a" → "d""#,
        #"[2] + id=4  name="e""#,
      ])
    #expect(
      await json.line() == #"{"deletions":[{"offset":1,"element":{"id":2,"name":"b"}}],"#
        + #""insertions":[{"offset":2,"element":{"id":4,"name":"e"}}],"moves":[{"from":2,"to":0}],"#
        + #""updates":[{"oldOffset":0,"newOffset":1,"old":{"id":1,"name":"a"},"#
        + #""new":{"id":1,"name":"d"}}]}"#)
    for running in [tool, json] {
      running.signal(SIGINT)
      #expect(await running.end() == 0)
    }
  }

  @Test("a query of several tables shows its own rows, by the key that is named")
  func query() async throws {
    try await database.execute(
      "CREATE TABLE visit (place INT); INSERT INTO place VALUES (1, 'a', 0)")
    let tool = try await database.watch(
      "--query",
      "SELECT name, count(visit.rowid) AS n FROM place LEFT JOIN visit ON place = id "
        + "GROUP BY id", "--key", "NAME", "--json", "--once", "1")
    try await database.execute("INSERT INTO visit VALUES (1)")
    #expect(
      await tool.line() == #"{"inserted":[],"updated":[{"old":{"name":"a","n":0},"#
        + #""new":{"name":"a","n":1}}],"deleted":[]}"#)
    #expect(await tool.end() == 0)
  }

  @Test("what Python writes is shown, one commit after another")
  func python() async throws {
    let tool = try await database.watch("--json", "--once", "3")
    for id in 1...3 {
      let result = try await Tool.shell(
        """
        python3 -c 'import sqlite3; c = sqlite3.connect("places.db"); \
        c.execute("INSERT INTO place (id) VALUES (\(id))"); c.commit()'
        """, in: database.folder)
      #expect(result.status == 0, "\(result.error)")
      #expect(
        await tool.line()
          == #"{"inserted":[{"id":\#(id),"name":null,"b":null}],"updated":[],"deleted":[]}"#)
    }
    #expect(await tool.errorLine() == "tandem: 3 differences: 3 inserted, 0 updated, 0 deleted")
    #expect(await tool.end() == 0)
  }
}
