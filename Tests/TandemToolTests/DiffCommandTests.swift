import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem diff", .timeLimit(.minutes(20)))
struct DiffCommandTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let kinds = ["json", "ndjson", "csv", "db"]

  /// The same records in four kinds of files; those of `new` differ in one of each way.
  static func fileText(_ kind: String, isNew: Bool) -> String {
    let rows =
      isNew
      ? [
        ("10", "Büsingen", "7.62", "9007199254740993"), ("3", "x,y", "0.5", "2"),
        ("4", "new", "", ""),
      ]
      : [
        ("10", "Büsingen", "7.62", "9007199254740993"), ("2", "007", "", "1"),
        ("3", "x y", "0.5", "2"),
      ]
    switch kind {
    case "csv":
      return "id,name,area,count\n"
        + rows.map { "\($0.0),\"\($0.1)\",\($0.2),\($0.3)\n" }.joined()
    default:
      let objects = rows.map { row in
        let area = row.2.isEmpty ? "null" : row.2
        let count = row.3.isEmpty ? "null" : row.3
        return #"{"id":\#(row.0),"name":"\#(row.1)","area":\#(area),"count":\#(count)}"#
      }
      return kind == "ndjson"
        ? objects.reversed().joined(separator: "\n") : "[\(objects.joined(separator: ","))]"
    }
  }

  /// Writes such a file; a database is made by a mirror of the list.
  func file(_ kind: String, isNew: Bool) async throws -> String {
    let name = "\(isNew ? "new" : "old").\(kind)"
    if kind != "db" { return try folder.write(Self.fileText(kind, isNew: isNew), to: name) }
    let made = try await Tool.run(
      ["mirror", "-", folder.path(of: name), "--table", "place", "--key", "id"],
      input: Self.fileText("json", isNew: isNew))
    #expect(made.status == 0)
    return folder.path(of: name)
  }

  func diff(_ arguments: String..., input: String = "") async throws -> Tool.Result {
    try await Tool.run(["diff"] + arguments, input: input)
  }

  @Test("the same records are no difference, whatever the formats", arguments: kinds, kinds)
  func same(old: String, new: String) async throws {
    for isNew in [false, true] {
      let result = try await diff(file(old, isNew: isNew), file(new, isNew: isNew))
      #expect(result.status == 0 && result.output.isEmpty && result.error.isEmpty)
    }
  }

  @Test("changed records are the same difference, whatever the formats", arguments: kinds, kinds)
  func different(old: String, new: String) async throws {
    let (old, new) = (try await file(old, isNew: false), try await file(new, isNew: true))
    let lines = try await diff(old, new)
    #expect(lines.status == 1 && lines.error.isEmpty)
    // Two lists of CSV are compared as texts.
    let isText = old.hasSuffix("csv") && new.hasSuffix("csv")
    func typed(_ text: String) -> String {
      isText
        ? text.replacing(/(id"?[:=]|count"?[:=]|area"?:)([0-9.]+)/) {
          "\($0.output.1)\"\($0.output.2)\""
        }
        : text
    }
    #expect(
      lines.output
        == typed(
          """
          --- \(old)
          +++ \(new)
          - id=2  name="007"  count=1
          ~ id=3  name: "x y" → "x,y"
          + id=4  name="new"

          """))
    let json = try await diff(old, new, "--json")
    #expect(json.status == 1 && json.error.isEmpty)
    #expect(
      json.output
        == typed(
          #"{"inserted":[{"id":4,"name":"new","area":null,"count":null}],"#
            + #""updated":[{"old":{"id":3,"name":"x y","area":0.5,"count":2},"#
            + #""new":{"id":3,"name":"x,y","area":0.5,"count":2}}],"#
            + #""deleted":[{"id":2,"name":"007","area":null,"count":1}]}"# + "\n"))
    let quiet = try await diff(old, new, "--quiet")
    #expect(quiet.status == 1 && quiet.output.isEmpty && quiet.error.isEmpty)
  }

  @Test("either side may be standard input or a URL, but only one standard input")
  func places() async throws {
    let old = try await file("db", isNew: false)
    let new = Self.fileText("csv", isNew: true)
    let left = try await diff(old, "-", input: new)
    #expect(left.status == 1 && left.output.contains(#"+ id=4  name="new""#))
    let right = try await diff("-", old, input: new)
    #expect(right.status == 1 && right.output.contains(#"- id=4  name="new""#))
    try await withServer { _, connection in
      connection.respond(200, ["Content-Type": "text/csv"], Array(new.utf8))
    } test: { server in
      let remote = try await diff(server.url, "-", "--quiet", input: new)
      #expect(remote.status == 0)
    }
    let both = try await diff("-", "-", input: new)
    #expect(
      both.status == 2 && both.error.contains("only one of OLD and NEW can be standard input"))
  }

  @Test("the key is the primary key of a table, or else id, unless --key names another")
  func keys() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (n, code TEXT, land TEXT, PRIMARY KEY (land, code)) WITHOUT ROWID",
      "INSERT INTO t VALUES (1, 'x', 'DE'), (2, 'x', 'AT')")
    let list = try folder.write("land,code,n\nDE,x,1\nAT,x,3\n", to: "b.csv")
    let byPrimaryKey = try await diff(folder.path(of: "a.db"), list)
    let names = "--- \(folder.path(of: "a.db"))\n+++ \(list)\n"
    #expect(byPrimaryKey.output == names + #"~ code="x" land="AT"  n: 2 → 3"# + "\n")
    let byN = try await diff(folder.path(of: "a.db"), list, "--key", "n")
    #expect(
      byN.output == names + "- n=2  code=\"x\"  land=\"AT\"\n+ n=3  code=\"x\"  land=\"AT\"\n")
    let noKey = try await diff(list, list)
    #expect(noKey.status == 2)
    #expect(
      noKey.error.contains("\(list): line 1, column 1: the header has no field \"id\""))
    let prose = try folder.write("no list\n", to: "prose.csv")
    let noList = try await diff(prose, "/dev/null")
    #expect(noList.status == 2 && noList.error.contains("the header has no field \"id\""))
    let sameColumn = try await diff(folder.path(of: "a.db"), list, "--key", "n,N")
    #expect(sameColumn.output == byN.output)
    let noColumn = try await diff(folder.path(of: "a.db"), list, "--key", "x")
    #expect(
      noColumn.status == 2 && noColumn.error.contains("table t has no column x to be the key"))
    let noColumns = try await diff(folder.path(of: "a.db"), folder.path(of: "a.db"), "--key", "x")
    #expect(noColumns.status == 2 && noColumns.error.contains("table t has no column x"))
  }

  @Test("the table is the only one, unless --table names one")
  func tables() async throws {
    let path = folder.path(of: "a.db")
    try folder.execute("a.db", "CREATE TABLE place (id)", "INSERT INTO place VALUES (1)")
    #expect(try await diff(path, path).status == 0)
    try folder.execute("a.db", "CREATE TABLE other (id)", "CREATE VIEW pairs AS SELECT 1 AS id")
    let list = try folder.write("id\n1\n", to: "list.csv")
    let several = try await diff(path, list)
    #expect(several.status == 2)
    #expect(several.error.contains("a.db has the tables other, place; choose one with --table"))
    let key = try await diff(path, path, "--key", "id")
    #expect(key.status == 2 && key.error.contains("--key is for one table"))
    #expect(try await diff(path, path, "--table", "PLACE").status == 0)
    #expect(try await diff(path, path, "--table", "pairs").status == 0)
    let misspelt = try await diff(path, path, "--table", "palce")
    #expect(misspelt.status == 2)
    #expect(misspelt.error.contains("there is no table palce; did you mean place?"))
    let far = try await diff(path, path, "--table", "xyzxyz")
    #expect(far.status == 2 && !far.error.contains("did you mean"))
    try folder.execute("b.db", "PRAGMA user_version=1")
    let none = try await diff(folder.path(of: "b.db"), path, "--table", "place")
    #expect(none.status == 2 && none.error.contains("there is no table place"))
    let noneNamed = try await diff(folder.path(of: "b.db"), list)
    #expect(noneNamed.status == 2 && noneNamed.error.contains("b.db: it has no table"))
  }

  @Test("trouble is exit status 2, with the file it is about")
  func trouble() async throws {
    let list = try folder.write("id\n1\n", to: "list.csv")
    let missing = try await diff(list, folder.path(of: "none.csv"))
    #expect(missing.status == 2)
    #expect(missing.error.contains("none.csv: cannot be read: no such file or directory"))
    let broken = try folder.write("[1]", to: "broken.json")
    let unreadable = try await diff(list, broken)
    #expect(unreadable.status == 2 && unreadable.error.contains("broken.json: record 1"))
    let twice = try folder.write("id\n1\n2\n1\n", to: "twice.csv")
    for (old, new) in [(list, twice), (twice, list)] {
      let duplicate = try await diff(old, new)
      #expect(duplicate.status == 2 && duplicate.output.isEmpty)
      #expect(
        duplicate.error.contains("twice.csv: record 3: the records 1 and 3 have the same key"))
    }
    try folder.execute("a.db", "CREATE TABLE t (id)", "INSERT INTO t VALUES (1), (2), (1)")
    let path = folder.path(of: "a.db")
    for (old, new) in [(path, list), (list, path), (path, path)] {
      let duplicate = try await diff(old, new, "--table", "t")
      #expect(duplicate.status == 2)
      #expect(duplicate.error.contains("a.db: two rows of t have the same key 1"))
    }
    try folder.execute("a.db", "UPDATE t SET id = NULL")
    let null = try await diff(path, list)
    #expect(null.status == 2 && null.error.contains("a row of t has no value in the key column id"))
    let format = try await diff(list, list, "--format", "jsn")
    #expect(format.status == 2 && format.error.contains("not 'jsn'; did you mean json?"))
  }

  @Test(
    "rows of a table with a NULL in its primary key are compared as wholes, those of others by key")
  func nullKeys() async throws {
    for name in ["a.db", "b.db"] {
      try folder.execute(
        name, "CREATE TABLE t (id TEXT PRIMARY KEY, v)", "CREATE TABLE u (id TEXT PRIMARY KEY, v)",
        "INSERT INTO t VALUES (NULL, 1), (NULL, 1), ('x', 1)", "INSERT INTO u VALUES ('y', 1)")
    }
    let (old, new) = (folder.path(of: "a.db"), folder.path(of: "b.db"))
    #expect(try await diff(old, new).status == 0)
    try folder.execute(
      "b.db", "UPDATE t SET v = 2 WHERE id = 'x'", "UPDATE u SET v = 2",
      "DELETE FROM t WHERE rowid = 1")
    let both = try await diff(old, new)
    #expect(both.status == 1)
    #expect(
      both.output.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
        == ["---", "+++", "table", "-", "-", "+", "table", "~"])
    for name in ["a.db", "b.db"] { try folder.execute(name, "DROP TABLE u") }
    let one = try await diff(old, new)
    #expect(one.status == 1 && one.output.contains("\ntable t\n"))
  }

  @Test("a list beside a table is compared as the table would store it")
  func affinity() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (id TEXT PRIMARY KEY, real REAL, own)",
      "INSERT INTO t VALUES ('1', 2, NULL), ('02', 1.5, NULL)")
    let list = try folder.write(#"[{"ID":1,"real":2},{"ID":"02","real":1.5}]"#, to: "list.json")
    let result = try await diff(folder.path(of: "a.db"), list)
    #expect(result.status == 0 && result.output.isEmpty)
  }

  @Test("JSON beside JSON differs by JSON's types, and is printed as it was")
  func jsonTypes() async throws {
    let old = try folder.write(
      #"[{"id":1,"v":1},{"id":2,"v":[1,2]},{"id":3},{"id":4,"o":{"a":1,"b":2}}]"#, to: "old.json")
    let new = try folder.write(
      #"{"id":1,"v":true}"# + "\n" + #"{"id":2,"v":"[1,2]"}"# + "\n" + #"{"id":3,"v":null}"# + "\n"
        + #"{"id":4,"o":{"b":2, "a":1}}"#, to: "new.ndjson")
    let lines = try await diff(old, new)
    #expect(
      lines.output == """
        --- \(old)
        +++ \(new)
        ~ id=1  v: 1 → true
        ~ id=2  v: [1,2] → "[1,2]"
        ~ id=3  v: (absent) → null

        """)
    let json = try await diff(old, new, "--json")
    #expect(json.output.contains(#"{"old":{"id":1,"v":1},"new":{"id":1,"v":true}}"#))
  }

  @Test("a list of a URL has the types of JSON too, in all its pages")
  func remoteTypes() async throws {
    let list = try folder.write(#"[{"id":1,"v":false},{"id":2,"v":{"a":1}}]"#, to: "list.json")
    try await withServer { _, connection in
      connection.respond(
        200, ["Content-Type": "application/json"],
        Array(#"[{"v":false,"id":1},{"id":2,"v":{"a":1.0}}]"#.utf8))
    } test: { server in
      let result = try await diff(list, server.url)
      #expect(result.output.contains(#"~ id=2  v: {"a":1} → {"a":1.0}"#), "\(result)")
      #expect(!result.output.contains("id=1"))
    }
  }

  @Test("a new value does not change the others of a CSV column, and neither do quotes")
  func csvTypes() async throws {
    let old = try folder.write("zip,n\n10001,1\n20001,2\n", to: "old.csv")
    let new = try folder.write(
      "\"zip\",\"n\"\n\"10001\",\"1\"\n01234,\"3\"\n\"20001\",\"2.0\"\n", to: "new.csv")
    let result = try await diff(old, new, "--key", "zip")
    #expect(
      result.output == """
        --- \(old)
        +++ \(new)
        ~ zip="20001"  n: "2" → "2.0"
        + zip="01234"  n="3"

        """)
    let columns = try folder.write("zip,n,w\n10001,1,\n20001,2,\n", to: "columns.csv")
    let added = try await diff(old, columns, "--key", "zip")
    #expect(added.status == 1 && added.output.hasSuffix("+ column w\n"), "\(added.output)")
    let json = try await diff(columns, old, "--key", "zip", "--json")
    #expect(
      json.output == #"{"inserted":[],"updated":[],"deleted":[],"#
        + #""columns":{"removed":["w"],"added":[]}}"# + "\n")
    #expect(try await diff(old, columns, "--key", "zip", "-q", "--list").status == 1)
  }

  @Test("CSV of other dialects is read as the options say, and a message names the option")
  func dialects() async throws {
    let old = try folder.write("id;n\n1;a,b\n", to: "old.csv")
    let new = try folder.write("# made by hand\nid\tn\n\n1\ta,b\n2\n", to: "new.tsv")
    let hint = try await diff(old, old)
    #expect(hint.status == 2 && hint.error.contains("--delimiter ';'"), "\(hint.error)")
    #expect(try await diff(old, old, "--delimiter", ";").status == 0)
    let ragged = try await diff(new, new, "--comment", "#")
    #expect(ragged.status == 2 && ragged.error.contains("fewer fields"))
    #expect(try await diff(new, new, "--comment", "#", "--ragged").status == 0)
    let json = try folder.write("[]", to: "list.json")
    for option in [
      ["--delimiter", ";"], ["--ragged"], ["--comment", "#"], ["--encoding", "latin1"],
    ] {
      let result = try await Tool.run(["diff", json, json] + option)
      #expect(result.status == 2 && result.error.contains("is for CSV"))
    }
    let wrong = try await diff(old, old, "--delimiter", "ab")
    #expect(wrong.status == 2 && wrong.error.contains("takes one ASCII character"))
    for option in [["--comment", ","], ["--comment", ";", "--delimiter", ";"]] {
      let same = try await Tool.run(["diff", old, old] + option)
      #expect(same.status == 2 && same.error.contains("--comment names the delimiter"))
    }
  }

  @Test("two databases are compared whole: rows, tables of one only, columns, keys and the rest")
  func databases() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE gone (id INTEGER PRIMARY KEY, n)", "INSERT INTO gone VALUES (1, 'x')",
      "CREATE TABLE same (id INTEGER PRIMARY KEY)", "INSERT INTO same VALUES (1)",
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b)",
      "INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)",
      "CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), ('a'), ('b'), (NULL)",
      "CREATE INDEX t_a ON t (a)", "CREATE VIEW v AS SELECT 1")
    try folder.execute(
      "b.db", "CREATE TABLE same (id INTEGER PRIMARY KEY)", "INSERT INTO same VALUES (1)",
      "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, c)",
      "INSERT INTO t VALUES (1, 'x', NULL), (3, 'z', 3)",
      "CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), (NULL), ('b'), ('b')",
      "CREATE TABLE new (k TEXT PRIMARY KEY)", "INSERT INTO new VALUES ('q')",
      "CREATE INDEX t_a ON t (a, c)")
    let result = try await Tool.shell("$tandem diff a.db b.db", in: folder)
    #expect(result.status == 1 && result.error.isEmpty, "\(result.error)")
    #expect(
      result.output == """
        --- a.db
        +++ b.db
        table gone
        - table gone (id INTEGER, n), key id
        - id=1  n="x"
        table log
        - line="a"
        + line="b"
        table new
        + table new (k TEXT), key k
        + k="q"
        table t
        ~ column a TEXT → INTEGER
        - column b without type
        + column c without type
        ~ id=1  b: 1 → null
        - id=2  a="y"  b=2
        + id=3  a="z"  c=3
        ~ index t_a
        - view v

        """)
    let json = try await Tool.shell("$tandem diff --json a.db b.db", in: folder)
    #expect(json.status == 1)
    #expect(
      json.output.hasPrefix(
        #"{"tables":[{"table":"gone","old":true,"new":false,"columns":[],"declaration":null,"#
          + #""inserted":[],"#),
      "\(json.output)")
    #expect(json.output.contains(#"{"type":"view","name":"v","old":"CREATE VIEW v AS SELECT 1","#))
    #expect(try await Tool.shell("$tandem diff b.db b.db", in: folder).status == 0)
    #expect(try await Tool.shell("$tandem diff -q a.db b.db", in: folder).output.isEmpty)
    let added = try await Tool.shell("$tandem diff /dev/null b.db", in: folder)
    #expect(added.status == 1 && added.output.contains("+ id=3"), "\(added)")
  }

  @Test(
    "what a table declares besides columns and types is compared by tokens",
    arguments: [
      "a UNIQUE", "a NOT NULL", "a CHECK (a > 0)", "a DEFAULT 5", "a REFERENCES t",
      "a COLLATE NOCASE",
      "a AS (id + 1)", "a, UNIQUE (a)", "a, CHECK (a > 0)",
    ])
  func declarations(columns: String) async throws {
    func diff(_ old: String, _ new: String, _ options: String = "") async throws -> Tool.Result {
      for (name, sql) in [("a.db", old), ("b.db", new)] {
        try folder.execute(name, "DROP TABLE IF EXISTS t", "CREATE TABLE \(sql)")
      }
      return try await Tool.shell("$tandem diff a.db b.db \(options)", in: folder)
    }
    let (plain, declared) = (
      "t (id INTEGER PRIMARY KEY, a)", "t (id INTEGER PRIMARY KEY, \(columns))"
    )
    for (old, new) in [
      (plain, declared), (declared, plain), (declared, "\(declared) WITHOUT ROWID"),
      ("t (id INTEGER PRIMARY KEY, a TEXT)", "t (id INTEGER PRIMARY KEY, a TEXT) STRICT"),
    ] {
      let text = try await diff(old, new)
      #expect(text.output == "--- a.db\n+++ b.db\ntable t\n~ declaration\n", "\(old), \(new)")
      #expect(text.status == 1 && text.error.isEmpty, "\(old), \(new): \(text.error)")
      let json = try await diff(old, new, "--json")
      #expect(
        json.output
          == #"{"tables":[{"table":"t","old":true,"new":true,"columns":[],"declaration":{"#
          + #""old":"CREATE TABLE \#(old)","new":"CREATE TABLE \#(new)"},"inserted":[],"#
          + #""updated":[],"deleted":[]}],"objects":[]}"# + "\n")
      #expect(json.status == 1)
    }
    let written = declared.replacing(", a", with: ", \"A\"").replacing(
      ",", with: " , -- a comment, and\n")
    let same = try await diff(declared, written.replacing("INTEGER", with: "integer"))
    #expect(same.status == 0 && same.output.isEmpty && same.error.isEmpty, "\(same)")
    let column = try await diff("t (id INTEGER PRIMARY KEY, a, b INT NOT NULL)", plain)
    #expect(column.output == "--- a.db\n+++ b.db\ntable t\n- column b INT\n", "\(column)")
  }

  @Test(
    "case and bytes count in texts, in the arguments of a virtual table, and beyond ASCII",
    arguments: [
      ("TABLE t (a DEFAULT \"Yes\")", "TABLE t (a DEFAULT \"yes\")"),
      ("TABLE t (a DEFAULT Foo)", "TABLE t (a DEFAULT foo)"),
      ("TABLE t (a DEFAULT '\u{E9}')", "TABLE t (a DEFAULT 'e\u{301}')"),
      ("TABLE t (a CHECK (a <> \"X\"))", "TABLE t (a CHECK (a <> \"x\"))"),
      ("TABLE t (a, CHECK (a <> \"X\"))", "TABLE t (a, CHECK (a <> \"x\"))"),
      ("TABLE t (a, b AS (a || \"X\"))", "TABLE t (a, b AS (a || \"x\"))"),
      ("TABLE t (a REFERENCES É)", "TABLE t (a REFERENCES é)"),
      (
        "VIRTUAL TABLE t USING fts5(a, tokenize='porter')",
        "VIRTUAL TABLE t USING fts5(a, tokenize='trigram')"
      ),
    ])
  func textsOfDeclarations(old: String, new: String) async throws {
    try folder.execute("a.db", "CREATE \(old)")
    try folder.execute("b.db", "CREATE \(new)")
    let result = try await Tool.shell("$tandem diff a.db b.db", in: folder)
    #expect(result.status == 1 && result.output.contains("\n~ declaration\n"), "\(result)")
  }

  @Test("two databases of one table each are compared whole if more than rows differs")
  func databasesOfOneTable() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a)", "INSERT INTO t VALUES (1, 'x')")
    try folder.execute(
      "b.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b INT)",
      "INSERT INTO t VALUES (1, 'x', NULL)", "CREATE INDEX t_a ON t (a)")
    let schema = try await Tool.shell("$tandem diff a.db b.db", in: folder)
    #expect(schema.status == 1 && schema.error.isEmpty, "\(schema.error)")
    #expect(
      schema.output == """
        --- a.db
        +++ b.db
        table t
        + column b INT
        + index t_a

        """)
    let rows = try await Tool.shell("$tandem diff a.db b.db --table t", in: folder)
    #expect(rows.status == 0 && rows.output.isEmpty, "\(rows)")
    try folder.execute("c.db", "CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), ('a')")
    try folder.execute("d.db", "CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), ('b')")
    let log = try await Tool.shell("$tandem diff c.db d.db", in: folder)
    #expect(log.status == 1 && log.error.isEmpty, "\(log.error)")
    #expect(
      log.output == """
        --- c.db
        +++ d.db
        table log
        - line="a"
        + line="b"

        """)
  }

  @Test("without a primary key, the rows of an only table are compared by id if it identifies them")
  func idColumn() async throws {
    func output(_ old: String, _ new: String) async throws -> String {
      for (name, rows) in [("a.db", old), ("b.db", new)] {
        try folder.execute(
          name, "DROP TABLE IF EXISTS t", "CREATE TABLE t (id, v)", "INSERT INTO t VALUES \(rows)")
      }
      let result = try await Tool.shell("$tandem diff a.db b.db", in: folder)
      #expect(result.error.isEmpty && result.status == (result.output.isEmpty ? 0 : 1), "\(result)")
      return result.output
    }
    let names = "--- a.db\n+++ b.db\n"
    #expect(
      try await output("(1, 'x'), (2, 'y')", "(1, 'x'), (2, 'z')")
        == names + "~ id=2  v: \"y\" → \"z\"\n")
    // A row of either table without a value, or with that of another row.
    for (old, new) in [
      ("(1, 'a'), (1, 'b'), (2, 'y')", "(1, 'b'), (1, 'a'), (2, 'z')"),
      ("(1, 'a'), (2, 'y')", "(1, 'a'), (2, 'z'), (2, 'z')"),
      ("(1, 'a'), (NULL, 'y')", "(1, 'a'), (3, 'z')"),
    ] {
      let lines = try await output(old, new)
      #expect(lines.hasPrefix(names + "table t\n- "), "\(lines)")
      #expect(!lines.contains("~") && lines.contains("v=\"y\"") && lines.contains("v=\"z\""))
    }
    #expect(try await output("(1, 'a'), (1, 'a')", "(1, 'a'), (1, 'a')").isEmpty)
  }

  @Test("columns of two tables whose names differ in the case of letters are one column")
  func namesOfColumns() async throws {
    try folder.execute(
      "a.db", "CREATE TABLE t (Id INTEGER PRIMARY KEY, Name, É)", "INSERT INTO t VALUES (1, 'x', 1)"
    )
    try folder.execute(
      "b.db", "CREATE TABLE t (name, id INTEGER PRIMARY KEY, É)", "INSERT INTO t VALUES ('x', 1, 1)"
    )
    for options in ["", "--table t"] {
      let same = try await Tool.shell("$tandem diff a.db b.db \(options)", in: folder)
      #expect(same.status == 0 && same.output.isEmpty, "\(same)")
    }
    try folder.execute("b.db", "UPDATE t SET name = 'y'")
    for options in ["", "--table t"] {
      let changed = try await Tool.shell("$tandem diff a.db b.db \(options)", in: folder)
      #expect(changed.output == "--- a.db\n+++ b.db\n~ id=1  name: \"x\" → \"y\"\n")
    }
    // The fields of lists are different ones.
    let old = try folder.write(#"[{"id":1,"Name":"x"}]"#, to: "old.json")
    let new = try folder.write("id,name\n1,x\n", to: "new.csv")
    let lists = try await diff(old, new)
    #expect(lists.output.hasSuffix(#"~ id=1  Name: "x" → null  name: null → "x""# + "\n"))
  }

  @Test("names and the exit status are those that git needs")
  func labels() async throws {
    try folder.write("id\n1\n", to: "list.csv")
    let result = try await Tool.shell(
      "$tandem diff /dev/null list.csv --exit-zero --label a/x --label b/x", in: folder)
    #expect(result.status == 0)
    #expect(result.output == "--- a/x\n+++ b/x\n+ id=\"1\"\n", "\(result.output)")
    let many = try await Tool.shell(
      "$tandem diff list.csv list.csv --label a --label b --label c", in: folder)
    #expect(many.status == 2)
  }

  @Test("files are left as they are, with write-ahead logging or without")
  func nothingIsWritten() async throws {
    try folder.execute("a.db", "CREATE TABLE t (id)", "INSERT INTO t VALUES (1)")
    try folder.execute("b.db", "CREATE TABLE t (id)", "PRAGMA journal_mode=DELETE")
    try folder.write("", to: "c.db")
    let before = try folder.contents()
    #expect(
      try await diff(folder.path(of: "a.db"), folder.path(of: "b.db"), "--key", "id").status == 1)
    #expect(try await diff(folder.path(of: "a.db"), folder.path(of: "c.db")).status == 1)
    #expect(try folder.contents() == before)
  }

  @Test("either side may be a pipe, whose end is the end of the list")
  func namedPipes() async throws {
    try folder.write(Self.fileText("ndjson", isNew: false), to: "old")
    try folder.write(Self.fileText("ndjson", isNew: true), to: "new")
    let result = try await Tool.shell(
      "mkfifo one two; cat old > one & cat new > two & $tandem diff one two --json; code=$?; wait; exit $code",
      in: folder)
    #expect(result.status == 1 && result.error.isEmpty)
    let plain = try await Tool.shell("$tandem diff old new --json", in: folder)
    #expect(result.output == plain.output && plain.output.contains("new"))
  }

  @Test("a reader that leaves ends the run without a word")
  func closedPipe() async throws {
    let ids = (1...50_000).map { "\($0)\n" }.joined()
    try folder.write("id\n" + ids, to: "many.csv")
    try folder.write("id\n0\n", to: "one.csv")
    for option in ["", "--json"] {
      let result = try await Tool.shell(
        "($tandem diff one.csv many.csv \(option); echo status $? >&2) | head -c 6", in: folder)
      #expect(result.output.count == 6)
      #expect(result.error == "status 141\n")
    }
  }
}
