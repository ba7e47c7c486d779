import TestFolder
import Testing

@Suite("tandem diff --list and --text", .timeLimit(.minutes(5)))
struct DiffListTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("a list's changes show in its order, with moves")
  func lines() async throws {
    let old = try folder.write(#"[{"id":1},{"id":2,"n":1},{"id":3},{"id":4}]"#, to: "old.json")
    let new = try folder.write("id,n\n4,\n1,\n5,\n2,2\n", to: "new.csv")
    let lines = try await Tool.run(["diff", "--list", old, new])
    #expect(lines.status == 1 && lines.error.isEmpty)
    #expect(lines.output == "- id=3\n> id=4  3 → 0\n+ id=5\n~ id=2  n: 1 → 2\n")
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

  @Test("what cannot be compared is trouble, not a difference")
  func trouble() async throws {
    try folder.write("a", to: "old")
    for line in [
      "diff --text old missing", "diff --text --list old old", "diff --list old missing",
    ] {
      let result = try await Tool.shell("$tandem \(line)", in: folder)
      #expect(result.status == 2 && !result.error.isEmpty, "\(line)")
    }
    let bytes = try await Tool.shell("printf '\\377' >bad; $tandem diff --text old bad", in: folder)
    #expect(bytes.status == 2)
  }
}
