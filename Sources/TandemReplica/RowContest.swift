internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Places records whose rows wait for unique values of each other, or of rows that no record has
/// come for.
///
/// First, all rows that take part are taken out of their tables. So rows that only exchange values
/// come back without a conflict. Two rows of a table cannot have the same unique value, but the space
/// accepts such records from two replicas. Then one row has to go: local edits first, otherwise the
/// record with the greater key, so that all replicas choose the same.
///
/// Until then no triggers run, so that those of the application see no row that goes and comes back.
/// In the end, each row changes once more, from its former to its final version, with triggers, while
/// the others are out of the way.
///
/// SQLite itself decides which rows are in the way: `REPLACE` removes exactly these, whether a unique
/// index is partial, on a generated column, on an expression or none of them. This is tried and undone.
struct RowContest {
  /// A row that takes part.
  private struct Entry {
    var placement: RowPlacement
    /// True if the file had the row.
    let existed: Bool
    /// The values that it had in columns that are not synchronized.
    let others: Record?
    /// True if the row as it was is kept aside.
    var isKept = false
    /// True if the table has the row now.
    var isInTable: Bool
    /// The reason for which the table cannot have the row at all.
    var obstacle: String?
  }

  /// A change that was given up.
  struct Rejection {
    let key: SyncKey
    let reason: String
    let content: Record?
    /// The values of the row in columns that are not synchronized.
    let others: Record?
  }

  private let tables: ReplicaTables
  private var entries: [Entry] = []
  private var numbers: [SyncKey: Int] = [:]
  private var stages: [String: ContestStage] = [:]
  /// The changes that were given up, in order.
  private(set) var rejections: [Rejection] = []

  private static let reason = "another row has the same unique value"

  /// A contest of records that wait. Their rows are as they are in the file.
  init(_ tables: ReplicaTables, _ waiting: [RowPlacement]) throws {
    self.tables = tables
    for placement in waiting { try add(placement) }
  }

  @discardableResult
  private mutating func add(_ placement: RowPlacement) throws -> Int {
    let exists = !placement.row.row.isMissing
    numbers[placement.syncKey] = entries.count
    let others = exists ? try tables.otherValues(placement.table, placement.key) : nil
    entries.append(
      Entry(placement: placement, existed: exists, others: others, isInTable: exists))
    return entries.count - 1
  }

  /// The final versions, which the tables have, except for those with an obstacle.
  var placements: [(placement: RowPlacement, obstacle: String?, others: Record?)] {
    entries.map { ($0.placement, $0.obstacle, $0.others) }
  }

  /// Decides the contest, and writes the rows.
  ///
  /// - Parameter firingTriggers: True if tables have triggers of the application.
  mutating func run(firingTriggers: Bool) throws {
    let connection = tables.connection
    try tables.quietly {
      // Only so do triggers run for rows that `REPLACE` removes.
      let wasRecursive = try connection.integer("PRAGMA recursive_triggers") ?? 0
      try connection.execute("PRAGMA recursive_triggers = 1")
      defer { try? connection.execute("PRAGMA recursive_triggers = \(wasRecursive)") }
      try decide()
    }
    if firingTriggers {
      do {
        try connection.savepoint { try repeatWithTriggers() }
      } catch let error as DatabaseError where error.forbidsRow && connection.isInTransaction {
        // A trigger has taken one of the values. The rows are right without the triggers.
      }
    }
    for stage in stages.values { try stage.drop(connection) }
  }
}

// MARK: - Without triggers

extension RowContest {
  private mutating func decide() throws {
    var queue = entries.indices.sorted {
      entries[$0].placement.syncKey < entries[$1].placement.syncKey
    }
    for number in queue { try takeOut(number) }
    // Rows that lose their local edits follow with the record of the space.
    var position = 0
    while position < queue.count {
      queue += try place(queue[position])
      position += 1
    }
  }

  /// Places a row, at the expense of others if necessary; returns the rows that have to be placed
  /// again, without their local edits.
  private mutating func place(_ number: Int) throws -> [Int] {
    if try isPlaced(number) { return [] }
    if entries[number].placement.hasEdits {
      rejectEdits(number, RowContest.reason)
      if try isPlaced(number) { return [] }
    }
    guard var holders = try holders(number) else {
      entries[number].obstacle = RowContest.reason
      return []
    }
    let edited = holders.filter { entries[$0].placement.hasEdits }
    for holder in edited {
      try takeOut(holder)
      rejectEdits(holder, RowContest.reason)
    }
    holders.removeAll(where: edited.contains)
    let key = entries[number].placement.syncKey
    if holders.contains(where: { entries[$0].placement.syncKey < key }) {
      giveUp(number)
      return edited
    }
    for holder in holders {
      try takeOut(holder)
      giveUp(holder)
    }
    if try !isPlaced(number) { entries[number].obstacle = RowContest.reason }
    return edited
  }

  /// Writes a row that is not in its table; `false` if another one has one of its unique values.
  private mutating func isPlaced(_ number: Int) throws -> Bool {
    guard entries[number].placement.result != nil else { return true }
    do {
      try insert(number, "ABORT")
      entries[number].isInTable = true
      return true
    } catch let error as DatabaseError where error.isAboutUniqueness {
      return false
    } catch let error as DatabaseError where error.forbidsRow {
      if entries[number].placement.hasEdits {
        rejectEdits(number, error.message)
        return try isPlaced(number)
      }
      entries[number].obstacle = error.message
      return true
    }
  }

  /// The rows that prevent a row; `nil` if one of them is unknown or cannot be read.
  private mutating func holders(_ number: Int) throws -> [Int]? {
    let table = entries[number].placement.table
    let stage = try stage(of: table)
    var found: (keys: [[FieldValue]], unreadable: [Int]) = ([], [])
    do {
      try tables.connection.savepoint {
        try tables.run(stage.forgetRemoved, [])
        try insert(number, "REPLACE")
        let (keys, unreadable) = try tables.readableRows(stage.removed, [])
        found = (keys, unreadable)
        throw Undone()
      }
    } catch is Undone {}
    guard !found.keys.isEmpty, found.unreadable.isEmpty else { return nil }
    var holders: [Int] = []
    for key in found.keys {
      guard !key.contains(where: \.isNull) else { return nil }
      if let known = numbers[table.syncKey(key)] {
        holders.append(known)
      } else {
        let row = try tables.row(table, key)
        guard !row.isUnreadable else { return nil }
        holders.append(
          try add(
            RowPlacement(table: table, key: key, row: row, remote: row.base, result: row.local)))
      }
    }
    return holders
  }

  private struct Undone: Error {}

  private mutating func rejectEdits(_ number: Int, _ reason: String) {
    let placement = entries[number].placement
    rejections.append(
      Rejection(
        key: placement.syncKey, reason: reason, content: placement.row.local ?? placement.result,
        others: entries[number].others))
    entries[number].placement.result = placement.remote
    entries[number].placement.isRejected = true
  }

  /// Gives a record of the space up: its deletion becomes a local edit.
  private mutating func giveUp(_ number: Int) {
    let placement = entries[number].placement
    rejections.append(
      Rejection(
        key: placement.syncKey, reason: RowContest.reason, content: placement.remote,
        others: entries[number].others))
    entries[number].placement.result = nil
    entries[number].placement.isRejected = true
  }
}

// MARK: - With triggers

extension RowContest {
  /// Changes each row once more, from its former to its final version, with triggers. A row that a
  /// trigger forbids stays as it is without.
  private mutating func repeatWithTriggers() throws {
    let present = entries.map(\.isInTable)
    try tables.quietly {
      for number in entries.indices where present[number] {
        try keep(number, isFinal: true)
        try takeOut(number)
      }
    }
    for number in entries.indices where present[number] || entries[number].isKept {
      let placement = entries[number].placement
      let row = placement.row.row
      let isUnchanged = placement.result.map { row.holds($0, placement.table, except: nil) }
      if isUnchanged ?? (entries[number].obstacle != nil) { continue }
      if entries[number].isKept { try tables.quietly { try putBack(number, isFinal: false) } }
      do {
        if entries[number].isKept {
          try tables.store(placement.result, over: row, placement.table, placement.key)
        } else {
          try insert(number, "ABORT")
        }
      } catch let error as DatabaseError
        where error.forbidsRow && tables.connection.isInTransaction
      {
        try tables.quietly { try remove(number) }
        continue
      }
      try tables.quietly {
        if present[number] { try keep(number, isFinal: true) }
        try remove(number)
      }
    }
    try tables.quietly {
      for number in entries.indices where present[number] {
        try putBack(number, isFinal: true)
        entries[number].isInTable = true
      }
    }
  }
}

// MARK: - Rows

extension RowContest {
  /// Takes a row out of its table. All its values are kept as they were before the contest.
  private mutating func takeOut(_ number: Int) throws {
    guard entries[number].isInTable else { return }
    if entries[number].existed, !entries[number].isKept {
      try keep(number, isFinal: false)
      entries[number].isKept = true
    }
    try remove(number)
    entries[number].isInTable = false
  }

  private func remove(_ number: Int) throws {
    let placement = entries[number].placement
    try tables.run(placement.table.statements.delete, placement.key)
  }

  /// The number of the place in which a version of a row is kept.
  private func place(of number: Int, isFinal: Bool) -> FieldValue {
    .integer(Int64(2 * number + (isFinal ? 1 : 0)))
  }

  private mutating func keep(_ number: Int, isFinal: Bool) throws {
    let placement = entries[number].placement
    try tables.run(
      try stage(of: placement.table).keep,
      placement.key + [place(of: number, isFinal: isFinal)])
  }

  private mutating func putBack(_ number: Int, isFinal: Bool) throws {
    try tables.run(
      try stage(of: entries[number].placement.table).putBack,
      [place(of: number, isFinal: isFinal)])
  }

  /// Inserts the row of a placement. Columns that are not synchronized get the values that they had.
  private mutating func insert(_ number: Int, _ clause: String) throws {
    let placement = entries[number].placement
    guard let record = placement.result else { return }
    let stage = try stage(of: placement.table)
    let (sql, values) = stage.insertion(
      of: record, placement.key, clause,
      from: entries[number].isKept ? place(of: number, isFinal: false) : nil,
      number: number)
    try tables.run(sql, values)
  }

  private mutating func stage(of table: ReplicaTable) throws -> ContestStage {
    if let stage = stages[table.name] { return stage }
    let stage = try ContestStage(table, number: stages.count, tables)
    stages[table.name] = stage
    return stage
  }
}
