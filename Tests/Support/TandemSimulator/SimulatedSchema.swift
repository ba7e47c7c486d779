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
  static let count = 54
  /// The number of the first schema with keys that SQLite chooses.
  static let firstNumbered = 48
  /// The number of the first schema whose tables form three generations, with constraints of several
  /// kinds.
  private static let firstConstrained = 24
  /// The number of the first schema with indexes of several columns, ranges and trees.
  private static let firstRuled = 32

  /// One table.
  struct Table {
    enum KeyKind: CaseIterable {
      case text
      case integer
      case composite
    }

    enum CodeIndex: CaseIterable {
      case plain
      case partial
      case computed
      /// It takes `x` and `X` for equal.
      case nocase
      /// It is on the column `extra` too.
      case pair
    }

    /// The work of a trigger of the application, which writes the column `size`.
    enum Trigger: CaseIterable {
      /// It keeps the length of the first value.
      case length
      /// It counts all changes of the file, so that it writes another value in each file.
      case clock
    }

    let name: String
    let keyKind: KeyKind
    /// The columns in which every edit writes a value of its own.
    let valueColumns: [String]
    /// True if the column `visits` counts. One row is for counting, and is never deleted.
    let counts: Bool
    /// The unique index on the column `code`, if there is one.
    let codeIndex: CodeIndex?
    /// True if a constraint forbids a value of `code` beside one of `extra`.
    let isChecked: Bool
    /// True if the column `low` must not be greater than the column `high`.
    let hasRange: Bool
    /// The table that this one refers to, the column of it, and the action on deletion of the referenced row.
    let parent: (name: String, column: String, action: String)?
    /// The trigger of the application, if there is one.
    let trigger: Trigger?
    /// True if the column `note` is not synchronized.
    let hasNote: Bool
    let granularity: ConflictGranularity
    /// True if SQLite chooses the keys. A row has a `mark` of its own from the beginning.
    var isNumbered = false
    /// True if rows with one code, which copies add under different keys, are one record.
    var isSame = false
    /// True if the parent is such a table. The column `wanted` has the mark of the row that is referred to.
    var wantsMark = false

    /// The values of the column `code`.
    var codes: [FieldValue] {
      [.null, .text("x"), .text("y")]
        + (codeIndex == .computed || codeIndex == .nocase ? [.text("X")] : [])
    }

    /// A column that programs may add to the table, and its declaration. The file synchronizes it if
    /// the table was attached with all its columns.
    static let addedColumn = "late"
    var addition: String {
      "ALTER TABLE \(name) ADD COLUMN \(Table.addedColumn) TEXT"
        + (valueColumns.count == 1 ? " DEFAULT 'none'" : "")
    }

    /// The columns that programs may drop, and later create again by the declarations.
    var passingColumns: [(name: String, declaration: String)] {
      if hasNote { return [] }
      return valueColumns.dropFirst().suffix(1).map { ($0, "TEXT") }
        + (counts ? [("visits", "INTEGER DEFAULT 0")] : [])
    }

    /// The name of a unique index that programs may create, and the statement. The rows of one file satisfy most of the
    /// second kind; several rows may have one value of the first kind.
    var lateIndex: String { "\(name)_late" }
    var lateIndexCreation: String {
      "CREATE UNIQUE INDEX \(lateIndex) ON \(name) "
        + (valueColumns.count == 1 ? "(extra) WHERE extra NOT NULL" : "(lower(a))")
    }

    var keyColumns: [String] { keyKind == .composite ? ["id", "part"] : ["id"] }

    /// The columns beside the key, without the one that is not synchronized.
    var synchronizedColumns: [String] {
      valueColumns + ["extra"] + (counts ? ["visits"] : []) + (codeIndex != nil ? ["code"] : [])
        + (trigger != nil ? ["size"] : []) + (hasRange ? ["low", "high"] : [])
        + (parent != nil ? ["parent"] : []) + (isNumbered ? ["mark"] : [])
        + (wantsMark ? ["wanted"] : [])
    }

    /// The key of a number.
    func key(_ number: Int) -> [FieldValue] {
      switch keyKind {
      case .text: [.text("k\(number)")]
      case .integer: [.integer(Int64(number))]
      case .composite: [.text("k\(number / 2)"), .integer(Int64(number % 2))]
      }
    }

    /// The columns of the rule by which rows are the same.
    var same: [[String]] {
      guard isSame else { return [] }
      return switch codeIndex {
      case .plain, .nocase: [["code"]]
      case .pair: [["code", "extra"]]
      case .partial, .computed, nil: []
      }
    }

    /// The columns that belong together.
    var units: [Set<String>] {
      (isChecked || codeIndex == .partial ? [["code", "extra"]] : [])
        + (hasRange ? [["low", "high"]] : [])
    }

    /// The number of the row that counts.
    static let counterNumber = 98

    var isExactCounter: Bool { counts && granularity == .field }
  }

  /// How programs have changed a table of a file.
  struct Alteration: Hashable {
    /// True if the table has the column that programs may add.
    var hasAddedColumn = false
    /// The columns that programs have dropped.
    var dropped: Set<String> = []
    /// True if the table has the index that programs may create.
    var hasLateIndex = false
  }

  let tables: [Table]
  let merging: ReplicaMerging

  /// True if a table refers to another one.
  var hasForeignKeys: Bool { tables.contains { $0.parent != nil } }

  /// The schema of a number below ``count``.
  init(variant: Int) {
    let number = variant - SimulatedSchema.firstNumbered
    self = number < 0 ? SimulatedSchema(assigned: variant) : SimulatedSchema(numbered: number)
  }

  /// A schema in which programs choose the keys.
  private init(assigned variant: Int) {
    var random = SplitMix64(seed: 7_000 + variant)
    var tables: [Table] = []
    let isConstrained = variant >= SimulatedSchema.firstConstrained
    let isRuled = variant >= SimulatedSchema.firstRuled
    let ruledIndexes = [Table.CodeIndex.plain, .nocase, .pair]
    for number in 0..<(isConstrained ? 3 : Int.random(in: 1...3, using: &random)) {
      let isChild = number > 0 && (Bool.random(using: &random) || isConstrained)
      let keyKind = Table.KeyKind.allCases.randomElement(using: &random) ?? .text
      let columns = Array(["a", "b", "c"].prefix(Int.random(in: 1...3, using: &random)))
      let counts = Bool.random(using: &random)
      let hasCode = Int.random(in: 0..<3, using: &random) == 0
      let parent = tables.indices.contains(number - 1) && isConstrained ? number - 1 : 0
      var action: String?
      if isChild, isConstrained || tables[0].keyKind != .composite {
        action = ["CASCADE", "SET NULL", "RESTRICT"].randomElement(using: &random)
      }
      let codeIndex =
        isRuled
        ? ruledIndexes[(variant + number) % 3]
        : isConstrained
          ? [Table.CodeIndex.plain, .partial, .computed][(variant + number) % 3]
          : hasCode ? .plain : nil
      var reference = action.map { (tables[parent].name, "id", $0) }
      // The last table of some schemas is a tree; others refer to the code of their parents.
      if isRuled, number == 2, variant % 3 == 0 { reference?.0 = "t2" }
      let codeOfParent = reference?.0 == "t2" ? codeIndex : tables.last?.codeIndex
      if isRuled, variant % 2 == 0, let codeOfParent, codeOfParent != .pair {
        reference?.1 = "code"
      }
      tables.append(
        Table(
          name: "t\(number)", keyKind: isConstrained ? .text : keyKind, valueColumns: columns,
          counts: counts,
          codeIndex: codeIndex, isChecked: isConstrained && variant % 2 == 0,
          hasRange: isRuled && (variant + number) % 2 == 0, parent: reference,
          trigger: Int.random(in: 0..<3, using: &random) == 0
            ? Table.Trigger.allCases[(variant + number) % 2] : nil,
          hasNote: (variant + number) % 3 == 0 || hasCode,
          granularity: Int.random(in: 0..<3, using: &random) == 0 ? .record : .field,
          isSame: isConstrained && variant % 4 == 1))
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

  /// A schema with keys that SQLite chooses: a parent, its child, which is a tree in some, and a grandchild whose keys
  /// are texts, as in most schemas.
  private init(numbered number: Int) {
    var tables: [Table] = []
    let actions = ["CASCADE", "SET NULL", "RESTRICT"]
    for place in 0..<3 {
      let parent = place == 1 && number % 2 == 1 ? 1 : place - 1
      var table = Table(
        name: "t\(place)", keyKind: place < 2 ? .integer : .text, valueColumns: ["a"],
        counts: false, codeIndex: (place + number) % 3 == 0 ? [.plain, .pair][number % 2] : nil,
        isChecked: false, hasRange: place == 0 && number % 2 == 0,
        parent: place == 0 ? nil : ("t\(parent)", "id", actions[(place + number) % 3]),
        trigger: (place + number) % 4 == 3 ? .length : nil, hasNote: (place + number) % 3 == 1,
        granularity: (place + number) % 5 == 4 ? .record : .field)
      table.isNumbered = place < 2
      table.wantsMark = place > 0
      tables.append(table)
    }
    self.tables = tables
    let rule: MergePolicy<Record> =
      number < 3 ? .editBeatsDelete : .editBeatsDelete.then(.keepLocal)
    merging = ReplicaMerging(
      Dictionary(
        uniqueKeysWithValues: tables.map { ($0.name, TableMerging(fields: [:], record: rule)) }))
  }

  /// The statements that create the tables.
  var statements: [String] {
    ["CREATE TABLE clock (now INTEGER)", "INSERT INTO clock VALUES (0)"]
      + tables.flatMap { table in
        var columns: [String]
        switch table.keyKind {
        case .text: columns = ["id TEXT PRIMARY KEY"]
        case .integer:
          columns = ["id INTEGER PRIMARY KEY" + (table.isNumbered ? " AUTOINCREMENT" : "")]
        case .composite: columns = ["id TEXT", "part INT"]
        }
        columns += table.valueColumns.map { "\($0) TEXT" }
        columns.append("extra")
        if table.counts { columns.append("visits INTEGER") }
        switch table.codeIndex {
        case .plain: columns.append("code TEXT UNIQUE")
        case .nocase: columns.append("code TEXT COLLATE NOCASE UNIQUE")
        case .partial, .pair: columns.append("code TEXT")
        case .computed: columns += ["code TEXT", "lowered AS (lower(code))"]
        case nil: break
        }
        if table.trigger != nil { columns.append("size INTEGER") }
        if table.hasRange { columns += ["low INTEGER", "high INTEGER"] }
        if table.hasNote { columns.append("note TEXT") }
        if let parent = table.parent {
          columns.append(
            "parent REFERENCES \(parent.name)(\(parent.column)) ON DELETE \(parent.action)")
        }
        if table.isNumbered { columns.append("mark TEXT") }
        if table.wantsMark {
          columns.append("wanted TEXT CHECK (parent IS NULL OR wanted NOT NULL)")
        }
        if table.hasRange { columns.append("CHECK (low <= high)") }
        if table.codeIndex == .pair { columns.append("UNIQUE (code, extra)") }
        if table.isChecked { columns.append("CHECK (code IS NOT 'y' OR extra IS NULL)") }
        if table.keyKind == .composite { columns.append("PRIMARY KEY (id, part)") }
        var statements = [
          "CREATE TABLE \(table.name) (\(columns.joined(separator: ", ")))"
            + (table.keyKind == .composite ? " WITHOUT ROWID" : "")
        ]
        switch table.codeIndex {
        case .partial:
          statements.append(
            "CREATE UNIQUE INDEX \(table.name)_code ON \(table.name) (code) WHERE extra IS NULL")
        case .computed:
          statements.append(
            "CREATE UNIQUE INDEX \(table.name)_code ON \(table.name) (lowered)")
        case .plain, .nocase, .pair, nil: break
        }
        let condition = table.keyColumns.map { "\($0) = new.\($0)" }.joined(separator: " AND ")
        switch table.trigger {
        case .length:
          statements.append(
            """
            CREATE TRIGGER \(table.name)_size AFTER UPDATE OF a ON \(table.name) BEGIN
              UPDATE \(table.name) SET size = length(new.a) WHERE \(condition); END
            """)
        case .clock:
          statements.append(
            """
            CREATE TRIGGER \(table.name)_size AFTER UPDATE ON \(table.name) BEGIN
              UPDATE clock SET now = now + 1;
              UPDATE \(table.name) SET size = (SELECT now FROM clock) WHERE \(condition); END
            """)
        case nil: break
        }
        return statements
      }
  }

  /// The tables to attach.
  var attachedTables: [AttachedTable] {
    tables.map { table in
      var attached = AttachedTable(
        table.name, same: table.same, granularity: table.granularity, renumbers: table.isNumbered,
        allowsAssignedKeys: true)
      if table.hasNote { attached.columns = table.synchronizedColumns }
      return attached
    }
  }
}
