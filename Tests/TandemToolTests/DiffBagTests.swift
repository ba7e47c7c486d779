import TestFolder
import TestTool
import Testing

@Suite("tandem diff and mirror: lists without a plain key", .timeLimit(.minutes(20)))
struct DiffBagTests: ShellSuite {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("lists without a key are compared as bags of rows, if --no-key says so")
  func bags() async throws {
    try folder.write("a,b\n1,x\n1,x\n2,y\n", to: "old.csv")
    try folder.write("a,b\n2,y\n1,x\n3,z\n", to: "new.csv")
    try folder.write(#"[{"a":2,"b":"y"},{"a":1,"b":"x"},{"a":3,"b":"z"}]"#, to: "new.json")
    for new in ["new.csv", "new.json"] {
      let refusal = try await shell("$tandem diff old.csv \(new)", status: 2)
      #expect(refusal.error.contains("--key, or compare whole records with --no-key"), "\(refusal)")
      let result = try await shell("$tandem diff --no-key old.csv \(new)", status: 1)
      let (one, three) = new == "new.csv" ? (#""1""#, #""3""#) : ("1", "3")
      #expect(
        result.output.hasSuffix("- a=\(one)  b=\"x\"\n+ a=\(three)  b=\"z\"\n"), "\(result)")
    }
    try await shell(
      "$tandem diff --no-key new.csv new.json && $tandem diff --no-key old.csv old.csv")
    try await shell("$tandem diff --no-key old.csv /dev/null", status: 1)
    try folder.write("id,a\n1,x\n1,x\n", to: "twice.csv")
    try await shell("$tandem diff twice.csv twice.csv", status: 2)
    try await shell("$tandem diff --no-key twice.csv twice.csv")
    for options in ["--key a", "--list"] {
      try await shell("$tandem diff --no-key \(options) old.csv new.csv", status: 2)
    }
  }

  @Test("a key may have a comma in its name, an empty cell, or be in an object")
  func keys() async throws {
    try folder.write("\"Name, first\",Year\nAda,\nAda,1843\n", to: "old.csv")
    try folder.write("\"Name, first\",Year\nAda,1843\nAda,\n", to: "new.csv")
    try await shell(#"$tandem diff old.csv new.csv --key '"Name, first",Year'"#)
    try await shell(
      #"$tandem mirror old.csv a.db --table t --key '"Name, first",Year' && sqlite3 a.db 'SELECT count(*) FROM t'"#
    )
    let again = try await shell(
      #"$tandem mirror new.csv a.db --table t --key '"Name, first",Year'"#)
    #expect(again.output == "0 inserted, 0 updated, 0 deleted\n")
    let features = #"{"type":"FeatureCollection","features":[{"properties":{"code":"AD"},"n":1}]}"#
    try folder.write(features, to: "old.json")
    try folder.write(features.replacing("\"n\":1", with: "\"n\":2"), to: "new.json")
    let options = "--items features --key properties.code"
    let difference = try await shell("$tandem diff old.json new.json \(options)", status: 1)
    #expect(difference.output.hasSuffix("~ properties.code=\"AD\"  n: 1 → 2\n"), "\(difference)")
    try await shell("$tandem mirror old.json b.db --table t \(options)")
    let update = try await shell("$tandem mirror new.json b.db --table t \(options)")
    #expect(update.output.hasSuffix("0 inserted, 1 updated, 0 deleted\n"), "\(update)")
  }

  @Test("an object of objects is a list, with the name of each member in the field key")
  func members() async throws {
    try folder.write(#"{"b":{"n":2},"a":{"n":1}}"#, to: "old.json")
    try folder.write(#"{"a":{"n":1},"b":{"n":3}}"#, to: "new.json")
    let result = try await shell("$tandem diff old.json new.json --items '*' --key key", status: 1)
    #expect(result.output.hasSuffix("~ key=\"b\"  n: 2 → 3\n"), "\(result)")
    try await shell("$tandem mirror old.json a.db --table t --items '*' --key key")
    #expect(try folder.rows("a.db", "SELECT key, n FROM t ORDER BY 1") == [#""a"|1"#, #""b"|2"#])
  }

  @Test("mirror --no-key makes a table equal as a bag, or says why not")
  func mirroredBag() async throws {
    try folder.write("a,b\n1,x\n1,x\n2,\n", to: "list.csv")
    let mirror = "$tandem mirror list.csv a.db --table t --no-key"
    let first = try await shell(mirror)
    #expect(
      first.output.hasSuffix(
        "3 inserted, 0 updated, 0 deleted; table t created (a INTEGER, b TEXT)\n"), "\(first)")
    #expect(try await shell(mirror).output == "0 inserted, 0 updated, 0 deleted\n")
    try folder.write("a,b\n3,\n1,x\n2,\n2,\n", to: "list.csv")
    #expect(
      try await shell(mirror).output
        == "- a=1  b=\"x\"\n+ a=3\n+ a=2\n2 inserted, 0 updated, 1 deleted\n")
    #expect(
      try folder.rows("a.db", "SELECT a, b FROM t ORDER BY a, b") == [
        #"1|"x""#, "2|null", "2|null", "3|null",
      ])
    try await shell("$tandem mirror a.db --table t b.db --no-key && $tandem diff a.db b.db")
    for (statement, reason) in [
      ("ALTER TABLE t ADD COLUMN note", "it has the column note"),
      ("DROP TABLE t; CREATE TABLE t (a INTEGER PRIMARY KEY, b)", "has the primary key a"),
    ] {
      try await shell("sqlite3 a.db '\(statement)'")
      let refusal = try await shell(mirror, status: 1)
      #expect(refusal.error.contains(reason), "\(refusal)")
    }
    for options in ["--key a", "--content a --into d"] {
      try await shell("\(mirror) \(options)", status: 2)
    }
  }
}
