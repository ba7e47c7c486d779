import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

@Suite("The reasons of refused changes")
struct RefusalReasonTests {
  /// The reasons of the rejections after a space has refused the first change of a file's edits.
  private func reasons(
    _ reason: SyncObjection.Reason, _ edit: String, _ constraints: [String: [SpaceConstraint]]
  ) throws -> [String] {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1,
      [
        "CREATE TABLE user (id TEXT PRIMARY KEY, mail TEXT, name TEXT)",
        "CREATE TABLE item (id TEXT PRIMARY KEY, owner TEXT)",
      ], tables: [AttachedTable("user"), AttachedTable("item")], space: space)
    try replica.execute("INSERT INTO user VALUES ('ua', 'x@y', 'Ann'), ('ub', 'b@y', 'Bob')")
    try replica.execute("INSERT INTO item VALUES ('i', 'Ann')")
    try converge([replica], space)
    var tables = try replica.read { try $0.declarations() }
    for place in tables.indices { tables[place].constraints = constraints[tables[place].name] }
    try replica.write { try $0.noteSpaceTables(tables) }
    try replica.execute(edit)
    let bytes = try #require(try replica.freeze())
    let key = try #require(try SyncMessageReader().commit(bytes).changes.first?.key)
    try replica.settle(.refused([SyncObjection(key: key, reason: reason)]), bytes)
    return try replica.rejected().map(\.reason)
  }

  /// The sentence about a rule that the file does not declare.
  private func undeclared(_ rule: String) -> String {
    "; this file does not declare that \(rule): if no copy does any more, an operator of the space can drop the rule "
      + "(`dropConstraint`)"
  }

  @Test("A refusal names the other record where the file has it, and the rule that the file lacks")
  func refusals() throws {
    let mails = "mail, name are unique (NOCASE, BINARY)"
    let owners = "owner refers to user(name)"
    let mail = SpaceConstraint.unique([.init("mail", .nocase), .init("name")])
    #expect(
      try reasons(.taken, "INSERT INTO user VALUES ('uc', 'X@y', 'Ann')", ["user": [mail]]) == [
        "the space refused it: user 'ua' has mail 'X@y' and name 'Ann'" + undeclared(mails)
      ])
    #expect(
      try reasons(.taken, "INSERT INTO user VALUES ('uc', 'X@y', 'Bob')", ["user": [mail]]) == [
        "the space refused it: a unique value of it is that of another record" + undeclared(mails)
      ])
    let owner = SpaceConstraint.reference(["owner"], to: "user", [.init("name", .binary, .text)])
    #expect(
      try reasons(.needed, "UPDATE user SET name = 'Eve' WHERE id = 'ua'", ["item": [owner]]) == [
        "the space refused it: rows of item refer to it" + undeclared(owners)
      ])
    #expect(
      try reasons(.needed, "DELETE FROM user WHERE id = 'ub'", ["item": [owner]]) == [
        "the space refused it: other records refer to it" + undeclared(owners)
      ])
    #expect(
      try reasons(.missingParent, "INSERT INTO item VALUES ('j', 'Food''s')", ["item": [owner]])
        == [
          "the space refused it: there is no user 'Food''s'" + undeclared(owners)
        ])
    #expect(
      try reasons(.missingParent, "INSERT INTO item VALUES ('j', 'Bob')", ["item": [owner]]) == [
        "the space refused it: a record that it refers to is not in the space" + undeclared(owners)
      ])
  }
  @Test(
    "A rule that all copies have dropped is named with the command that drops it from the space")
  func droppedRule() throws {
    let space = try TestSpace()
    let replica = try TestReplica(
      seed: 1, ["CREATE TABLE t (id TEXT PRIMARY KEY, n)", "CREATE UNIQUE INDEX one ON t (n)"],
      tables: [AttachedTable("t")], space: space)
    try replica.execute("INSERT INTO t VALUES ('a', 1)")
    try converge([replica], space)
    try replica.execute("DROP INDEX one")
    try replica.execute("INSERT INTO t VALUES ('b', 1)")
    try converge([replica], space)
    let kept = try replica.rejected()
    #expect(
      kept.map(\.reason) == [
        "the space refused it: t 'a' has n 1" + undeclared("n is unique")
      ])
    #expect(
      try space.database.write { try SpaceTables($0.connection).dropConstraint(1) } != nil)
    try replica.write { try $0.retry(.rejected) }
    try converge([replica], space)
    #expect(try replica.rows("SELECT id FROM t ORDER BY id") == [["a"], ["b"]])
  }
}
