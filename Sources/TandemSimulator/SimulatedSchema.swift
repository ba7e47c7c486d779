import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSync
import TestRandom

/// A random schema: tables with several kinds of keys, columns for values that edits write, and the
/// rules for conflicts.
struct SimulatedSchema {
  /// The number of different schemas. It is bounded, so that databases can be used again: opening one
  /// takes longer than a whole scenario.
  static let count = 24

  /// One table.
  struct Table {
    enum KeyKind: CaseIterable {
      case text
      case integer
      case composite
    }

    let name: String
    let keyKind: KeyKind
    /// The columns in which every edit writes a value of its own.
    let valueColumns: [String]
    /// True if the column `visits` counts. One row is for counting, and is never deleted.
    let counts: Bool
    /// True if the column `code` is unique.
    let hasCode: Bool
    /// The action on deletion of the referenced row of the first table, if the table refers to it.
    let parentAction: String?
    /// True if a trigger of the application keeps the length of the first value.
    let hasTrigger: Bool
    let granularity: SpaceTable.Granularity

    var keyColumns: [String] { keyKind == .composite ? ["id", "part"] : ["id"] }

    /// The key of a number.
    func key(_ number: Int) -> [FieldValue] {
      switch keyKind {
      case .text: [.text("k\(number)")]
      case .integer: [.integer(Int64(number))]
      case .composite: [.text("k\(number / 2)"), .integer(Int64(number % 2))]
      }
    }

    /// The number of the row that counts.
    static let counterNumber = 98

    var isExactCounter: Bool { counts && granularity == .field }
  }

  let tables: [Table]
  let merging: ReplicaMerging

  /// True if a table refers to another one.
  var hasForeignKeys: Bool { tables.contains { $0.parentAction != nil } }

  /// The schema of a number below ``count``.
  init(variant: Int) {
    var random = SplitMix64(seed: 7_000 + variant)
    var tables: [Table] = []
    for number in 0..<Int.random(in: 1...3, using: &random) {
      let isChild = number > 0 && Bool.random(using: &random)
      tables.append(
        Table(
          name: "t\(number)",
          keyKind: Table.KeyKind.allCases.randomElement(using: &random) ?? .text,
          valueColumns: Array(["a", "b", "c"].prefix(Int.random(in: 1...3, using: &random))),
          counts: Bool.random(using: &random),
          hasCode: Int.random(in: 0..<3, using: &random) == 0,
          parentAction: isChild && tables[0].keyKind != .composite
            ? ["CASCADE", "SET NULL", "RESTRICT"].randomElement(using: &random) : nil,
          hasTrigger: Int.random(in: 0..<3, using: &random) == 0,
          granularity: Int.random(in: 0..<3, using: &random) == 0 ? .record : .field))
    }
    self.tables = tables
    let rule: MergePolicy<Record>
    switch Int.random(in: 0..<3, using: &random) {
    case 0: rule = .editBeatsDelete
    case 1: rule = .editBeatsDelete.then(.keepLocal)
    default: rule = .editBeatsDelete.then(.keepRemote)
    }
    merging = ReplicaMerging(
      Dictionary(
        uniqueKeysWithValues: tables.map { table in
          (
            table.name,
            TableMerging(fields: table.counts ? ["visits": .counter] : [:], record: rule)
          )
        }))
  }

  /// The statements that create the tables.
  var statements: [String] {
    tables.flatMap { table in
      var columns: [String]
      switch table.keyKind {
      case .text: columns = ["id TEXT PRIMARY KEY"]
      case .integer: columns = ["id INTEGER PRIMARY KEY"]
      case .composite: columns = ["id TEXT", "part INT"]
      }
      columns += table.valueColumns.map { "\($0) TEXT" }
      columns.append("extra")
      if table.counts { columns.append("visits INTEGER") }
      if table.hasCode { columns.append("code TEXT UNIQUE") }
      if table.hasTrigger { columns.append("size INTEGER") }
      if let action = table.parentAction {
        columns.append("parent REFERENCES t0(id) ON DELETE \(action)")
      }
      if table.keyKind == .composite { columns.append("PRIMARY KEY (id, part)") }
      var statements = [
        "CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")))"
          + (table.keyKind == .composite ? " WITHOUT ROWID" : "")
      ]
      if table.hasTrigger {
        statements.append(
          """
          CREATE TRIGGER \(table.name)_size AFTER UPDATE OF a ON \(table.name) BEGIN
            UPDATE \(table.name) SET size = length(new.a) WHERE \(
              table.keyColumns.map { "\($0) = new.\($0)" }.joined(separator: " AND ")); END
          """)
      }
      return statements
    }
  }

  /// The tables to attach.
  var attachedTables: [AttachedTable] {
    tables.map {
      AttachedTable($0.name, granularity: $0.granularity, allowsAssignedKeys: true)
    }
  }
}
