import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem diff --list and --text", .timeLimit(.minutes(20)))
struct DiffListTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("a list's changes show in its order, with moves")
  func lines() async throws {
    let old = try folder.write(#"[{"id":1},{"id":2,"n":1},{"id":3},{"id":4}]"#, to: "old.json")
    let new = try folder.write("id,n\n4,\n1,\n5,\n2,2\n", to: "new.csv")
    let lines = try await Tool.run(["diff", "--list", old, new])
    #expect(lines.status == 1 && lines.error.isEmpty)
    #expect(
      lines.output
        == "--- \(old)\n+++ \(new)\n- id=3\n> id=4  3 → 0\n+ id=5\n~ id=2  n: 1 → 2\n")
    let json = try await Tool.run(["diff", "--list", "--json", old, new])
    #expect(json.status == 1)
    #expect(
      json.output == #"{"deletions":[{"offset":2,"element":{"id":3}}],"#
        + #""insertions":[{"offset":2,"element":{"id":5,"n":null}}],"moves":[{"from":3,"to":0}],"#
        + #""updates":[{"oldOffset":1,"newOffset":3,"old":{"id":2,"n":1},"new":{"id":2,"n":2}}]}"#
        + "\n")
  }

  @Test("records in another order are a difference for --list alone")
  func order() async throws {
    let old = try folder.write(#"[{"id":1},{"id":2}]"#, to: "old.json")
    let new = try folder.write(#"[{"id":2},{"id":1}]"#, to: "new.json")
    #expect(try await Tool.run(["diff", old, new]).status == 0)
    #expect(try await Tool.run(["diff", "--list", old, new]).status == 1)
    #expect(try await Tool.run(["diff", "--list", old, old]).status == 0)
    for options in [["-q"], ["--quiet"]] {
      let quiet = try await Tool.run(["diff", "--list", old, new] + options)
      #expect(quiet.status == 1 && quiet.output.isEmpty && quiet.error.isEmpty)
    }
  }

  @Test("a unified diff of two texts is what patch applies")
  func text() async throws {
    try folder.write("a\nb\nc", to: "old")
    try folder.write("a\nB\nc\n", to: "new")
    let result = try await Tool.shell("$tandem diff --text old new", in: folder)
    #expect(result.status == 1)
    #expect(
      result.output == "--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n"
        + "\\ No newline at end of file\n+B\n+c\n")
    let same = try await Tool.shell("$tandem diff --text old old", in: folder)
    #expect(same.status == 0 && same.output.isEmpty)
  }

  @Test("files that are not UTF-8 differ, in one line, or not")
  func binaryFiles() async throws {
    _ = try await Tool.shell(
      "printf 'a' >old; printf '\\377' >bad; printf '\\376' >other", in: folder)
    for (names, options, status) in [
      ("old bad", "", 1), ("bad old", "", 1), ("bad other", "", 1), ("bad other", "--exit-zero", 0),
    ] {
      let result = try await Tool.shell("$tandem diff --text \(names) \(options)", in: folder)
      let shown = names.split(separator: " ").joined(separator: " and ")
      #expect(result.output == "Binary files \(shown) differ\n", "\(names)")
      #expect(result.status == status && result.error.isEmpty, "\(names)")
    }
    let same = try await Tool.shell("cp bad copy; $tandem diff --text bad copy", in: folder)
    #expect(same.status == 0 && same.output.isEmpty)
    let quiet = try await Tool.shell("$tandem diff --text -q old bad", in: folder)
    #expect(quiet.status == 1 && quiet.output.isEmpty)
  }

  @Test("what cannot be compared is trouble, not a difference")
  func trouble() async throws {
    try folder.write("a", to: "old")
    for line in [
      "diff --text old missing", "diff --text --list old old", "diff --list old missing",
    ] {
      let result = try await Tool.shell("$tandem \(line)", in: folder)
      #expect(result.status == 2 && !result.error.isEmpty, "\(line)")
    }
    for names in ["old http://127.0.0.1:1/new", "http://127.0.0.1:1/new old"] {
      let url = try await Tool.shell("$tandem diff --text \(names)", in: folder)
      #expect(url.status == 2)
      #expect(url.error.contains("--text takes files: fetch http://127.0.0.1:1/new first"))
    }
  }

  @Test("a file without an end, or longer than the limit, is not read on and on")
  func limits() async throws {
    try folder.write("a", to: "old")
    let path = folder.path(of: "old")
    #expect(try FileText.bytes(of: path, maxByteCount: 1) == [UInt8(ascii: "a")])
    for name in [path, "/dev/zero"] {
      #expect {
        try FileText.bytes(of: name, maxByteCount: 0)
      } throws: {
        "\($0)" == "\(name): cannot be read: it is longer than the limit of 0 bytes"
      }
    }
    let long = try await Tool.shell(
      "truncate -s \(FileText.maxByteCount + 1) long; $tandem diff --text old long; rm long",
      in: folder)
    #expect(long.error.contains("long: cannot be read: it is longer than the limit of 1073741824"))
  }

  @Test("options that would do nothing are refused")
  func unfitOptions() async throws {
    try folder.write("id\n1\n", to: "list.csv")
    try folder.execute("a.db", "CREATE TABLE t (id)", "INSERT INTO t VALUES (1)")
    for (line, words) in [
      ("list.csv list.csv --table t", "--table is for a SQLite file"),
      ("--list list.csv list.csv --table t", "--table is for a SQLite file"),
      ("a.db a.db --format csv", "--format is for lists"),
    ] {
      let result = try await Tool.shell("$tandem diff \(line)", in: folder)
      #expect(result.status == 2 && result.error.contains(words), "\(line): \(result.error)")
    }
    let both = try await Tool.shell(
      "$tandem diff list.csv a.db --table t --format csv", in: folder)
    #expect(both.status == 0, "\(both.error)")
  }
}
