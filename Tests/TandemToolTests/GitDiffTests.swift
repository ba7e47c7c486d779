import TestFolder
import TestTool
import Testing

/// The recipe of Documentation/Git.md.
@Suite("tandem diff as an external diff of git", .timeLimit(.minutes(20)))
struct GitDiffTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func git(_ lines: String) async throws -> Tool.Result {
    try await Tool.shell(
      """
      export HOME="$PWD" GIT_CONFIG_NOSYSTEM=1 PATH="$(dirname "$tandem"):$PATH"
      mkdir -p repository && cd repository && git init -q . || exit 9
      git config user.name t && git config user.email t@example.org
      git config diff.tandem.command \\
        'f() { set -- "$2" "$5" --exit-zero --label "a/$1" --label "b/$1"; tandem diff "$@" || tandem diff --text "$@"; }; f'
      printf '*.db diff=tandem\\n*.csv diff=tandem\\n' >.gitattributes
      \(lines)
      """, in: folder)
  }

  @Test("git diff and git log show rows of databases and records of CSV, of added files too")
  func rows() async throws {
    let result = try await git(
      """
      sqlite3 app.db "CREATE TABLE place (id INTEGER PRIMARY KEY, name); \\
        INSERT INTO place VALUES (1, 'Oslo')"
      printf 'id,n\\n1,a\\n' >list.csv
      git add . && git commit -qm one || exit 9
      sqlite3 app.db "UPDATE place SET name = 'Bergen'"
      printf 'id,n\\n1,b\\n' >list.csv
      git --no-pager diff || exit 8
      git commit -qam two && rm list.csv && git commit -qam three || exit 7
      git --no-pager log --ext-diff -p --format=%s -1 || exit 6
      """)
    #expect(result.status == 0, "\(result.error)")
    #expect(
      result.output == """
        --- a/app.db
        +++ b/app.db
        ~ id=1  name: "Oslo" → "Bergen"
        --- a/list.csv
        +++ b/list.csv
        ~ id="1"  n: "a" → "b"
        three

        --- a/list.csv
        +++ b/list.csv
        - id="1"  n="b"

        """)
  }

  @Test("a list without the key is compared by lines, and does not end git diff")
  func withoutKey() async throws {
    let result = try await git(
      """
      printf 'name\nOslo\n' >list.csv
      printf 'id,n\n1,a\n' >more.csv
      git add . && git commit -qm one || exit 9
      printf 'name\nBergen\n' >list.csv
      printf 'id,n\n1,b\n' >more.csv
      git --no-pager diff
      """)
    #expect(result.status == 0, "\(result.error)")
    #expect(result.error.contains("id"), "\(result.error)")
    #expect(
      result.output == """
        --- a/list.csv
        +++ b/list.csv
        @@ -1,2 +1,2 @@
         name
        -Oslo
        +Bergen
        --- a/more.csv
        +++ b/more.csv
        ~ id="1"  n: "a" → "b"

        """)
  }

  @Test("a file that is neither a list nor UTF-8 differs, and does not end git diff")
  func notText() async throws {
    let result = try await git(
      """
      printf 'id,n\n1,caf\\351\n' >latin1.csv
      printf 'id,n\n1,a\n' >more.csv
      sqlite3 app.db "CREATE TABLE t (id INTEGER PRIMARY KEY, a); \\
        INSERT INTO t VALUES (1, CAST(x'ff' AS TEXT))"
      git add . && git commit -qm one || exit 9
      printf 'id,n\n1,caff\\351\n' >latin1.csv
      printf 'id,n\n1,b\n' >more.csv
      sqlite3 app.db "UPDATE t SET a = CAST(x'fe' AS TEXT)"
      git --no-pager diff
      """)
    #expect(result.status == 0, "\(result.error)")
    #expect(
      result.output == """
        Binary files a/app.db and b/app.db differ
        Binary files a/latin1.csv and b/latin1.csv differ
        --- a/more.csv
        +++ b/more.csv
        ~ id="1"  n: "a" → "b"

        """)
  }

  @Test("a text conversion shows a database line by line")
  func textConversion() async throws {
    let result = try await git(
      """
      git config diff.dump.textconv 'f() { sqlite3 "$1" .dump; }; f'
      git config diff.dump.cachetextconv true
      printf '*.db diff=dump\\n' >.gitattributes
      sqlite3 app.db "CREATE TABLE place (id INTEGER PRIMARY KEY, name); \\
        INSERT INTO place VALUES (1, 'Oslo')"
      git add . && git commit -qm one && sqlite3 app.db "UPDATE place SET name = 'Bergen'" || exit 9
      git --no-pager diff
      """)
    #expect(result.status == 0, "\(result.error)")
    #expect(result.output.contains("-INSERT INTO place VALUES(1,'Oslo');"), "\(result.output)")
    #expect(result.output.contains("+INSERT INTO place VALUES(1,'Bergen');"))
  }
}
