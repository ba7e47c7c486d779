import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("tandem merge as a git merge driver", .timeLimit(.minutes(20)))
struct GitMergeDriverTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// One list in each format: its text, an edit of the record 1, one of the record 2, and both.
  static let lists = [
    (
      "list.json", "[\n  {\"id\": 1, \"ok\": true},\n  {\"id\": 2, \"tags\": [1, 2]}\n]\n",
      ["\"ok\": true", "\"ok\": false"], ["[1, 2]", "[1, 3]"]
    ),
    (
      "list.ndjson", "{\"id\":1,\"ok\":true}\n{\"id\":2,\"tags\":[1,2]}\n",
      ["\"ok\":true", "\"ok\":false"], ["[1,2]", "[1,3]"]
    ),
    ("list.csv", "id,price\n1,1.50\n2,\"\"\n", ["1.50", "1.60"], ["\"\"", "\"a, b\""]),
  ]

  /// Makes a repository with the driver, and a branch for each of two edits of the file `name`.
  private func merge(_ name: String, base: String, ours: String, theirs: String) async throws
    -> Tool.Result
  {
    try folder.write(base, to: "base")
    try folder.write(ours, to: "ours")
    try folder.write(theirs, to: "theirs")
    let driver = "tandem merge --base %O --local %A --remote %B --path %P --key id -o %A"
    return try await Tool.shell(
      """
      export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 PATH="$(dirname "$tandem"):$PATH"
      mkdir repository && cd repository && git init -q . && git checkout -q -b ours || exit 9
      git config user.name t && git config user.email t@example.org
      git config merge.tandem.driver '\(driver)'
      printf '*.json merge=tandem\\n*.ndjson merge=tandem\\n*.csv merge=tandem\\n' >.gitattributes
      cp ../base \(name) && git add . && git commit -qm base && git checkout -q -b theirs || exit 9
      cp ../theirs \(name) && git commit -qam theirs && git checkout -q ours || exit 9
      cp ../ours \(name) && git commit -qam ours || exit 9
      git merge -q --no-edit theirs
      """, in: folder)
  }

  @Test("edits of neighbouring records merge, and nothing else changes", arguments: lists)
  func clean(name: String, base: String, first: [String], second: [String]) async throws {
    let ours = base.replacing(first[0], with: first[1])
    let theirs = base.replacing(second[0], with: second[1])
    let result = try await merge(name, base: base, ours: ours, theirs: theirs)
    #expect(result.status == 0, "\(result.error)")
    #expect(
      try folder.text(of: "repository/\(name)") == ours.replacing(second[0], with: second[1]))
  }

  @Test("a conflict is git's conflict, and both versions are in the file")
  func conflict() async throws {
    let base = "id,name\n1,a\n2,b\n"
    let result = try await merge(
      "list.csv", base: base, ours: "id,name\n1,x\n2,b\n", theirs: "id,name\n1,y\n2,b\n3,c\n")
    #expect(result.status == 1)
    #expect(result.error.contains("! edit/edit id=\"1\": unresolved"), "\(result.error)")
    #expect(
      try folder.text(of: "repository/list.csv")
        == "id,name\n<<<<<<< local\n1,x\n=======\n1,y\n>>>>>>> remote\n2,b\n3,c\n")
    let unmerged = try await Tool.shell(
      "cd repository; git diff --name-only --diff-filter=U", in: folder)
    #expect(unmerged.output == "list.csv\n")
  }

  @Test("markers have the form of merge.conflictStyle", arguments: ["diff3", "zdiff3"])
  func styles(style: String) async throws {
    let base = "id,name\n1,a\n2,b\n"
    _ = try await Tool.shell(
      "git config --file .gitconfig merge.conflictStyle \(style)", in: folder)
    let result = try await merge(
      "list.csv", base: base, ours: "id,name\n1,x\n2,b\n", theirs: "id,name\n1,y\n2,b\n")
    #expect(result.status == 1)
    #expect(
      try folder.text(of: "repository/list.csv")
        == "id,name\n<<<<<<< local\n1,x\n||||||| base\n1,a\n=======\n1,y\n"
        + ">>>>>>> remote\n2,b\n")
  }

  @Test("zdiff3 leaves equal lines out of a conflict of lines; diff3 does not")
  func textStyles() async throws {
    _ = try await Tool.shell("git config --file .gitconfig merge.conflictStyle zdiff3", in: folder)
    let result = try await merge(
      "list.json", base: "{\n  \"a\": 1\n}\n", ours: "{\n  \"b\": 0,\n  \"a\": 2\n}\n",
      theirs: "{\n  \"b\": 0,\n  \"a\": 3\n}\n")
    #expect(result.status == 1)
    #expect(
      try folder.text(of: "repository/list.json")
        == "{\n  \"b\": 0,\n<<<<<<< local\n  \"a\": 2\n||||||| base\n  \"a\": 1\n"
        + "=======\n  \"a\": 3\n>>>>>>> remote\n}\n")
  }

  @Test("zdiff3 keeps lines that are equal characters in other bytes")
  func equivalentLines() async throws {
    _ = try await Tool.shell("git config --file .gitconfig merge.conflictStyle zdiff3", in: folder)
    let result = try await merge(
      "list.json", base: "{\n\"o\"\n}\n", ours: "{\n\"\u{E9}\"\n\"x\"\n}\n",
      theirs: "{\n\"e\u{301}\"\n\"y\"\n}\n")
    #expect(result.status == 1)
    let text = Array(try folder.text(of: "repository/list.json").utf8)
    for version in ["\"\u{E9}\"\n\"x\"\n", "\"e\u{301}\"\n\"y\"\n"] {
      #expect(text.contains(Array(version.utf8)))
    }
  }

  @Test(
    "the markers of a file with CRLF have CRLF, in a list and in lines",
    arguments: [
      ("list.json", "[{\"id\":1}]\r\n", "[{\"id\":1,\"a\":2}]\r\n", "[{\"id\":1,\r\n"),
      ("list.csv", "id,n\r\n1,a\r\n", "id,n\r\n1,b\r\n", "id,n\r\n1,c\r\n"),
    ])
  func returns(name: String, base: String, ours: String, theirs: String) async throws {
    let result = try await merge(name, base: base, ours: ours, theirs: theirs)
    #expect(result.status == 1)
    let text = try folder.text(of: "repository/\(name)")
    #expect(text.contains("<<<<<<< local\r\n") && text.contains("=======\r\n"))
    #expect(text.utf8.count { $0 == 10 } == text.utf8.count { $0 == 13 }, "\(text)")
  }

  /// Merges branches `a` and `b`, which have several merge bases, by the recipe of Documentation/Git.md.
  ///
  /// - Parameters:
  ///   - history: Lines of shell. `list VALUE…` writes records, `commit` commits them, and `join BRANCH` merges
  ///     without regard to conflicts.
  ///   - options: Further options of the driver.
  private func mergeCrissCross(_ history: String, options: String = "") async throws -> Tool.Result
  {
    let driver = "tandem merge --base %O --local %A --remote %B --path %P --key id -o %A"
    return try await Tool.shell(
      """
      export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 PATH="$(dirname "$tandem"):$PATH"
      git init -q . && git checkout -q -b a && git config merge.tandem.driver '\(driver) \(options)'
      git config merge.tandem-ancestors.driver '\(driver)'
      [ -z '\(options)' ] || git config merge.tandem.recursive tandem-ancestors
      git config user.name t && git config user.email t@example.org
      echo '*.json merge=tandem' >.gitattributes
      list() { printf '[\\n{"id":1,"v":"%s"},\\n{"id":2,"v":"%s"},\\n{"id":3,"v":"%s"}\\n]\\n' "$@" >l.json; }
      commit() { git add . && git commit -qm commit; }
      join() { git merge -q --no-edit "$@" >/dev/null 2>&1; }
      {
      list o o o; commit
      \(history)
      } 2>/dev/null
      git merge -q --no-edit a
      """, in: folder)
  }

  /// Both branches edit the record 1, each merges the other one and resolves the conflict in its own way, and then each
  /// edits another record.
  private static func twoBases(_ resolvedInA: String, _ resolvedInB: String) -> String {
    """
    git branch b; list a o o; commit; git tag a1; git checkout -q b; list b o o; commit; git tag b1
    join a1; list \(resolvedInB) o o; commit; git checkout -q a; join b1; list \(resolvedInA) o o; commit
    list \(resolvedInA) x o; commit; git checkout -q b; list \(resolvedInB) o y; commit
    """
  }

  /// The same with three branches that edit the record 1.
  private static func threeBases(_ resolvedInA: String, _ resolvedInB: String) -> String {
    """
    for n in p q r; do git branch $n; done
    for n in p q r; do git checkout -q $n; list $n o o; commit; done
    git checkout -q -B a p; for n in q r; do join $n; list \(resolvedInA) o o; commit; done
    git checkout -q -B b q; for n in p r; do join $n; list \(resolvedInB) o o; commit; done
    git checkout -q a; list \(resolvedInA) x o; commit; git checkout -q b; list \(resolvedInB) o y; commit
    """
  }

  private static func history(_ a: String, _ b: String, _ baseCount: Int) -> String {
    baseCount == 2 ? twoBases(a, b) : threeBases(a, b)
  }

  private static func text(_ first: String) -> String {
    "[\n\(first){\"id\":2,\"v\":\"x\"},\n{\"id\":3,\"v\":\"y\"}\n]\n"
  }

  @Test(
    "a record that is in conflict in the merge bases is in conflict only if the sides differ",
    arguments: [2, 3])
  func conflictInBases(baseCount: Int) async throws {
    let result = try await mergeCrissCross(Self.history("a", "b", baseCount))
    #expect(result.status == 1, "\(result.error)")
    let conflict =
      "<<<<<<< local\n{\"id\":1,\"v\":\"b\"},\n=======\n{\"id\":1,\"v\":\"a\"},\n>>>>>>> remote\n"
    #expect(try folder.text(of: "l.json") == Self.text(conflict))
  }

  @Test("sides that resolved it equally merge", arguments: [2, 3])
  func equalResolutions(baseCount: Int) async throws {
    let result = try await mergeCrissCross(Self.history("z", "z", baseCount))
    #expect(result.status == 0, "\(result.error)")
    #expect(try folder.text(of: "l.json") == Self.text("{\"id\":1,\"v\":\"z\"},\n"))
  }

  @Test("an edit that one side took back after a criss-cross merge does not return")
  func takenBack() async throws {
    let result = try await mergeCrissCross(
      """
      git branch b; list a o o; commit; git tag a1; git checkout -q b; list o b o; commit; git tag b1
      join a1; git checkout -q a; join b1; list o b o; commit; git checkout -q b; list a b y; commit
      """)
    #expect(result.status == 0, "\(result.error)")
    #expect(try folder.text(of: "l.json").contains(#"{"id":1,"v":"o"}"#))
  }

  @Test("no edit is lost by options that prefer a side", arguments: ["--conflicts local"])
  func preferringDriver(options: String) async throws {
    let result = try await mergeCrissCross(Self.twoBases("a", "b"), options: options)
    #expect(result.status == 1, "\(result.error)")
  }

  @Test("a field that both versions of a base in conflict have is the base of its field")
  func fieldsOfConflicts() async throws {
    let result = try await mergeCrissCross(
      """
      edit() { printf '[{"id":1,"v":"%s","w":"%s"}]\\n' "$@" >l.json; }
      edit o 1; commit; git branch b
      edit a 1; commit; git tag a1; git checkout -q b; edit b 1; commit; git tag b1
      join a1; edit z 1; commit; git checkout -q a; join b1; edit z 1; commit
      edit z 2; commit; git checkout -q b; edit z 1; echo >other; commit
      """, options: "--by field")
    #expect(result.status == 0, "\(result.error)")
    #expect(try folder.text(of: "l.json") == "[{\"id\":1,\"v\":\"z\",\"w\":\"2\"}]\n")
  }

  @Test("a file that is no list is merged as git merges it without the driver")
  func texts() async throws {
    let base = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n"
    let ours = base.replacing("\"a\": 1", with: "\"a\": 9")
    let clean = try await merge(
      "list.json", base: base, ours: ours, theirs: base.replacing("\"c\": 3", with: "\"c\": 4"))
    #expect(clean.status == 0, "\(clean.error)")
    #expect(
      try folder.text(of: "repository/list.json")
        == ours.replacing("\"c\": 3", with: "\"c\": 4"))
  }

  @Test("a broken list conflicts, with both versions in the file")
  func trouble() async throws {
    let result = try await merge(
      "list.json", base: "[{\"id\":1}]\n", ours: "[{\"id\":1,\"a\":2}]\n",
      theirs: "[{\"id\":1,\n")
    #expect(result.status == 1)
    #expect(result.error.contains("list.json (remote version): "), "\(result.error)")
    #expect(
      try folder.text(of: "repository/list.json")
        == "<<<<<<< local\n[{\"id\":1,\"a\":2}]\n=======\n[{\"id\":1,\n>>>>>>> remote\n")
  }

  @Test("a change of a type on one side, and of another record on the other, are both kept")
  func types() async throws {
    let base = "[{\"id\":1,\"v\":1},\n{\"id\":2,\"v\":1}]\n"
    let result = try await merge(
      "list.json", base: base, ours: base.replacing("1,\"v\":1", with: "1,\"v\":true"),
      theirs: base.replacing("2,\"v\":1", with: "2,\"v\":\"1\""))
    #expect(result.status == 0, "\(result.error)")
    #expect(
      try folder.text(of: "repository/list.json")
        == "[{\"id\":1,\"v\":true},\n{\"id\":2,\"v\":\"1\"}]\n")
  }

  @Test("A base with too many conflicts inside each other is taken for a text without any")
  func depth() {
    for count in [100, 200_000] {
      let start = String(repeating: "<<<<<<< local\n", count: count)
      let end = String(repeating: "=======\n>>>>>>> remote\n", count: count)
      #expect(ConflictMarkers.resolutions(of: Array((start + end).utf8)) == nil)
    }
    let inner = "<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n"
    #expect(ConflictMarkers.resolutions(of: Array(inner.utf8))?.count == 2)
  }
}
