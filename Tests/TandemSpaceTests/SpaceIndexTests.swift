import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import Testing

/// Unique indexes whose values commits state, because a space cannot compute them.
@Suite("Unique indexes of a space", .onBothStores)
final class SpaceIndexTests {
  private static let index = SpaceIndex(
    name: "one", sql: "CREATE UNIQUE INDEX one ON t (lower(a)) WHERE b",
    columns: [ComparedColumn("a", .binary, .text), ComparedColumn("b", .binary, .integer)])
  private static let sql = index.sql

  private let space: TestSpace
  private var replicas: [TestReplica] = (0..<3).map { TestReplica(seed: $0) }

  private static func table(_ constraints: [SpaceConstraint]?) -> SpaceTable {
    SpaceTable(
      name: "t", columns: ["a", "b", "c"], keyColumns: ["id"], granularity: .field,
      constraints: constraints)
  }

  init() throws { space = try TestSpace(tables: [Self.table([.index(Self.index)])]) }

  private func change(
    _ id: FieldValue, _ verb: SyncChange.Verb, claims: [FieldValue]? = nil
  ) -> SyncChange {
    SyncChange(
      key: SyncKey(table: "t", id: [id]), verb: verb, claims: claims.map { [Self.sql: $0] } ?? [:])
  }

  /// The outcome of a commit, in short.
  private func commit(
    _ changes: SyncChange..., on base: SpaceRevision? = nil, by replica: Int = 0
  ) throws -> String {
    func text(_ objections: [SyncObjection]) -> String {
      objections.map { "\($0.key.id[0]) \($0.reason.rawValue)" }.joined(separator: ", ")
    }
    let revision = try base ?? space.head
    return switch try space.commit(replicas[replica].commit(revision, changes)) {
    case .accepted: "accepted"
    case .conflict(let objections): "conflict: \(text(objections))"
    case .refused(let objections): "refused: \(text(objections))"
    case .parts, .sequence, .gone: "other"
    }
  }

  private var claims: [[FieldValue]] {
    get throws { try space.rows("side, value", of: "claim", by: "key") }
  }

  @Test("A value that a known record holds is refused; one that changed after the base conflicts")
  func taken() throws {
    let start = try space.head
    #expect(try commit(change(1, .insert(["a": "X", "b": 1]), claims: ["x"])) == "accepted")
    #expect(
      try commit(change(2, .insert(["a": "x", "b": 1]), claims: ["x"])) == "refused: 2 taken")
    #expect(
      try commit(change(2, .insert(["a": "x", "b": 1]), claims: ["x"]), on: start, by: 1)
        == "conflict: 2 taken")
    // Any number of records have no value, and equal numbers of other types are one.
    #expect(
      try commit(
        change(3, .insert(["a": "x", "b": 0]), claims: []),
        change(4, .insert(["b": 0]), claims: [])) == "accepted")
    #expect(
      try commit(
        change(5, .insert(["a": 1]), claims: [1]), change(6, .insert(["a": 1.0]), claims: [1.0]))
        == "refused: 6 taken")
  }

  @Test("An update of other columns keeps the value of the record [claims]")
  func kept() throws {
    _ = try commit(change(1, .insert(["a": "x", "b": 1]), claims: ["x"]))
    #expect(try commit(change(1, .update(["c": 1]))) == "accepted")
    // What it states is ignored.
    #expect(try commit(change(1, .update(["c": 2]), claims: [])) == "accepted")
    #expect(try commit(change(1, .add(["c": 1]))) == "accepted")
    #expect(
      try commit(change(2, .insert(["a": "x", "b": 1]), claims: ["x"])) == "refused: 2 taken")
  }

  @Test("A change of its columns and a deletion release the value")
  func released() throws {
    _ = try commit(change(1, .insert(["a": "x", "b": 1]), claims: ["x"]))
    #expect(try commit(change(1, .update(["b": 0]), claims: [])) == "accepted")
    #expect(try commit(change(2, .insert(["a": "x", "b": 1]), claims: ["x"])) == "accepted")
    #expect(try commit(change(1, .update(["b": 1]), claims: ["x"])) == "refused: 1 taken")
    #expect(
      try commit(
        change(1, .update(["b": 1]), claims: ["x"]),
        change(2, .update(["a": "y"]), claims: ["y"])) == "accepted")
    #expect(try commit(change(1, .delete), change(2, .delete)) == "accepted")
    #expect(try claims.isEmpty)
    #expect(try commit(change(1, .insert(["a": "x", "b": 1]), claims: ["x"])) == "accepted")
  }

  @Test("A change of one of its columns that does not state the value is refused [claims]")
  func unclaimed() throws {
    #expect(try commit(change(1, .insert([:]))) == "refused: 1 unclaimed")
    _ = try commit(change(1, .insert(["a": "x", "b": 1]), claims: ["x"]))
    #expect(try commit(change(1, .update(["b": 0]))) == "refused: 1 unclaimed")
    #expect(try commit(change(1, .add(["b": 1]))) == "refused: 1 unclaimed")
    #expect(
      try commit(
        SyncChange(
          key: SyncKey(table: "t", id: [1]), verb: .update(["b": 0]), claims: ["other": []]))
        == "refused: 1 unclaimed")
    #expect(try commit(change(1, .delete)) == "accepted")
  }

  @Test(
    "An index that is declared late holds from when commits have stated the value of each record")
  func late() throws {
    let space = try TestSpace(tables: [Self.table(nil)])
    func commit(_ changes: SyncChange...) throws -> SyncOutcome {
      try space.commit(replicas[0].commit(try space.head, changes))
    }
    func declared() throws -> SpaceTable { try #require(try space.state.tables.first) }
    _ = try commit(
      change(1, .insert(["a": "x"])), change(2, .insert(["a": "y"])), change(3, .insert([:])))
    _ = try space.run { space, _ in try space.declare([Self.table([.index(Self.index)])]) }
    #expect(try declared().pending.map(\.records) == [[[1], [2], [3]]])
    // Until then, changes need not state it, and equal values are no violation.
    _ = try commit(change(1, .update(["b": 1]), claims: ["x"]), change(3, .delete))
    guard case .accepted = try commit(change(2, .update(["a": "x", "b": 1]), claims: ["x"])) else {
      return #expect(Bool(false))
    }
    _ = try commit(change(1, .update(["a": "z"])))
    _ = try space.run { space, _ in try space.declare([Self.table([.index(Self.index)])]) }
    #expect(try declared().pending.map(\.records) == [[[1]]])
    _ = try commit(change(1, .update(["a": "zz"]), claims: ["zz"]))
    #expect(try declared().constraints == [.index(Self.index)])
  }

  @Test(
    "While an index is pending, any change may state the value of a record that it has seen as it is"
  )
  func statedLate() throws {
    let space = try TestSpace(tables: [Self.table(nil)])
    func commit(_ changes: SyncChange..., on base: SpaceRevision? = nil) throws -> SyncOutcome {
      try space.commit(replicas[0].commit(try base ?? space.head, changes))
    }
    func declared() throws -> SpaceTable { try #require(try space.state.tables.first) }
    _ = try commit(change(1, .insert(["a": "x"])), change(2, .insert(["a": "y"])))
    let base = try space.head
    _ = try commit(change(2, .update(["a": "z"])))
    _ = try space.run { space, _ in try space.declare([Self.table([.index(Self.index)])]) }
    let (digest, version) = (try space.state.digest, try space.head.version)
    _ = try commit(
      change(1, .update([:]), claims: ["x"]), change(2, .update(["c": 1]), claims: ["y"]), on: base)
    #expect(try space.head.version == version + 1)
    _ = try space.run { space, _ in try space.declare([Self.table([.index(Self.index)])]) }
    #expect(try declared().pending.map(\.records) == [[[2]]])
    _ = try commit(change(2, .update(["c": .null]), claims: ["z"]))
    #expect(try declared().pending.isEmpty)
    #expect(try space.state.digest == digest)
    #expect(
      try space.run { space, _ in try space.record(SyncKey(table: "t", id: [1]))?.version } == 1)
    // Now the index holds, and other changes state nothing.
    _ = try commit(change(1, .update([:]), claims: ["w"]))
    guard case .refused = try commit(change(3, .insert(["a": "x"]), claims: ["x"])) else {
      return #expect(Bool(false))
    }
  }

  @Test("An index that was dropped is the same one whatever a copy says about its columns")
  func dropped() throws {
    try space.run { space, _ in
      let number = try #require(try space.rules().first).number
      #expect(try space.dropConstraint(number) != nil)
      let same = SpaceIndex(
        name: "one", sql: Self.sql, columns: Self.index.columns.map { ComparedColumn($0.name) })
      #expect(try space.declare([Self.table([.index(same)])])[0].constraints == [])
      let other = SpaceIndex(
        name: "one", sql: "CREATE UNIQUE INDEX one ON t (upper(a))", columns: same.columns)
      #expect(try space.declare([Self.table([.index(other)])])[0].constraints == [.index(other)])
    }
  }

  @Test("A program that knows no constraints gets none, and a space refuses unknown columns")
  func declarations() throws {
    let known = try space.run { space, _ in try space.declare([Self.table(nil)]) }
    #expect(known.first?.constraints == nil)
    let other = SpaceIndex(name: "o", sql: "…", columns: [ComparedColumn("nowhere")])
    #expect(throws: SyncRequestError.self) {
      try space.run { space, _ in try space.declare([Self.table([.index(other)])]) }
    }
    // The same text is the same index.
    let again = SpaceIndex(name: "two", sql: Self.sql, columns: [ComparedColumn("a")])
    let same = try space.run { space, _ in try space.declare([Self.table([.index(again)])]) }
    #expect(same.first?.constraints?.count == 1)
    #expect(try space.state.tables.first?.constraints?.count == 1)
  }
}
