import TandemSQLite
import TestFolder
import Testing

@Suite("Migrations and the write lock")
struct MigrationLockTests {
  @Test("a file that is up to date is found so while another program is writing")
  func upToDate() throws {
    let folder = try TemporaryFolder()
    let migrations = [
      DatabaseMigration("create t") { try $0.execute("CREATE TABLE t (n)") }
    ]
    let database = try Database(
      path: folder.file(), configuration: DatabaseConfiguration(busyTimeout: .zero))
    #expect(try database.migrate(migrations) == ["create t"])
    let other = try folder.open()
    try other.execute("BEGIN IMMEDIATE")
    #expect(try database.migrate(migrations) == [])
    let more = migrations + [DatabaseMigration("more") { _ in }]
    #expect(try databaseError { try database.migrate(more) }.code.primary == .busy)
    try other.execute("ROLLBACK")
    #expect(try database.migrate(more) == ["more"])
    #expect(try databaseError { try database.migrate(migrations) }.code == .migration)
    try database.write { try $0.execute("INSERT INTO t VALUES (1)") }
  }
}
