import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: what it writes and says", .timeLimit(.minutes(20)))
struct MirrorCommandTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// One list in each format.
  static let lists: [RecordFormat: String] = [
    .json: #"[{"id":2,"name":"Büsingen","area":7.62},{"id":1,"name":"Jungholz","area":null}]"#,
    .ndjson: """
    {"id":2,"name":"Büsingen","area":7.62}
    {"id":1,"name":"Jungholz","area":null}

    """,
    .csv: "id,name,area\n2,Büsingen,7.62\n1,Jungholz,\n",
    .tsv: "id\tname\tarea\n2\tBüsingen\t7.62\n1\tJungholz\t\n",
  ]

  /// Mirrors into `places.db`, table `place`, by `id`.
  func mirror(
    _ source: String, _ options: String..., input: String = ""
  ) async throws -> Tool.Result {
    try await mirror(source, options, input: input)
  }

  func mirror(_ source: String, _ options: [String], input: String) async throws -> Tool.Result {
    let database = folder.path(of: "places.db")
    return try await Tool.run(
      ["mirror", source, database, "--table", "place", "--key", "id"] + options, input: input)
  }

  func places() throws -> [String] { try folder.rows("places.db", "SELECT * FROM place") }

  /// Mirrors the list in a format, from a source.
  private func mirror(_ format: RecordFormat, from source: String) async throws -> Tool.Result {
    let list = try #require(Self.lists[format])
    switch source {
    case "file": return try await mirror(folder.write(list, to: "list.\(format.rawValue)"))
    case "input": return try await mirror("-", input: list)
    case "named input": return try await mirror("-", "--format", format.rawValue, input: list)
    default:
      let types: [RecordFormat: String] = [
        .json: "application/json; charset=utf-8", .ndjson: "application/x-ndjson", .csv: "text/csv",
        .tsv: "text/tab-separated-values",
      ]
      let type = source == "typed url" ? types[format] : nil
      return try await withServer { _, connection in
        connection.respond(200, type.map { ["Content-Type": $0] } ?? [:], Array(list.utf8))
      } test: { server in
        try await mirror(server.url + "/list?page=1")
      }
    }
  }

  static let namedSources = RecordFormat.allCases.flatMap { format in
    ["file", "input", "named input", "url", "typed url"].map { (format, $0) }
  }.filter { $0 != (.tsv, "input") && $0 != (.tsv, "url") }

  @Test("a list becomes a table, from a file, standard input or a URL", arguments: namedSources)
  func sources(format: RecordFormat, source: String) async throws {
    let result = try await mirror(format, from: source)
    #expect(result.status == 0 && result.error.isEmpty)
    let types = format.isCSV ? " (id INTEGER, name TEXT, area REAL)" : ""
    #expect(
      result.output == """
        + id=1  name="Jungholz"
        + id=2  name="Büsingen"  area=7.62
        2 inserted, 0 updated, 0 deleted; table place created\(types)

        """)
    #expect(try places() == [#"1|"Jungholz"|null"#, #"2|"Büsingen"|7.62"#])
  }

  @Test(
    "tabs are not guessed: a TSV without a name or type is refused with --delimiter tab",
    arguments: ["input", "url"])
  func unnamedTabs(source: String) async throws {
    let result = try await mirror(.tsv, from: source)
    #expect(result.error.contains("--delimiter tab"), "\(result.error)")
  }

  @Test("columns get the narrowest type that keeps all values")
  func columnTypes() async throws {
    let list = """
      [{"id":"a","whole":1,"real":1.5,"both":1,"text":"x","any":1,"wide":9007199254740993,"no":null},
       {"id":"b","whole":null,"real":2.5,"both":0.5,"text":"7","any":"x","wide":0.5,"no":null}]
      """
    #expect(try await mirror("-", input: list).status == 0)
    #expect(
      try folder.rows("places.db", "SELECT name, type FROM pragma_table_info('place')") == [
        #""id"|"TEXT""#, #""whole"|"INTEGER""#, #""real"|"REAL""#, #""both"|"REAL""#,
        #""text"|"TEXT""#, #""any"|"""#, #""wide"|"""#, #""no"|"""#,
      ])
    #expect(
      try places() == [
        #""a"|1|1.5|1.0|"x"|1|9007199254740993|null"#,
        #""b"|null|2.5|0.5|"7"|"x"|0.5|null"#,
      ])
  }

  @Test("fields that appear later become columns, and those that vanish become null")
  func changingFields() async throws {
    _ = try await mirror("-", input: #"[{"id":1,"a":1}]"#)
    let more = try await mirror("-", input: #"[{"id":1,"a":1,"b":"x"},{"id":2,"c":0.5}]"#)
    #expect(
      more.output == """
        ~ id=1  b: null → "x"
        + id=2  c=0.5
        1 inserted, 1 updated, 0 deleted; columns added: b, c

        """)
    #expect(try places() == [#"1|1|"x"|null"#, #"2|null|null|0.5"#])
    let less = try await mirror("-", input: #"[{"id":1,"a":1},{"id":2,"c":0.5}]"#)
    #expect(less.output.hasSuffix("0 inserted, 1 updated, 0 deleted\n"))
    #expect(try places() == [#"1|1|null|null"#, #"2|null|null|0.5"#])
  }

  @Test("--json prints the difference as one object, each kind ascending by key")
  func json() async throws {
    let old = #"[{"id":9,"n":"i"},{"id":5,"n":"e"},{"id":10,"n":"j"},{"id":2,"n":"b"}]"#
    let first = try await mirror("-", "--json", input: old)
    #expect(
      first.output
        == #"{"inserted":[{"id":2,"n":"b"},{"id":5,"n":"e"},{"id":9,"n":"i"},{"id":10,"n":"j"}],"#
        + #""updated":[],"deleted":[]}"# + "\n")
    let new = #"[{"id":30,"n":"z"},{"id":10,"n":"J"},{"id":9,"n":"I"},{"id":3,"n":"c"}]"#
    let second = try await mirror("-", "--json", input: new)
    #expect(
      second.output
        == #"{"inserted":[{"id":3,"n":"c"},{"id":30,"n":"z"}],"#
        + #""updated":[{"old":{"id":9,"n":"i"},"new":{"id":9,"n":"I"}},"#
        + #"{"old":{"id":10,"n":"j"},"new":{"id":10,"n":"J"}}],"#
        + #""deleted":[{"id":2,"n":"b"},{"id":5,"n":"e"}]}"# + "\n")
  }

  @Test("lines show deletions, updates field by field, insertions, and how many there were")
  func lines() async throws {
    _ = try await mirror("-", input: #"[{"id":1,"a":"x","b":1},{"id":2,"a":"y","b":2}]"#)
    let result = try await mirror(
      "-", input: #"[{"id":1,"a":"tab\t","b":1},{"id":3,"a":null,"b":3}]"#)
    #expect(
      result.output == """
        - id=2  a="y"  b=2
        ~ id=1  a: "x" → "tab\\t"
        + id=3  b=3
        1 inserted, 1 updated, 1 deleted

        """)
  }

  @Test("control characters of a list do not reach the terminal")
  func controlCharacters() async throws {
    let result = try await mirror("-", input: #"[{"id":1,"\u001b[2J\n":"\u009b2J\u007f"}]"#)
    #expect(result.output.contains(#"\u001b[2J\u000a="\u009b2J\u007f""#))
    let turned = try await mirror(
      "-",
      input: #"[{"id":1,"\u202e\u2066\u2028":"\u202a\u2069\u2029\u0085"}]"#)
    #expect(turned.output.contains(#"\u202e\u2066\u2028: null → "\u202a\u2069\u2029\u0085""#))
    let refused = try await mirror("-", input: #"[{"id":2,"a\u001b":1,"A\u001b":1}]"#)
    #expect(refused.status == 1 && refused.error.contains(#"\u001b"#))
    #expect(
      (result.output + result.error + refused.error).unicodeScalars
        .allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
  }

  @Test("--dry-run shows what would be done and writes nothing")
  func dryRun() async throws {
    let list = try #require(Self.lists[.json])
    let first = try await mirror("-", "--dry-run", input: list)
    #expect(first.status == 0)
    #expect(
      first.output.hasSuffix(
        "dry run: 2 inserted, 0 updated, 0 deleted; table place would be created\n"))
    #expect(try folder.contents().isEmpty)

    _ = try await mirror("-", input: list)
    let before = try folder.contents()
    let second = try await mirror("-", "-n", input: #"[{"id":1,"name":"J","area":null,"new":1}]"#)
    #expect(
      second.output == """
        - id=2  name="Büsingen"  area=7.62
        ~ id=1  name: "Jungholz" → "J"  new: null → 1
        dry run: 0 inserted, 1 updated, 1 deleted; columns would be added: new

        """)
    #expect(try folder.contents() == before)
  }

  @Test("a dry run leaves a file without write-ahead logging as it is")
  func dryRunOfPlainFile() async throws {
    try folder.execute("places.db", "CREATE TABLE place (id)", "PRAGMA journal_mode=DELETE")
    let before = try folder.contents()
    #expect(try await mirror("-", "--dry-run", input: #"[{"id":1}]"#).status == 0)
    #expect(try folder.contents() == before)
  }

  @Test("a file without write-ahead logging is left alone by a run that finds nothing to do")
  func nothingNewInPlainFile() async throws {
    let list = try folder.write(#require(Self.lists[.csv]), to: "list.csv")
    _ = try await mirror(list)
    try folder.execute("places.db", "PRAGMA journal_mode=DELETE")
    let before = try folder.contents()
    #expect(before["places.db-wal"] == nil)
    #expect(try await mirror(list).output == "0 inserted, 0 updated, 0 deleted\n")
    #expect(try folder.contents() == before)
    _ = try await mirror("-", input: "id,name,area\n1,Jungholz,7\n")
    #expect(try folder.contents() != before)
  }

  @Test("of many changes 100 are shown, or all with --all, or none with --quiet")
  func howMuchIsShown() async throws {
    let ids = 1...250
    let list = "id\n" + ids.map { "\($0)\n" }.joined()
    let some = try await mirror("-", "-n", input: list)
    #expect(some.output.split(separator: "\n").count == 102)
    #expect(
      some.output.contains("\n+ id=100\n… and 150 more changes (show them with --all or --json)\n"))
    let all = try await mirror("-", "-n", "--all", input: list)
    #expect(all.output.hasPrefix(ids.map { "+ id=\($0)\n" }.joined()))
    let none = try await mirror("-", "--quiet", input: list)
    #expect(none.status == 0 && none.output.isEmpty && none.error.isEmpty)
    #expect(try places().count == 250)
  }

  @Test("output that cannot be written is an error that tells what was done")
  func lostOutput() async throws {
    try folder.write("id\n1\n", to: "list.csv")
    let result = try await Tool.shell(
      "$tandem mirror list.csv places.db --table place --key id >&-", in: folder)
    #expect(result.status == 1)
    #expect(
      result.error == "tandem: cannot write output: Bad file descriptor"
        + "; the table equals the list nevertheless\n")
    #expect(try places() == ["1"])
    let dry = try await Tool.shell(
      "$tandem mirror list.csv none.db --table place --key id -n >&-", in: folder)
    #expect(dry.status == 1 && dry.error.hasSuffix("Bad file descriptor\n"))
  }

  @Test("a full disk under the output is an error, however little there is to say")
  func fullDisk() async throws {
    try folder.write("id\n1\n", to: "list.csv")
    for (option, database) in [("--json", "a.db"), ("", "b.db"), ("--json", "a.db")] {
      let result = try await Tool.shell(
        "$tandem mirror list.csv \(database) --table place --key id \(option) >/dev/full",
        in: folder)
      #expect(result.status == 1)
      #expect(result.error.contains("cannot write output: No space left on device"))
      #expect(try folder.rows(database, "SELECT id FROM place") == ["1"])
    }
    let contents = try await Tool.shell(
      "$tandem mirror list.csv c.db --table place --key id --content x --into c --json >/dev/full",
      in: folder)
    #expect(contents.status == 1)
    #expect(contents.error.contains("cannot write output: No space left on device"))
  }

  @Test("a second run with nothing new writes nothing")
  func nothingNew() async throws {
    let list = try folder.write(#require(Self.lists[.csv]), to: "list.csv")
    _ = try await mirror(list)
    let before = try folder.contents()
    let observer = try DatabaseConnection(path: folder.path(of: "places.db"))
    let version = try observer.integer("PRAGMA data_version")
    let result = try await mirror(list)
    #expect(result.output == "0 inserted, 0 updated, 0 deleted\n")
    #expect(try observer.integer("PRAGMA data_version") == version)
    #expect(try folder.contents()["places.db"] == before["places.db"])
    try folder.write("id,name,area\n2,Büsingen,7.62\n", to: "list.csv")
    _ = try await mirror(list)
    #expect(try observer.integer("PRAGMA data_version") != version)
  }

  @Test("cells of CSV stay as they are in a column of texts, though all of them may be numbers")
  func textColumns() async throws {
    let database = try DatabaseConnection(path: folder.path(of: "places.db"))
    try database.execute("CREATE TABLE place (id TEXT PRIMARY KEY, Version VARCHAR(9), area)")
    let list = try folder.write("id,version,area\n1e5,1.10,2.50\n007,1.0,\n", to: "list.csv")
    let plan = try await mirror(list, "--dry-run").output
    #expect(plan.contains(#"+ id="1e5"  Version="1.10"  area=2.5"#), "\(plan)")
    for changes in ["2 inserted", "0 inserted"] {
      #expect(try await mirror(list).output.hasSuffix("\(changes), 0 updated, 0 deleted\n"))
      #expect(try places() == [#""007"|"1.0"|null"#, #""1e5"|"1.10"|2.5"#])
      for sides in [[list, folder.path(of: "places.db")], [folder.path(of: "places.db"), list]] {
        let difference = try await Tool.run(["diff"] + sides)
        #expect(difference.status == 0 && difference.output.isEmpty, "\(difference)")
      }
    }
    try folder.write("id,version,area\n1e5,1.1,2.5\n007,1.0,\n", to: "list.csv")
    #expect(try await mirror(list).output.hasSuffix("0 inserted, 1 updated, 0 deleted\n"))
    #expect(try places() == [#""007"|"1.0"|null"#, #""1e5"|"1.1"|2.5"#])
  }

  @Test("--type gives a new column its type, and must agree with the table")
  func types() async throws {
    let list = "id,name,code\n1,5,1\n2,x,2\n"
    let options = ["--format", "csv", "--type", "code=text", "--type", "name=ANY"]
    let plan = try await mirror("-", options + ["-n"], input: list)
    #expect(
      plan.output.hasSuffix(
        "; table place would be created (id INTEGER, name ANY, code TEXT)\n"), "\(plan)")
    #expect(try await mirror("-", options, input: list).status == 0)
    #expect(try places() == [#"1|5|"1""#, #"2|"x"|"2""#])
    let more = try await mirror(
      "-", options + ["--type", "b=REAL"], input: "id,name,code,b\n1,5,1,2\n2,x,2,\n")
    #expect(more.output.hasSuffix("0 deleted; columns added: b REAL\n"), "\(more)")
    let other = try await mirror("-", ["--type", "code=INTEGER"], input: list)
    #expect(
      other.status == 1
        && other.error.contains("column code of place has the type TEXT, not INTEGER"), "\(other)")
    for type in ["code", "=TEXT", "code=", "code=NUMBER", "code=BLOB"] {
      #expect(try await mirror("-", ["--type", type], input: list).status == 2)
    }
    let twice = try await mirror("-", ["--type", "a=TEXT", "--type", "a=REAL"], input: list)
    #expect(twice.status == 2 && twice.error.contains("twice"))
  }

  @Test("readers see the old list until they look again, never a mixture")
  func readers() async throws {
    let old = "id,list\n" + (1...1_000).map { "\($0),old\n" }.joined()
    let new = "id,list\n" + (501...1_500).map { "\($0),new\n" }.joined()
    _ = try await mirror("-", input: old)
    let reader = try DatabaseConnection(path: folder.path(of: "places.db"), access: .readOnly)
    let state = "SELECT count(*), min(id), max(id), min(list), max(list) FROM place"
    try reader.execute("BEGIN")
    #expect(try reader.rows(state) == [#"1000|1|1000|"old"|"old""#])
    #expect(try await mirror("-", input: new).status == 0)
    #expect(try reader.rows(state) == [#"1000|1|1000|"old"|"old""#])
    try reader.execute("COMMIT")
    #expect(try reader.rows(state) == [#"1000|501|1500|"new"|"new""#])
  }
}
