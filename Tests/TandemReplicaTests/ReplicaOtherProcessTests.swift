import Foundation
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestFolder
import Testing

@Suite("Writers in other languages")
struct ReplicaOtherProcessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func run(_ arguments: [String]) throws -> String {
    let output = Pipe()
    let program = try TestProgram(arguments, output: .pipe(output))
    let text = output.fileHandleForReading.readDataToEndOfFile()
    #expect(program.waitUntilEnd() == 0)
    return String(decoding: text, as: UTF8.self)
  }

  @Test("What the shell of SQLite and Python write is synchronized like any edit")
  func writers() throws {
    let space = try TestSpace()
    let path = folder.path(of: "a.db")
    let schema = ["CREATE TABLE t (id TEXT PRIMARY KEY, v, u UNIQUE)"]
    let a = try TestReplica(
      seed: 1, schema, tables: [AttachedTable("t")], space: space, path: path)
    let b = try TestReplica(seed: 2, schema, tables: [AttachedTable("t")], space: space)
    try a.execute("INSERT INTO t VALUES ('one', 1, 'x'), ('two', 2, 'y'), ('three', 3, 'z')")
    try converge([a, b], space)
    let shell = try run([
      "sqlite3", path,
      "UPDATE t SET v = 10 WHERE id = 'one'; REPLACE INTO t VALUES ('four', 4, 'y'); SELECT changes();",
    ])
    #expect(shell == "1\n")
    let python = try run([
      "python3", "-c",
      """
      import sqlite3, sys
      database = sqlite3.connect(sys.argv[1])
      cursor = database.execute("INSERT INTO t VALUES ('five', ?, NULL)", (b"\\x00\\xff",))
      database.execute("INSERT INTO t VALUES ('one', 0, 'w') ON CONFLICT (id) DO UPDATE SET v = v + 1")
      database.execute("DELETE FROM t WHERE id = 'three'")
      database.commit()
      print(cursor.lastrowid, database.execute("PRAGMA integrity_check").fetchone()[0])
      """, path,
    ])
    #expect(python == "5 ok\n")
    try converge([a, b], space)
    try expectEqualRows(
      [a, b], "SELECT * FROM t ORDER BY id",
      [["five", .blob([0, 255]), .null], ["four", 4, "y"], ["one", 11, "x"]])
    #expect(try a.conflicts().isEmpty && b.conflicts().isEmpty)
  }
  @Test("Rejected changes are shown at the start, and whenever another process changes them")
  func rejections() async throws {
    let space = try TestSpace()
    let path = folder.path(of: "b.db")
    let a = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT)"], tables: [AttachedTable("t")],
      space: space)
    let b = try TestReplica(
      seed: 2, ["CREATE TABLE t (id TEXT PRIMARY KEY, n INT CHECK (n < 100))"],
      tables: [AttachedTable("t")], space: space, path: path)
    try a.execute("INSERT INTO t VALUES ('one', 200)")
    try converge([a, b], space)
    let database = try await Database.open(path: path)
    var counts: [Int] = []
    for try await rejections in DatabaseReplica(database).keptEditUpdates(.rejected) {
      counts.append(rejections.count)
      if rejections.isEmpty { break }
      _ = try run(["sqlite3", path, "DELETE FROM tandem_kept"])
    }
    #expect(counts == [1, 0])
    await database.close()
  }
}
