import TestFolder
import Testing

@Suite("tandem merge as a git merge driver", .timeLimit(.minutes(5)))
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
}
