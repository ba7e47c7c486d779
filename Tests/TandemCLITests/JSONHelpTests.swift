import Foundation
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("The output of --json and its help", .timeLimit(.minutes(20)))
struct JSONHelpTests {
  /// Fields whose values have the names of a user's columns.
  private static let ofUser: Set<String> = [
    "base", "local", "remote", "content", "fields", "policies", "merged", "element", "inserted",
    "deleted", "values",
  ]

  /// The names of all fields in a value that the tool chooses.
  private func names(in value: Any, of field: String = "") -> Set<String> {
    if let list = value as? [Any] {
      return list.reduce(into: []) { $0.formUnion(names(in: $1, of: field)) }
    }
    guard let object = value as? [String: Any], !Self.ofUser.contains(field) else { return [] }
    return object.reduce(into: []) { names, entry in
      names.insert(entry.key)
      // The versions of an updated row.
      if field == "updated" || field == "updates" { return }
      names.formUnion(self.names(in: entry.value, of: entry.key))
    }
  }

  @Test("the help of each command names every field that the command prints")
  func fields() async throws {
    let folder = try TemporaryFolder()
    let prepared = try await Tool.shell(
      """
      sqlite3 a.db "CREATE TABLE note (id TEXT PRIMARY KEY, title, likes INTEGER);
        INSERT INTO note VALUES ('p', 'Plan', 1), ('q', 'Trip', 2)"
      cp a.db b.db; cp a.db c.db
      for file in a b c; do
        $tandem attach -q $file.db --space s.space --table note --policy likes=counter || exit 3
      done
      $tandem sync -q a.db && $tandem sync -q b.db || exit 4
      sqlite3 a.db "UPDATE note SET title = 'A' WHERE id = 'p'" && $tandem sync -q a.db || exit 5
      sqlite3 b.db "UPDATE note SET title = 'B' WHERE id = 'p';
        UPDATE note SET title = CAST(x'61ff' AS TEXT) WHERE id = 'q'"
      $tandem sync -q b.db
      sqlite3 x.db "CREATE TABLE t (id INTEGER PRIMARY KEY, v); CREATE TABLE gone (id);
        INSERT INTO t VALUES (1, 1), (2, 2)"
      sqlite3 y.db "CREATE TABLE t (id INTEGER PRIMARY KEY, v, w); CREATE INDEX i ON t (v);
        INSERT INTO t VALUES (1, 9, 0), (3, 3, 0)"
      printf 'id,a\n1,1\n2,2\n' >1.csv; printf 'id,b\n2,2\n1,3\n3,3\n' >2.csv
      echo '[{"id":1,"v":1},{"id":2,"v":2},{"id":9,"v":2}]' >1.json
      echo '[{"id":2,"v":2},{"id":1,"v":3},{"id":3,"v":3}]' >2.json
      printf x >x.file; echo "[{\"id\":1,\"url\":null}]" >c.json
      """, in: folder)
    try #require(prepared.status <= 1, "\(prepared.error)")
    for line in [
      "status b.db", "status c.db", "conflicts b.db", "rejected b.db", "sync b.db", "sync c.db",
      "log --space s.space", "diff x.db y.db", "diff x.db y.db --table t", "diff 1.csv 2.csv",
      "diff 1.json 2.json --list", "merge --base 1.json --local 2.json --remote 1.json --key id",
      "merge --unknown-base --local 1.json --remote 2.json --key id",
      "mirror 2.json m.db --table t --key id -n",
      "mirror c.json m.db --table u --key id --content url --into files",
      "mirror c.json m.db --table u --key id --content url --into files -n",
      "token create --tokens tk --account a --space s --write", "token list --tokens tk",
      "watch x.db --table t --initial --once 1", "watch x.db --table t --initial --once 1 --list",
      "rekey x.db --table t --text -n",
    ] {
      let result = try await Tool.shell("$tandem \(line) --json", in: folder)
      let command = try #require(line.split(separator: " ").first.map(String.init))
      let help = try TandemCLI.command(command).specification.helpText
      let lines = result.output.split(separator: "\n")
      try #require(!lines.isEmpty, "\(line): \(result.error)")
      for text in lines {
        guard let value = try? JSONSerialization.jsonObject(with: Data(text.utf8)) else { continue }
        for name in names(in: value) {
          // Help in sentences lists the names in parentheses or between commas.
          let isNamed =
            help.contains("\"\(name)\"")
            || ["mirror", "merge"].contains(command)
              && help.split(whereSeparator: { !$0.isLetter }).contains(name[...])
          #expect(isNamed, "tandem \(line): help does not name \(name)")
        }
      }
    }
  }
}
