import TandemRecords
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

/// The canonical values of claims, compared with SQLite's own verdicts.
@Suite struct SpaceClaimsTests {
  @Test(
    "Two values are one claim exactly if SQLite finds them equal, by `=` and in a unique index [canon]",
    arguments: ComparedColumn.Collation.allCases)
  func uniqueValues(collation: ComparedColumn.Collation) throws {
    let claims = claims(.unique([ComparedColumn("v", collation)]))
    let connection = try DatabaseConnection(path: ":memory:")
    for seed in 0..<60 {
      var random = SplitMix64(seed: seed)
      try connection.execute(
        "CREATE TABLE u (v COLLATE \(collation.rawValue) UNIQUE)")
      var claimed: Set<[UInt8]> = []
      for _ in 0..<25 {
        let value = randomValue(using: &random)
        let claim = try #require(self.claim(claims, "child", value))
        let isTaken = !claimed.insert(claim).inserted
        let insertion = Result { try connection.run("INSERT INTO u VALUES (?)", [value]) }
        #expect(isTaken == insertion.isFailure, "seed \(seed): \(value) COLLATE \(collation)")
        let other = randomValue(using: &random)
        let sql = "SELECT ?1 COLLATE \(collation.rawValue) = ?2"
        let isEqual = try connection.row(sql, [value, other])?.first == 1
        #expect(
          (claim == self.claim(claims, "child", other)) == isEqual,
          "seed \(seed): \(value) = \(other) COLLATE \(collation)")
      }
      try connection.execute("DROP TABLE u")
    }
  }

  @Test(
    "A child finds its parent exactly if SQLite's foreign key does, by the parent's affinity and collation [canon]",
    arguments: ComparedColumn.Affinity.allCases, ComparedColumn.Collation.allCases)
  func references(affinity: ComparedColumn.Affinity, collation: ComparedColumn.Collation) throws {
    let column = ComparedColumn("v", collation, affinity)
    let claims = claims(.reference(["v"], to: "parent", [column]))
    let connection = try DatabaseConnection(path: ":memory:")
    try connection.execute("PRAGMA foreign_keys=ON")
    for type in ["", "TEXT", "NUMERIC", "INTEGER", "REAL"] {
      try connection.execute(
        "CREATE TABLE parent (v \(affinity.rawValue) COLLATE \(collation.rawValue) UNIQUE)")
      try connection.execute("CREATE TABLE child (v \(type) REFERENCES parent (v))")
      for seed in 0..<10 {
        var random = SplitMix64(seed: seed)
        var offers: Set<[UInt8]> = []
        for _ in 0..<12 {
          let value = randomValue(using: &random)
          try? connection.run("INSERT INTO parent VALUES (?)", [value])
        }
        let parents = try connection.rows("SELECT v FROM parent")
        for row in parents {
          offers.insert(try #require(claim(claims, "parent", row[0])))
        }
        for _ in 0..<12 {
          // The value as the child's column stores it.
          try connection.execute("PRAGMA foreign_keys=OFF")
          try connection.run("INSERT INTO child VALUES (?)", [randomValue(using: &random)])
          let value = try #require(try connection.row("SELECT v FROM child", [])?.first)
          try connection.execute("DELETE FROM child")
          try connection.execute("PRAGMA foreign_keys=ON")
          let insertion = Result { try connection.run("INSERT INTO child VALUES (?)", [value]) }
          let need = try #require(claim(claims, "child", value))
          #expect(
            offers.contains(need) != insertion.isFailure,
            "seed \(seed): \(value) of \(type), \(parents)")
          try connection.execute("DELETE FROM child")
        }
        try connection.execute("DELETE FROM parent")
      }
      try connection.execute("DROP TABLE child")
      try connection.execute("DROP TABLE parent")
    }
  }

  @Test("Tuples are compared as a whole, the columns of keys included, and a null claims nothing")
  func tuples() {
    let rule = SpaceRule(
      1, "t", .unique([ComparedColumn("id"), ComparedColumn("a", .nocase)]), holds: true)
    let table = SpaceTable(
      name: "t", columns: ["a", "b"], keyColumns: ["part", "id"], granularity: .field)
    let claims = SpaceClaims([rule], tables: [table])
    func value(_ part: FieldValue, _ id: FieldValue, _ fields: Record) -> [UInt8]? {
      claims.claims(of: SyncKey(table: "t", id: [part, id]), fields).first?.value
    }
    #expect(value(1, 2, ["a": "X"]) == value(3, 2.0, ["a": "x", "b": 1]))
    #expect(value(1, 2, ["a": "X"]) != value(2, 1, ["a": "X"]))
    #expect(value(1, "ab", ["a": "c"]) != value(1, "a", ["a": "bc"]))
    #expect(value(1, 2, ["b": 1]) == nil)
    #expect(value(1, 2, ["a": .null]) == nil)
    #expect(value(1, 2, ["a": .real(.nan)]) == nil)
    #expect(claims.claims(of: SyncKey(table: "other", id: [1]), ["a": 1]).isEmpty)
  }

  // MARK: - Parts

  private func claims(_ constraint: SpaceConstraint) -> SpaceClaims {
    let tables = ["parent", "child"].map {
      SpaceTable(name: $0, columns: ["v"], keyColumns: ["id"], granularity: .field)
    }
    return SpaceClaims([SpaceRule(1, "child", constraint, holds: true)], tables: tables)
  }

  private func claim(_ claims: SpaceClaims, _ table: String, _ value: FieldValue) -> [UInt8]? {
    claims.claims(of: SyncKey(table: table, id: [1]), ["v": value]).first?.value
  }

  private func randomValue(using random: inout SplitMix64) -> FieldValue {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5:
      let letters = Array("aA bB\0é\tÉſß ı")
      let count = Int.random(in: 1...3, using: &random)
      return .text(
        String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" }))
    case 5:
      let texts = ["1", "1.0", "01", "1e0", " 1 ", "1.5", "-0", "9007199254740993", "1x", ""]
      return .text(texts.randomElement(using: &random) ?? "1")
    case 6, 7:
      let numbers: [Int64] = [
        0, -1, 1, 1 << 53, 1 << 53 + 1, .max, .min, 1_000_000_000_000_000,
      ]
      return .integer(numbers.randomElement(using: &random) ?? 0)
    case 8:
      let numbers = [
        0.0, -0.0, 1, -1, 9007199254740992, 9007199254740994, 0x1p63, -0x1p63, 1e15, 1.5,
        .infinity,
      ]
      return .real(numbers.randomElement(using: &random) ?? 0)
    default:
      let blobs: [[UInt8]] = [[97], [65], [0], [49], []]
      return .blob(blobs.randomElement(using: &random) ?? [])
    }
  }
}

extension Result {
  fileprivate var isFailure: Bool {
    if case .failure = self { true } else { false }
  }
}
