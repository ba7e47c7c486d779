import Foundation
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

@Suite("The file beside a database that has staged pages")
struct StagedFileTests {
  let folder: TemporaryFolder
  let space: TestSpace
  let writer: TestReplica

  private static let schema = "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, stars INTEGER)"

  init() throws {
    folder = try TemporaryFolder()
    space = try TestSpace()
    writer = try TestReplica(
      seed: 1, [Self.schema], tables: [AttachedTable("note")], space: space)
    // The space has the rows in another order than that of their keys.
    for id in ["f", "c", "a", "e", "b", "d"] {
      try writer.execute("INSERT INTO note VALUES ('\(id)', 'title of \(id)', 1)")
      try writer.sync(space)
    }
  }

  private var stagedPath: String { folder.path(of: "b.db-tandem") }
  private var hasFile: Bool { FileManager.default.fileExists(atPath: stagedPath) }

  private func replica(_ schema: String = schema, name: String = "b.db") throws -> TestReplica {
    let replica = try TestReplica(
      seed: 2, [schema], tables: [AttachedTable("note")], space: space,
      path: folder.path(of: name))
    replica.maxPageChangeCount = 2
    return replica
  }

  /// The same file, opened by another program.
  private func reopened() throws -> TestReplica {
    let replica = try TestReplica(seed: 3, path: folder.path(of: "b.db"))
    replica.maxPageChangeCount = 2
    return replica
  }

  private func pullPages(_ count: Int, _ replica: TestReplica) throws {
    for _ in 0..<count { _ = try replica.pullPage(space) }
  }

  private func look(_ replica: TestReplica) throws {
    _ = try replica.write { try $0.perform(.look, replica.merging, using: &replica.random) }
  }

  private func isInFile(_ replica: TestReplica, pageCount: Int) throws -> Bool {
    try replica.rows("SELECT count(*), total(typeof(page) = 'text') FROM tandem_staged")
      == [[.integer(Int64(pageCount)), .real(Double(pageCount))]]
  }

  /// Expects that the file ends equal to the space, and leaves nothing behind.
  private func expectEqual(_ replica: TestReplica, isCopied: Bool? = nil) throws {
    // The first time, it may apply what it had received long ago.
    try replica.sync(space)
    try converge([writer, replica], space)
    try expectEqualRows([writer, replica], "SELECT * FROM note ORDER BY id")
    #expect(try replica.rows("SELECT * FROM tandem_staged").isEmpty)
    #expect(try replica.conflicts().isEmpty)
    if let isCopied {
      #expect(
        try replica.rows("SELECT id FROM note ORDER BY rowid LIMIT 1")
          == [[isCopied ? "a" : "f"]])
    }
    try look(replica)
    #expect(!hasFile)
  }

  @Test("Rows of a first synchronization are in the file until they are copied")
  func first() throws {
    let replica = try replica()
    try pullPages(3, replica)
    #expect(try isInFile(replica, pageCount: 3))
    #expect(hasFile)
    #expect(try replica.rows("SELECT * FROM note").isEmpty)
    #expect(try replica.apply().writtenCount == 6)
    try expectEqual(replica, isCopied: true)
  }

  @Test("A session copies rows, with the last page")
  func session() throws {
    let replica = try replica()
    var session = SyncSession()
    #expect(try replica.run(&session, space) == .upToDate(space.state.head))
    try expectEqual(replica)
  }

  @Test("A program that is killed between two steps continues", arguments: 0..<8)
  func killed(at step: Int) throws {
    struct Killed: Error {}
    var replica = try replica()
    for position in 0..<4 {
      // Killed in the transaction of the step, after the file has got the page, and after the step.
      if position * 2 == step {
        #expect(throws: Killed.self) {
          try replica.write { tables in
            if position == 3 {
              _ = try tables.applyStaged(replica.merging, using: &replica.random)
            } else if case .incomplete(let next) = try tables.staging(),
              case .page(let page) = try space.pull(next.limited(to: 2))
            {
              _ = try tables.stage(page, for: next.limited(to: 2))
            }
            throw Killed()
          }
        }
        #expect(hasFile)
        replica = try reopened()
      }
      if position == 3 { try replica.apply() } else { try pullPages(1, replica) }
      if position * 2 + 1 == step { replica = try reopened() }
      #expect(try isInFile(replica, pageCount: position == 3 ? 0 : position + 1))
    }
    try expectEqual(replica, isCopied: true)
  }

  @Test("A database that was restored uses only what it has received itself", arguments: 0...3)
  func restored(after count: Int) async throws {
    var replica = try replica()
    try pullPages(count, replica)
    await replica.database.close()
    let backup = folder.bytes(of: "b.db")
    #expect(folder.bytes(of: "b.db-wal").isEmpty)
    replica = try reopened()
    if count < 3 {
      // The rest is received with other records.
      try writer.execute("UPDATE note SET stars = 2")
      try writer.sync(space)
      try pullPages(5, replica)
    }
    await replica.database.close()
    folder.create("b.db", backup)
    replica = try reopened()
    try writer.execute("UPDATE note SET stars = 3 WHERE id < 'c'")
    try writer.execute("DELETE FROM note WHERE id = 'f'")
    try writer.sync(space)
    try expectEqual(replica)
  }

  @Test("Any page of the file may be damaged: everything is received again", arguments: 0..<12)
  func damaged(page: Int) throws {
    for count in 1...3 {
      let replica = try replica(name: "b\(count).db")
      try pullPages(count, replica)
      let name = "b\(count).db-tandem"
      var bytes = folder.bytes(of: name)
      let pageSize = 4_096
      #expect(bytes.count <= 12 * pageSize)
      guard page * pageSize < bytes.count else { continue }
      // The header stays, so that the file is Tandem's.
      let start = page == 0 ? 100 : page * pageSize
      for place in start..<(page + 1) * pageSize { bytes[place] = 7 }
      try FileManager.default.removeItem(atPath: folder.path(of: name))
      folder.create(name, bytes)
      var session = SyncSession()
      #expect(try replica.run(&session, space) == .upToDate(space.state.head))
      try expectEqualRows([writer, replica], "SELECT * FROM note ORDER BY id")
    }
  }

  @Test("The file may be deleted or damaged: the pages are received again", arguments: 1...3)
  func lost(after count: Int) throws {
    for damage in [nil, [UInt8](), Array("no database".utf8), [UInt8](repeating: 7, count: 9_000)] {
      let replica = try replica(name: "b.db")
      try pullPages(count, replica)
      let bytes = folder.bytes(of: "b.db-tandem")
      try FileManager.default.removeItem(atPath: stagedPath)
      if let damage {
        folder.create("b.db-tandem", damage.count > 100 ? bytes.prefix(4_096) + damage : damage)
      }
      try converge([writer, replica], space)
      try expectEqualRows([writer, replica], "SELECT * FROM note ORDER BY id")
      try look(replica)
      // What is no database is another program's.
      #expect(hasFile == (damage?.count == 11))
      try replica.write { try $0.detach() }
      for name in folder.names() {
        try FileManager.default.removeItem(atPath: folder.path(of: name))
      }
    }
  }

  @Test(
    "Records that came again, or do not fit the table, are applied after the rows",
    arguments: [true, false])
  func unlike(isCopied: Bool) throws {
    let other = try TestReplica(
      seed: 4,
      [
        "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, stars)",
        "CREATE TABLE other (id TEXT PRIMARY KEY, x)",
      ], tables: [AttachedTable("note"), AttachedTable("other")], space: space)
    try converge([writer, other], space)
    try other.execute("INSERT INTO other VALUES ('o', 1)")
    try other.execute("INSERT INTO note VALUES ('g', 'g', '007'), ('h', x'00ff', 2.5)")
    try other.sync(space)
    // A strict table forbids the row of h.
    let schema = Self.schema + (isCopied ? "" : " STRICT")
    var results: [[[FieldValue]]] = []
    for isFile in [true, false] {
      let replica =
        isFile
        ? try replica(schema)
        : try TestReplica(seed: 2, [schema], tables: [AttachedTable("note")], space: space)
      replica.maxPageChangeCount = 2
      try pullPages(2, replica)
      try other.execute("UPDATE note SET stars = stars + 1 WHERE id IN ('f', 'b')")
      try other.sync(space)
      try pullPages(1, replica)
      try other.execute("DELETE FROM note WHERE id = 'c'")
      try other.sync(space)
      try pullPages(9, replica)
      let pageCount = try replica.rows("SELECT count(*) FROM tandem_staged")[0][0].integerValue
      #expect(try isFile == isInFile(replica, pageCount: #require(pageCount)))
      try replica.apply()
      let order = try replica.rows("SELECT id FROM note ORDER BY rowid").compactMap(\.first)
      if isFile { #expect((order.first == "a") == isCopied, "\(order)") }
      #expect(try replica.freeze() == nil)
      #expect(try replica.state.digest == space.state.digest)
      results.append(
        try replica.rows("SELECT * FROM note ORDER BY id")
          + replica.rows("SELECT \"table\", id, fields, reason FROM tandem_parked ORDER BY 1, 2"))
      try other.execute("INSERT INTO note VALUES ('c', 'title of c', 1)")
      try other.execute("UPDATE note SET stars = 1 WHERE id IN ('f', 'b')")
      try other.sync(space)
    }
    #expect(results[0] == results[1])
    #expect(results[0].contains(["f", "title of f", 2]))
  }

  @Test("Rows and edits that the file gets meanwhile are merged", arguments: [1, 3])
  func edited(after count: Int) throws {
    let replica = try replica()
    try pullPages(count, replica)
    try replica.execute("INSERT INTO note VALUES ('c', 'mine', 1), ('z', 'new', 1)")
    try pullPages(3 - count, replica)
    try replica.apply()
    #expect(try replica.conflicts().count == 1)
    #expect(try replica.rows("SELECT count(*) FROM note") == [[7]])
    try converge([writer, replica], space)
    try expectEqualRows([writer, replica], "SELECT * FROM note ORDER BY id")
  }

  @Test("If a constraint of the file forbids a row, each record is placed by itself")
  func forbidden() throws {
    space.ignoresRules = true
    let replica = try TestReplica(
      seed: 2,
      ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT CHECK (title <> 'title of d'), stars)"],
      withBlindSpots: [AttachedTable("note")], space: space)
    let file = try self.replica(
      "CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT CHECK (title <> 'title of d'), stars)")
    for replica in [replica, file] {
      replica.maxPageChangeCount = 2
      try replica.pull(space)
      #expect(try replica.rows("SELECT count(*) FROM note") == [[5]])
      #expect(try replica.rows("SELECT id FROM tandem_parked") == [["[\"d\"]"]])
      #expect(try replica.read { try $0.computedDigest() } == space.state.digest)
    }
  }

  @Test("A change of the schema during a pull makes it start again")
  func newColumn() throws {
    let replica = try replica()
    try pullPages(2, replica)
    try replica.execute("ALTER TABLE note ADD COLUMN text TEXT DEFAULT 'none'")
    try expectEqualRows([replica], "SELECT * FROM note", [])
    try replica.sync(space)
    #expect(try replica.rows("SELECT count(*) FROM note") == [[6]])
    #expect(try replica.state.digest == space.state.digest)
  }

  @Test("Triggers of the application run for each row")
  func triggers() throws {
    let replica = try replica()
    try replica.execute("CREATE TABLE log (id)")
    try replica.execute(
      "CREATE TRIGGER logged AFTER INSERT ON note BEGIN INSERT INTO log VALUES (new.id); END")
    try pullPages(3, replica)
    try replica.apply()
    #expect(try replica.rows("SELECT count(*) FROM log") == [[6]])
    try expectEqual(replica, isCopied: false)
  }

  @Test("Nobody may read the file who may not read the database", arguments: [0o600, 0o640, 0o644])
  func permissions(mode: Int) throws {
    let replica = try replica()
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: folder.path(of: "b.db"))
    try pullPages(1, replica)
    let attributes = try FileManager.default.attributesOfItem(atPath: stagedPath)
    #expect(attributes[.posixPermissions] as? Int == mode)
    try expectEqual(replica)
  }

  @Test("A file or link of another program is left alone")
  func foreign() throws {
    let place = folder.path(of: "elsewhere")
    for isLink in [true, false] {
      let replica = try replica(name: isLink ? "b.db" : "c.db")
      let path = isLink ? stagedPath : folder.path(of: "c.db-tandem")
      if isLink {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: place)
      } else {
        let database = try Database(path: path)
        try database.write { try $0.execute("CREATE TABLE theirs (x)") }
      }
      try pullPages(2, replica)
      #expect(try isInFile(replica, pageCount: 2) == false)
      try converge([writer, replica], space)
      try look(replica)
      try replica.write { try $0.detach() }
      #expect((try? FileManager.default.attributesOfItem(atPath: path)) != nil)
    }
    #expect(!FileManager.default.fileExists(atPath: place))
  }

  @Test("Detaching removes the file")
  func detached() throws {
    let replica = try replica()
    try pullPages(1, replica)
    #expect(hasFile)
    try replica.write { try $0.detach() }
    #expect(!hasFile)
  }

  @Test("A first synchronization leaves only its rows in the database")
  func size() async throws {
    let space = try await SyncSpace.file(folder.path(of: "shared.space"), creates: true)
    func attached(_ name: String) async throws -> (Database, DatabaseReplica) {
      let database = try Database(path: folder.path(of: name))
      try await database.write { try $0.execute(SQL(text: Self.schema)) }
      let replica = DatabaseReplica(database)
      try await replica.attach([AttachedTable("note")], to: space)
      return (database, replica)
    }
    let ((a, one), (b, two)) = (try await attached("a.db"), try await attached("b.db"))
    try await a.write {
      try $0.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20500)
        INSERT INTO note SELECT hex(randomblob(8)), 'a title of some length ' || i, i FROM n
        """)
    }
    try await one.sync(with: space)
    #expect(try await two.sync(with: space).pulledCount == 20_500)
    #expect(!hasFile)
    #expect(try await two.status().state == .upToDate)
    for database in [a, b] { await database.close() }
    let connection = try DatabaseConnection(path: folder.path(of: "b.db"))
    #expect(try connection.integer("SELECT count(*) FROM note") == 20_500)
    let count = try connection.integer("PRAGMA page_count") ?? 0
    try connection.execute("VACUUM")
    let least = try connection.integer("PRAGMA page_count") ?? 0
    #expect(Double(count) <= 1.1 * Double(least))
    await space.close()
  }
}
