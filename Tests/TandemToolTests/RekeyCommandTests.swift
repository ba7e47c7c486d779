import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import TestTool
import Testing

@Suite("tandem rekey", .timeLimit(.minutes(20)))
struct RekeyCommandTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func prepare() async throws {
    try await shell(
      """
      sqlite3 a.db "CREATE TABLE list (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
        CREATE TABLE item (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES list, title TEXT);
        CREATE TABLE note (list_id INTEGER);
        INSERT INTO list VALUES (1, 'Food'), (2, 'Work'); INSERT INTO item VALUES (1, 2, 'x')"
      """)
  }

  @Test("the report names what changes, and what to look at; --json says the same")
  func reports() async throws {
    try await prepare()
    let dry = try await shell(
      "cp a.db b.db; $tandem rekey a.db --table list --text -n && cmp a.db b.db")
    let text = """
      tandem: a.db: the key id of list would change: it is a random text
      tandem: a.db: item.list_id follows the key of list
      tandem: a.db: note.list_id has the name of a reference to list, but no foreign key: it keeps its \
      numbers, which are the rowids of list until VACUUM
      tandem: a.db: programs that hold numbers of these keys must change

      """
    #expect(dry.error == text)
    // What is printed does the same.
    try folder.write(dry.output, to: "rekey.sql")
    try await shell("sqlite3 b.db <rekey.sql")
    let json = try await shell("$tandem rekey a.db --table list --text --json")
    #expect(
      json.output
        == #"{"tables":[{"table":"list","key":"id"}],"references":[{"table":"item","column":"list_id","#
        + #""parent":"list"}],"notes":["note.list_id has the name of a reference to list, but no foreign "#
        + #"key: it keeps its numbers, which are the rowids of list until VACUUM"]}"# + "\n")
    let state = """
      SELECT length(list.id), name, title FROM list LEFT JOIN item ON list_id = list.id ORDER BY name;
      SELECT replace(sql, ' ', '') FROM sqlite_schema WHERE name <> 'sqlite_sequence';
      """
    let states = try await shell(
      "for f in a b; do sqlite3 $f.db \"\(state)\" >$f; done; cmp a b; cat a")
    #expect(states.output.hasPrefix("36|Food|\n36|Work|x\n"))
    let number = try await shell(
      "$tandem rekey a.db --table item --autoincrement -n >n.sql && sqlite3 a.db <n.sql && "
        + "$tandem rekey a.db --table item --autoincrement; sqlite3 a.db 'SELECT * FROM sqlite_sequence'"
    )
    #expect(
      number.error.hasSuffix("tandem: a.db: item has AUTOINCREMENT already\n"), "\(number.error)")
    #expect(number.output == "item|1\n")
  }

  @Test("mistakes, tables that are not there, spaces and files in use are refused; nothing changes")
  func refusals() async throws {
    try await prepare()
    let choice = "give one of: --autoincrement or --text"
    for (options, words, status) in [
      ("--table list", choice, 2), ("--table list --text --autoincrement", choice, 2),
      ("--text", "--table is missing", 2), ("--table lst --text", "did you mean list?", 1),
      ("--table list --text --json --quiet", "leave one of them out", 2),
    ] as [(String, String, Int32)] {
      let result = try await shell("$tandem rekey a.db \(options)", status: status)
      #expect(result.error.contains(words), "\(result.error)")
    }
    let busy = try await shell(
      """
      cp a.db before.db; mkfifo in
      command sqlite3 a.db <in >/dev/null & exec 3>in
      echo "BEGIN IMMEDIATE; CREATE TABLE lock (x);" >&3
      until ! command sqlite3 a.db 'BEGIN IMMEDIATE' 2>/dev/null; do :; done
      $tandem rekey a.db --table list --text; status=$?
      echo 'ROLLBACK;' >&3; exec 3>&-; wait; cmp a.db before.db || exit 9; exit $status
      """, status: 1)
    #expect(busy.error.contains("locked"), "\(busy.error)")
    let attached = try await shell(
      """
      sqlite3 a.db 'CREATE TABLE page (id TEXT PRIMARY KEY, list INTEGER REFERENCES list)'
      $tandem attach -q a.db --space s.space --table page && $tandem sync -q a.db
      $tandem rekey a.db --table list --text
      """, status: 1)
    #expect(attached.error.contains("page is synchronized"), "\(attached.error)")
    let space = try await shell("$tandem rekey s.space --table record --text", status: 1)
    #expect(space.error.contains("it is a space"), "\(space.error)")
  }

  @Test("after rekey --text in one file, copies of it synchronize and mix no rows")
  func synchronized() async throws {
    try await prepare()
    try await shell(
      """
      $tandem rekey -q a.db --table list --table item --text && cp a.db b.db
      for f in a b; do $tandem attach -q $f.db --space s.space --table list --table item || exit 3
      done; for f in a b a; do $tandem sync -q $f.db || exit 4; done
      for f in a b; do
        sqlite3 $f.db "INSERT INTO list (name) VALUES ('$f');
          INSERT INTO item (list_id, title) SELECT id, 'of $f' FROM list WHERE name = '$f'"
      done; for f in a b a; do $tandem sync -q $f.db || exit 5; done
      """)
    let states = try await shell(
      """
      for f in a b; do sqlite3 $f.db 'SELECT * FROM list ORDER BY 1; SELECT * FROM item ORDER BY 1;
        PRAGMA foreign_key_check' >$f; done; cmp a b
      sqlite3 a.db "SELECT count(*) FROM list JOIN item ON list_id = list.id WHERE title = 'of ' || name"
      """)
    #expect(states.output == "2\n")
  }

  private static let state = """
    SELECT count(*), count(DISTINCT list.id), sum(CAST(item.v AS INTEGER) = list.v), min(typeof(list.id)), min(typeof(up))
    FROM list JOIN item ON up = list.id
    """
  private static let states = [
    #"60000|20000|60000|"integer"|"integer""#, #"60000|20000|60000|"text"|"text""#,
  ]

  @Test("SIGKILL at any moment leaves the numbers or the texts, in all tables")
  func killed() async throws {
    try await shell(
      """
      sqlite3 whole.db "PRAGMA journal_mode = WAL; CREATE TABLE list (id INTEGER PRIMARY KEY, v);
        CREATE TABLE item (id INTEGER PRIMARY KEY, up INTEGER REFERENCES list, v TEXT UNIQUE);
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 20000)
        INSERT INTO list SELECT i, i FROM c;
        INSERT INTO item (up, v) SELECT id, v || x FROM list, (SELECT '' AS x UNION SELECT '.0'
          UNION SELECT '.5')" >/dev/null
      cp whole.db delete.db; sqlite3 delete.db "PRAGMA journal_mode = DELETE" >/dev/null
      """)
    let clock = ContinuousClock()
    let start = clock.now
    try await shell("cp whole.db t.db; $tandem rekey -q t.db --table list --text; rm t.db*")
    let duration = (clock.now - start) / .seconds(1)
    var outcomes: Set<Int> = []
    for step in 0..<16 {
      let name = "k\(step).db"
      try await shell("cp \(step % 2 == 0 ? "whole" : "delete").db \(name)")
      let tool = try TestProgram([
        Tool.path, "rekey", "-q", folder.path(of: name), "--table", "list", "--text",
      ])
      let pause = duration * Double(step) / 14
      DispatchQueue.global().asyncAfter(deadline: .now() + pause) { tool.send(SIGKILL) }
      if step == 0 { tool.send(SIGKILL) }
      let status = await tool.end()
      let connection = try DatabaseConnection(path: folder.path(of: name))
      #expect(try connection.rows("PRAGMA integrity_check") == [#""ok""#])
      #expect(try connection.rows("PRAGMA foreign_key_check") == [] as [String])
      let state = try #require(try connection.rows(Self.state).first)
      let found = try #require(Self.states.firstIndex(of: state), "a mixture: \(state)")
      #expect(status != 0 || found == 1, "a run that says it is done is")
      #expect(
        try connection.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'tandem%'") == ["0"]
      )
      outcomes.insert(found)
    }
    #expect(outcomes.contains(0))
  }
}
