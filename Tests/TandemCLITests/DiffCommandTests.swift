import Tandem
import TestFolder
import TestHTTPServer
import Testing

@Suite("tandem diff", .timeLimit(.minutes(5)))
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
    #expect(
      lines.output == """
        - id=2  name="007"  count=1
        ~ id=3  name: "x y" → "x,y"
        + id=4  name="new"

        """)
    let json = try await diff(old, new, "--json")
    #expect(json.status == 1 && json.error.isEmpty)
    #expect(
      json.output == #"{"inserted":[{"id":4,"name":"new","area":null,"count":null}],"#
        + #""updated":[{"old":{"id":3,"name":"x y","area":0.5,"count":2},"#
        + #""new":{"id":3,"name":"x,y","area":0.5,"count":2}}],"#
        + #""deleted":[{"id":2,"name":"007","area":null,"count":1}]}"# + "\n")
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
    #expect(byPrimaryKey.output == #"~ code="x" land="AT"  n: 2 → 3"# + "\n")
    let byN = try await diff(folder.path(of: "a.db"), list, "--key", "n")
    #expect(byN.output == "- n=2  code=\"x\"  land=\"AT\"\n+ n=3  code=\"x\"  land=\"AT\"\n")
    let noKey = try await diff(list, list)
    #expect(noKey.status == 2)
    #expect(
      noKey.error.contains("\(list): record 1: the record has no value in the key field \"id\""))
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
    let several = try await diff(path, path)
    #expect(several.status == 2)
    #expect(several.error.contains("a.db has the tables other, place; choose one with --table"))
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
    let noneNamed = try await diff(folder.path(of: "b.db"), path)
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
      let duplicate = try await diff(old, new)
      #expect(duplicate.status == 2)
      #expect(duplicate.error.contains("a.db: two rows of t have the same key 1"))
    }
    try folder.execute("a.db", "UPDATE t SET id = NULL")
    let null = try await diff(path, list)
    #expect(null.status == 2 && null.error.contains("a row of t has no value in the key column id"))
    let format = try await diff(list, list, "--format", "jsn")
    #expect(format.status == 2 && format.error.contains("not 'jsn'; did you mean json?"))
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

  @Test("files are left as they are, with write-ahead logging or without")
  func nothingIsWritten() async throws {
    try folder.execute("a.db", "CREATE TABLE t (id)", "INSERT INTO t VALUES (1)")
    try folder.execute("b.db", "CREATE TABLE t (id)", "PRAGMA journal_mode=DELETE")
    try folder.write("", to: "c.db")
    let before = try folder.contents()
    #expect(
      try await diff(folder.path(of: "a.db"), folder.path(of: "b.db"), "--key", "id").status == 1)
    #expect(try await diff(folder.path(of: "a.db"), folder.path(of: "c.db")).status == 2)
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
