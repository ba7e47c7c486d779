import TestFolder
import TestTool
import Testing

@Suite("Functions and extensions that the databases of applications need", .timeLimit(.minutes(20)))
struct LoadExtensionTests: ShellSuite {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("a table whose default calls uuid(), as applications have it, comes in step")
  func identifierFunctions() async throws {
    try await shell(
      """
      for f in a b; do
        sqlite3 $f.db "CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE
          DEFAULT (uuid()), ref TEXT NOT NULL DEFAULT (uuid()))"
        $tandem attach $f.db --space s.space --table note
      done
      # sqlite3 does not know the function.
      echo '[{"id":"n"}]' >rows.json
      $tandem mirror rows.json a.db --table note --key id
      $tandem sync a.db && $tandem sync b.db && $tandem diff a.db b.db --table note
      """)
    let ref = try await shell("sqlite3 b.db 'SELECT ref FROM note'").output
    #expect(
      ref.wholeMatch(
        of: #/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n/#) != nil)
  }

  @Test(
    "a function or collation that a table needs and this program lacks is named when it is attached",
    arguments: [
      ("id TEXT PRIMARY KEY, word TEXT NOT NULL DEFAULT (magic())", "the column word"),
      ("id TEXT PRIMARY KEY NOT NULL DEFAULT (magic()), word TEXT", "the column id"),
      ("id TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (magic()), word TEXT", "magic"),
      ("id TEXT PRIMARY KEY, word TEXT COLLATE magic UNIQUE", "collation"),
    ])
  func extensions(columns: String, reason: String) async throws {
    try await shell(
      """
      cat >magic.c <<END
      #include <sqlite3ext.h>
      SQLITE_EXTENSION_INIT1
      static void magic(sqlite3_context *c, int n, sqlite3_value **v) { sqlite3_result_int(c, 7); }
      static int order(void *c, int n, const void *a, int m, const void *b) {
        int result = sqlite3_strnicmp(a, b, n < m ? n : m);
        return result ? result : n - m;
      }
      int sqlite3_magic_init(sqlite3 *db, char **e, const sqlite3_api_routines *api) {
        SQLITE_EXTENSION_INIT2(api);
        sqlite3_create_function(db, "magic", 0, SQLITE_UTF8, 0, magic, 0, 0);
        return sqlite3_create_collation(db, "magic", SQLITE_UTF8, 0, order);
      }
      END
      cc -shared -fPIC magic.c -o magic.so
      for f in a b; do
        sqlite3 $f.db -cmd '.load ./magic' "CREATE TABLE note (\(columns));
          CREATE TABLE other (id TEXT PRIMARY KEY)"
      done
      sqlite3 a.db -cmd '.load ./magic' "INSERT INTO note (id, word) VALUES ('n', 'b')"
      """)
    let refused = try await shell("$tandem attach a.db --space s.space --table note", status: 1)
    #expect(refused.error.contains("magic") && refused.error.contains(reason), "\(refused.error)")
    #expect(refused.error.contains("--load-extension"))
    try await shell(
      """
      for f in a b; do
        $tandem attach $f.db --space s.space --table note --load-extension magic.so
        $tandem sync $f.db --load-extension ./magic.so || exit 1
      done
      $tandem diff a.db b.db --table note --load-extension magic.so
      """)
  }

  @Test("a function that no statement of Tandem needs may be missing")
  func unusedFunction() async throws {
    try await shell(
      """
      for f in a b; do
        sqlite3 $f.db "CREATE TABLE note (id TEXT PRIMARY KEY, word TEXT DEFAULT (magic()))"
        $tandem attach $f.db --space s.space --table note
      done
      sqlite3 a.db "INSERT INTO note VALUES ('n', NULL)"
      $tandem sync a.db && $tandem sync b.db && $tandem diff a.db b.db --table note
      """)
  }

  @Test("an extension that cannot be loaded is an error; a missing function names the option")
  func missingExtension() async throws {
    try await shell("sqlite3 a.db 'CREATE TABLE note (id TEXT PRIMARY KEY)'")
    let missing = try await shell("$tandem status a.db --load-extension ./nothing.so", status: 2)
    #expect(missing.error.contains("./nothing.so cannot be loaded"), "\(missing.error)")
    let unknown = try await shell(
      "$tandem watch a.db --query 'SELECT id, magic() FROM note' --key id", status: 1)
    #expect(unknown.error.contains("magic"), "\(unknown.error)")
    #expect(unknown.error.contains("--load-extension"), "\(unknown.error)")
  }
}
