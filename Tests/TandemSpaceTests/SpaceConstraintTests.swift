import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

/// A space whose constraints are those of categories and of items that refer to them, and its replicas.
private final class Shop {
  static let mail = SpaceConstraint.unique([ComparedColumn("mail", .nocase)])
  static let byKey = SpaceConstraint.reference(["cat"], to: "cat", [ComparedColumn("id")])
  static let byName = SpaceConstraint.reference(["tag"], to: "cat", [ComparedColumn("name")])
  static let inItself = SpaceConstraint.reference(["next"], to: "item", [ComparedColumn("id")])

  let space: TestSpace
  private var replicas: [TestReplica] = (0..<3).map { TestReplica(seed: $0) }

  /// The tables with all constraints, or with some.
  static func tables(
    cat: [SpaceConstraint]? = [mail], item: [SpaceConstraint]? = [byKey, byName, inItself]
  ) -> [SpaceTable] {
    [
      SpaceTable(
        name: "item", columns: ["cat", "tag", "next", "n"], keyColumns: ["id"], granularity: .field,
        constraints: item),
      SpaceTable(
        name: "cat", columns: ["mail", "name", "n"], keyColumns: ["id"], granularity: .field,
        constraints: cat),
    ]
  }

  init(_ tables: [SpaceTable] = Shop.tables()) throws { space = try TestSpace(tables: tables) }

  @discardableResult
  func declare(_ tables: [SpaceTable], adds: Bool = true) throws -> [SpaceTable] {
    try space.run { space, _ in try space.declare(tables, adds: adds) }
  }

  /// Commits changes to the head, or to an earlier revision.
  @discardableResult
  func commit(
    _ changes: SyncChange..., on base: SpaceRevision? = nil, by replica: Int = 0
  ) throws -> SyncOutcome { try commit(changes, on: base, by: replica) }

  @discardableResult
  func commit(
    _ changes: [SyncChange], on base: SpaceRevision? = nil, by replica: Int = 0
  ) throws -> SyncOutcome {
    try space.commit(replicas[replica].commit(try base ?? space.head, changes))
  }

  func table(_ name: String) throws -> SpaceTable {
    try #require(try space.state.tables.first { $0.name == name })
  }

  var claims: [[FieldValue]] {
    get throws {
      try space.rows("rule, side, value, key", of: "claim", by: "rule, side, value, key")
    }
  }
}

private func cat(_ id: FieldValue, _ verb: SyncChange.Verb) -> SyncChange {
  SyncChange(key: SyncKey(table: "cat", id: [id]), verb: verb)
}

private func item(_ id: FieldValue, _ verb: SyncChange.Verb) -> SyncChange {
  SyncChange(key: SyncKey(table: "item", id: [id]), verb: verb)
}

extension SyncOutcome {
  /// The outcome in short, with the first value of each key.
  fileprivate var brief: String {
    func text(_ objections: [SyncObjection]) -> String {
      objections.map { objection in
        let id = objection.key.id[0]
        return "\(objection.key.table)(\(id.textValue ?? "\(id)")) \(objection.reason.rawValue)"
      }
      .joined(separator: ", ")
    }
    return switch self {
    case .accepted: "accepted"
    case .conflict(let objections): "conflict: \(text(objections))"
    case .refused(let objections): "refused: \(text(objections))"
    case .parts, .sequence, .gone: "\(self)"
    }
  }
}

@Suite(.onBothStores) struct SpaceConstraintTests {
  // MARK: - Unique values

  @Test("A value that a known record holds is refused; one that changed after the base conflicts")
  func taken() throws {
    let shop = try Shop()
    let start = try shop.space.head
    #expect(try shop.commit(cat(1, .insert(["mail": "X"]))).brief == "accepted")
    #expect(try shop.commit(cat(2, .insert(["mail": "x"]))).brief == "refused: cat(2) taken")
    #expect(
      try shop.commit(cat(2, .insert(["mail": "x"])), on: start, by: 1).brief
        == "conflict: cat(2) taken")
    // Nulls and other values are free, and so is a value after its record has given it up.
    #expect(try shop.commit(cat(3, .insert([:])), cat(4, .insert([:]))).brief == "accepted")
    #expect(try shop.commit(cat(3, .update(["mail": "X"]))).brief == "refused: cat(3) taken")
    #expect(try shop.commit(cat(1, .update(["mail": "y"]))).brief == "accepted")
    #expect(try shop.commit(cat(3, .update(["mail": "X"]))).brief == "accepted")
    #expect(try shop.commit(cat(1, .delete)).brief == "accepted")
    #expect(try shop.commit(cat(4, .update(["mail": "Y"]))).brief == "accepted")
    // The same value again, or in other letters, is no change of the claim.
    #expect(try shop.commit(cat(4, .update(["mail": "y", "n": 1]))).brief == "accepted")
  }

  @Test(
    "Records are judged after the whole commit: they may exchange values, and none may be taken twice"
  )
  func whole() throws {
    let shop = try Shop()
    try shop.commit(cat(1, .insert(["mail": "a"])), cat(2, .insert(["mail": "b"])))
    #expect(
      try shop.commit(cat(1, .update(["mail": "b"])), cat(2, .update(["mail": "a"]))).brief
        == "accepted")
    #expect(
      try shop.commit(
        cat(3, .insert(["mail": "c"])), cat(1, .delete), cat(4, .insert(["mail": "C"]))
      )
      .brief == "refused: cat(4) taken")
    #expect(
      try shop.commit(cat(5, .insert(["mail": "b"])), cat(1, .delete)).brief == "accepted")
  }

  @Test("Of several changes that take a unique value, the first one that stands is not refused")
  func rivals() throws {
    let shop = try Shop(Shop.tables(cat: [Shop.mail, .unique([ComparedColumn("name")])]))
    #expect(
      try shop.commit(
        cat(3, .insert(["mail": "c"])), cat(1, .insert(["mail": "C"])),
        cat(2, .insert(["mail": "c", "name": "x"])), cat(4, .insert(["name": "x"]))
      ).brief == "refused: cat(1) taken, cat(2) taken, cat(4) taken")
    // What refers to one that is refused cannot stand either.
    #expect(
      try shop.commit(
        item(1, .insert(["cat": 2])), cat(1, .insert(["mail": "a"])),
        cat(2, .insert(["mail": "a"])), item(2, .insert(["cat": 1]))
      ).brief == "refused: item(1) missingParent, cat(2) taken")
    // The first one is refused for something else, or because of another one: the next one stands.
    try shop.commit(cat(9, .insert(["name": "taken"])))
    #expect(
      try shop.commit(
        cat(1, .insert(["mail": "a", "name": "taken"])), cat(2, .insert(["mail": "a"])),
        cat(3, .insert(["mail": "a"]))
      ).brief == "refused: cat(1) taken, cat(3) taken")
    #expect(
      try shop.commit(
        cat(9, .update(["mail": "a", "name": "y"])), cat(1, .insert(["name": "taken"])),
        cat(2, .insert(["name": "taken"]))
      ).brief == "refused: cat(2) taken")
    // A record keeps the value because its change is refused: none of the others stands.
    try shop.commit(cat(8, .insert(["mail": "m"])), item(9, .insert(["cat": 8])))
    #expect(
      try shop.commit(
        cat(8, .delete), cat(1, .insert(["mail": "m"])), cat(2, .insert(["mail": "m"]))
      ).brief == "refused: cat(8) needed, cat(1) taken, cat(2) taken")
    // The first one loses a value of another constraint, so that the space names one edit too many, but never too few.
    #expect(
      try shop.commit(
        cat(1, .insert(["mail": "p"])), cat(2, .insert(["mail": "p", "name": "q"])),
        cat(3, .insert(["name": "q"]))
      ).brief == "refused: cat(2) taken, cat(3) taken")
  }

  @Test("Of changes that take a value, those whose record changed after the base conflict [self]")
  func newRivals() throws {
    let shop = try Shop()
    try shop.commit(cat(1, .insert([:])), cat(2, .insert([:])), cat(3, .insert([:])))
    let base = try shop.space.head
    func take(_ ids: FieldValue...) throws -> String {
      try shop.commit(ids.map { cat($0, .update(["mail": "a"])) }, on: base).brief
    }
    #expect(try take(1, 2, 3) == "refused: cat(2) taken, cat(3) taken")
    try shop.commit(cat(1, .update(["n": 1])), by: 1)
    #expect(try take(1, 2, 3) == "conflict: cat(1) taken")
    #expect(try take(2, 1) == "conflict: cat(1) taken")
    #expect(try take(2, 3) == "refused: cat(3) taken")
    #expect(try take(1) == "accepted")
  }

  @Test("Ten thousand changes that take one value are judged in one pass")
  func manyRivals() throws {
    let shop = try Shop()
    let outcome = try shop.commit(
      (0..<10_000).map { cat(.integer(Int64($0)), .insert(["mail": "a"])) })
    guard case .refused(let objections) = outcome else {
      Issue.record("\(outcome.brief)")
      return
    }
    #expect(objections.first?.key.id == [1])
    #expect(objections.count == SyncLimits.maxObjectionCount)
  }

  @Test("A violation of a record that changed after the base is a conflict [self]")
  func ownRecordIsNew() throws {
    let shop = try Shop()
    try shop.commit(cat(1, .insert(["mail": "a"])), cat(2, .insert(["mail": "b"])))
    let base = try shop.space.head
    try shop.commit(cat(2, .update(["n": 1])), by: 1)
    #expect(
      try shop.commit(cat(2, .update(["mail": "a"])), on: base).brief == "conflict: cat(2) taken")
    #expect(try shop.commit(cat(2, .update(["mail": "a"]))).brief == "refused: cat(2) taken")
  }

  @Test("An edit that keeps its value is not refused for another one that takes it")
  func keptValue() throws {
    let shop = try Shop()
    try shop.commit(cat(1, .insert(["mail": "a"])))
    let base = try shop.space.head
    #expect(
      try shop.commit(cat(1, .update(["n": 1])), cat(2, .insert(["mail": "a"]))).brief
        == "refused: cat(2) taken")
    // The record in the commit has a value that the replica has not seen.
    try shop.commit(cat(1, .update(["mail": "b"])), by: 1)
    #expect(
      try shop.commit(cat(1, .update(["n": 1])), cat(2, .insert(["mail": "b"])), on: base).brief
        == "conflict: cat(2) taken")
  }

  // MARK: - References

  @Test("A parent is found by its key or by another column, in any order and as if deferred")
  func parents() throws {
    let shop = try Shop()
    #expect(
      try shop.commit(
        item(1, .insert(["cat": "c", "tag": "x", "next": 1])),
        cat("c", .insert(["name": "x"]))
      ).brief == "accepted")
    #expect(
      try shop.commit(item(2, .insert(["cat": "d"]))).brief == "refused: item(2) missingParent")
    #expect(
      try shop.commit(item(2, .insert(["tag": "X"]))).brief == "refused: item(2) missingParent")
    #expect(
      try shop.commit(item(2, .insert(["next": 3]))).brief == "refused: item(2) missingParent")
    #expect(try shop.commit(item(2, .insert(["next": 1.0]))).brief == "accepted")
    #expect(try shop.commit(item(1, .delete)).brief == "refused: item(1) needed")
    #expect(try shop.commit(cat("c", .delete)).brief == "refused: cat(c) needed")
    #expect(
      try shop.commit(cat("c", .update(["name": "y"]))).brief == "refused: cat(c) needed")
    #expect(try shop.commit(cat("c", .update(["n": 1]))).brief == "accepted")
    #expect(
      try shop.commit(cat("c", .delete), item(1, .delete), item(2, .update(["next": .null]))).brief
        == "accepted")
    #expect(try shop.claims.isEmpty)
  }

  @Test("A need is compared after the affinity of the parent's column, a key included")
  func affinity() throws {
    let byText = SpaceConstraint.reference(
      ["cat"], to: "cat", [ComparedColumn("id", .binary, .text)])
    let byNumber = SpaceConstraint.reference(
      ["tag"], to: "cat", [ComparedColumn("name", .binary, .integer)])
    let shop = try Shop(Shop.tables(cat: [], item: [byText, byNumber]))
    #expect(
      try shop.commit(
        cat("7", .insert(["name": 5])), item(1, .insert(["cat": 7, "tag": "05"]))
      ).brief == "accepted")
    #expect(try shop.commit(item(2, .insert(["cat": 8]))).brief == "refused: item(2) missingParent")
    #expect(try shop.commit(cat("7", .delete)).brief == "refused: cat(7) needed")
  }

  @Test("A parent that went after the base, and a child that came after it, are conflicts")
  func unseen() throws {
    let shop = try Shop()
    try shop.commit(
      cat("c", .insert([:])), cat("d", .insert(["name": "x"])), cat("e", .insert([:])))
    let base = try shop.space.head
    try shop.commit(cat("c", .delete), cat("d", .update(["name": "y"])), by: 1)
    try shop.commit(item(9, .insert(["cat": "e"])), by: 1)
    #expect(
      try shop.commit(item(1, .insert(["cat": "c"])), on: base).brief
        == "conflict: item(1) missingParent")
    #expect(
      try shop.commit(item(1, .insert(["tag": "x"])), on: base).brief
        == "conflict: item(1) missingParent")
    #expect(
      try shop.commit(cat("e", .delete), on: base).brief == "conflict: cat(e) needed")
    // Only what is unseen is named.
    #expect(
      try shop.commit(item(1, .insert(["cat": "never"])), cat("e", .delete), on: base).brief
        == "conflict: cat(e) needed")
    #expect(
      try shop.commit(item(1, .insert(["cat": "c"]))).brief == "refused: item(1) missingParent")
    #expect(try shop.commit(cat("e", .delete)).brief == "refused: cat(e) needed")
  }

  @Test("A value that several parents offer is needed only from the last one")
  func offers() throws {
    let shop = try Shop()
    try shop.commit(
      cat("c", .insert(["name": "x"])), cat("d", .insert(["name": "x"])),
      item(1, .insert(["tag": "x"])))
    #expect(
      try shop.commit(cat("c", .delete), cat("d", .delete)).brief
        == "refused: cat(c) needed, cat(d) needed")
    #expect(try shop.commit(cat("c", .delete)).brief == "accepted")
    #expect(try shop.commit(cat("d", .delete)).brief == "refused: cat(d) needed")
    // Another record may take over.
    #expect(
      try shop.commit(cat("d", .delete), cat("e", .insert(["name": "x"]))).brief == "accepted")
  }

  @Test("A refusal names also what cannot stand without the refused changes [closure]")
  func closure() throws {
    let shop = try Shop()
    try shop.commit(cat("c", .insert(["mail": "a"])), cat("d", .insert(["mail": "b"])))
    // d takes the value of c, so that it keeps its own one, which e wants, to which an item refers, and so on.
    #expect(
      try shop.commit(
        item(3, .insert(["next": 2])), item(2, .insert(["next": 1])),
        item(1, .insert(["cat": "e"])), cat("e", .insert(["mail": "b"])),
        cat("d", .update(["mail": "A"])), item(4, .insert(["next": 4])), cat("f", .insert([:]))
      ).brief
        == "refused: item(3) missingParent, item(2) missingParent, item(1) missingParent, "
        + "cat(e) taken, cat(d) taken")
  }

  @Test("A commit of ten thousand changes that refuse each other one by one is judged in one pass")
  func longClosure() throws {
    let shop = try Shop()
    // With a pass over all changes for each link, this takes minutes.
    let changes = (0..<10_000).map {
      item(.integer(Int64($0)), .insert(["next": .integer(Int64($0 + 1))]))
    }
    let outcome = try shop.commit(changes)
    guard case .refused(let objections) = outcome else {
      Issue.record("\(outcome.brief)")
      return
    }
    #expect(objections.count == SyncLimits.maxObjectionCount)
  }

  @Test("Other conflicts are looked at first")
  func order() throws {
    let shop = try Shop()
    try shop.commit(cat(1, .insert(["mail": "a"])))
    #expect(
      try shop.commit(cat(2, .insert(["mail": "a"])), cat(3, .delete)).brief
        == "conflict: cat(3) missing")
    #expect(
      try shop.commit(cat(2, .insert(["mail": "a"])), cat(3, .insert(["z": 1]))).brief
        == "refused: cat(3) unknownColumn")
  }

  @Test("Units of fields are checked in the file, too [together]")
  func together() throws {
    let shop = try Shop(Shop.tables(cat: [.together(["mail", "name"])], item: nil))
    try shop.commit(cat(1, .insert(["mail": 1, "name": 10])))
    let base = try shop.space.head
    try shop.commit(cat(1, .update(["mail": 8])), by: 1)
    #expect(
      try shop.commit(cat(1, .update(["name": 5])), on: base).brief == "conflict: cat(1) changed")
    #expect(try shop.commit(cat(1, .update(["n": 5])), on: base).brief == "accepted")
  }
}

@Suite(.onBothStores) struct SpaceConstraintDeclarationTests {
  @Test(
    "A constraint that records break is pending with their keys, and holds once they satisfy it")
  func pending() throws {
    let shop = try Shop(Shop.tables(cat: nil, item: nil))
    let inserts = (0..<8).map { cat(.integer(Int64($0)), .insert(["mail": "a"])) }
    try shop.commit(inserts + [item(1, .insert(["cat": "c"])), item(2, .insert(["tag": "x"]))])
    try shop.commit(cat(0, .update(["n": 1])))
    let answer = try shop.declare(Shop.tables())
    #expect(answer.map(\.constraints) == [[Shop.inItself], []])
    #expect(
      answer.map(\.pending) == [
        [
          PendingConstraint(Shop.byKey, records: [[1]]),
          PendingConstraint(Shop.byName, records: [[2]]),
        ],
        [PendingConstraint(Shop.mail, records: [[1], [2], [3], [4], [5]])],
      ])
    // Nothing is checked yet.
    #expect(try shop.commit(cat(9, .insert(["mail": "A"]))).brief == "accepted")
    // The parent comes: with the commit, the constraint holds.
    #expect(try shop.commit(cat("c", .insert([:]))).brief == "accepted")
    #expect(try shop.table("item").constraints == [Shop.inItself, Shop.byKey])
    #expect(try shop.commit(cat("c", .delete)).brief == "refused: cat(c) needed")
    try shop.commit((1..<8).map { cat(.integer(Int64($0)), .delete) })
    #expect(try shop.table("cat").pending.count == 1)
    try shop.commit(cat(0, .update(["mail": "b"])))
    #expect(try shop.table("cat").constraints == [Shop.mail])
    #expect(try shop.commit(cat(0, .update(["mail": "a"]))).brief == "refused: cat(0) taken")
    #expect(try shop.declare(Shop.tables())[0].pending.map(\.records) == [[[2]]])
    try shop.commit(item(2, .delete))
    #expect(try shop.declare(Shop.tables()).flatMap(\.pending).isEmpty)
  }

  @Test("The claims of records that were there before are found in one scan")
  func scan() throws {
    let shop = try Shop(Shop.tables(cat: nil, item: nil))
    try shop.commit(
      cat("c", .insert(["mail": "a", "name": "x"])), cat("d", .insert([:])),
      item(1, .insert(["cat": "c", "tag": "x"])))
    try shop.commit(cat("d", .delete))
    try shop.declare(Shop.tables())
    #expect(try shop.claims.count == 4)
    #expect(
      try shop.commit(cat("c", .delete), cat("e", .insert(["mail": "A"]))).brief
        == "refused: cat(c) needed, cat(e) taken")
    try shop.commit(item(1, .delete), cat("c", .delete))
    #expect(try shop.claims.isEmpty)
  }

  @Test("A program that knows no constraints adds none and sees none, and is checked all the same")
  func oldProgram() throws {
    let shop = try Shop()
    let old = Shop.tables(cat: nil, item: nil)
    #expect(try shop.declare(old) == old)
    #expect(try shop.declare(old, adds: false) == old)
    let new = try shop.declare(Shop.tables(cat: [], item: nil))
    #expect(new == Shop.tables())
    // A table that is new has an empty list for a program that knows constraints.
    let other = SpaceTable(
      name: "other", columns: [], keyColumns: ["id"], granularity: .field, constraints: [])
    #expect(try shop.declare([other]).last == other)
    #expect(try shop.space.state.tables.last?.constraints == nil)
    #expect(try shop.declare(old).last?.constraints == nil)
  }

  @Test("A constraint of tables or columns that the space lacks is refused, in any order of tables")
  func unknownNames() throws {
    let shop = try Shop([])
    func code(_ tables: [SpaceTable]) -> SyncRequestError.Code? {
      #expect(throws: SyncRequestError.self) { try shop.declare(tables) }?.code
    }
    #expect(code([Shop.tables()[0]]) == .differentTables)
    #expect(try shop.space.state.tables.isEmpty)
    #expect(
      code(Shop.tables(cat: [.unique([ComparedColumn("Mail")])])) == .differentTables)
    #expect(code(Shop.tables(item: [.together(["z"])])) == .differentTables)
    #expect(
      code(Shop.tables(item: [.reference(["cat"], to: "cat", [ComparedColumn("z")])]))
        == .differentTables)
    #expect(
      code(Shop.tables(item: [.reference(["cat"], to: "Cat", [ComparedColumn("id")])]))
        == .differentTables)
    #expect(try shop.declare(Shop.tables()) == Shop.tables())
    let many = (0..<SyncLimits.maxConstraintCount).map { number in
      SpaceConstraint.together((0..<10).map { number >> $0 & 1 == 0 ? "mail" : "name" })
    }
    #expect(code(Shop.tables(cat: many)) == .overLimit)
  }

  @Test("A client that may only read is refused constraints that the space lacks")
  func readOnly() throws {
    let shop = try Shop()
    #expect(try shop.declare(Shop.tables(), adds: false) == Shop.tables())
    let more = Shop.tables(cat: [.unique([ComparedColumn("name")])])
    let refusal = #expect(throws: SyncRequestError.self) { try shop.declare(more, adds: false) }
    #expect(refusal?.code == .unauthorized)
    // Pending ones are known as well.
    try shop.commit(cat(1, .insert(["name": 1])), cat(2, .insert(["name": 1])))
    try shop.declare(more)
    #expect(try shop.declare(more, adds: false)[1].pending.count == 1)
  }

  @Test("Only a file with constraints has the format that earlier versions refuse", .onlyOnSQLite)
  func format() throws {
    let shop = try Shop(Shop.tables(cat: nil, item: []))
    func format() throws -> Int64? { try shop.space.connection.integer("PRAGMA user_version") }
    #expect(try format() == 1)
    // An earlier version reads the declaration, which names no constraints.
    #expect(
      try shop.space.connection.integer("SELECT instr(tables, 'constraints') FROM space") == 0)
    #expect(
      try shop.space.connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'claim'")
        == 0)
    try shop.declare(Shop.tables())
    #expect(try format() == 2)
    try shop.declare(Shop.tables(cat: [Shop.mail, .together(["name", "n"])]))
    #expect(try format() == 2)
    #expect(
      try shop.space.connection.rows("SELECT number, tab, parent FROM rule") == [
        [1, "item", "cat"], [2, "item", "cat"], [3, "item", "item"], [4, "cat", .null],
        [5, "cat", .null],
      ])
  }

  @Test("A dropped constraint is checked no more, and no declaration brings it back")
  func dropping() throws {
    let shop = try Shop()
    try shop.commit(
      cat("c", .insert(["mail": "a", "name": "x"])), item(1, .insert(["cat": "c", "tag": "x"])))
    func rules() throws -> [String] {
      try shop.space.run { space, _ in try space.rules() }.map {
        "\($0.number) \($0.table): \($0.constraint)"
      }
    }
    #expect(
      try rules() == [
        "1 item: cat refers to cat(id)", "2 item: tag refers to cat(name)",
        "3 item: next refers to item(id)", "4 cat: mail is unique (NOCASE)",
      ])
    func drop(_ number: Int) throws -> SpaceConstraint? {
      try shop.space.run { space, _ in try space.dropConstraint(number) }?.constraint
    }
    #expect(try drop(9) == nil)
    #expect(try drop(4) == Shop.mail)
    #expect(try drop(2) == Shop.byName)
    #expect(try drop(2) == nil)
    #expect(try shop.claims.count == 1)
    #expect(
      try shop.declare(Shop.tables()) == Shop.tables(cat: [], item: [Shop.byKey, Shop.inItself]))
    #expect(try rules().count == 2)
    #expect(try shop.commit(cat("d", .insert(["mail": "A"]))).brief == "accepted")
    #expect(try shop.commit(cat("c", .update(["name": "y"]))).brief == "accepted")
    #expect(try shop.commit(cat("c", .delete)).brief == "refused: cat(c) needed")
    // Numbers are not given again.
    let pair = SpaceConstraint.unique([ComparedColumn("mail", .nocase), ComparedColumn("n")])
    let exact = SpaceConstraint.unique([ComparedColumn("mail", .rtrim)])
    try shop.declare(Shop.tables(cat: [pair, exact]))
    #expect(try shop.commit(cat("e", .insert(["mail": "a "]))).brief == "refused: cat(e) taken")
    #expect(try drop(6) == exact)
    #expect(try shop.commit(cat("e", .insert(["mail": "a "]))).brief == "accepted")
    let broken = SpaceConstraint.reference(["tag"], to: "cat", [ComparedColumn("mail")])
    try shop.declare(Shop.tables(item: [broken]))
    #expect(try shop.table("item").pending == [PendingConstraint(broken, records: [[1]])])
    #expect(try drop(7) == broken)
    #expect(try shop.table("item").pending.isEmpty)
    try shop.declare(Shop.tables(cat: [.together(["n"])], item: [broken]))
    #expect(
      try rules().suffix(2) == [
        "5 cat: mail, n are unique (NOCASE, BINARY)", "8 cat: n belongs together",
      ])
  }
}
