internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Places records whose rows need unique values that other rows have.
///
/// Records of a space may have the same unique value: a table of another replica has no such index, two
/// replicas took the value at the same time, or only a part of a large change has come. So:
///
/// 1. All rows that take part are removed from their tables. Rows can then exchange values.
/// 2. Their versions are written in the order in which the space got them.
/// 3. If two versions need one value, local edits yield first: their row gets the space's version, to which
///    other local edits yield in turn. Then the row that had the value before keeps it, or else the one
///    that the space got first.
/// 4. The other row keeps its former version, or stays missing, until the value is free. Its version is
///    set aside. None of this is an edit.
/// 5. No trigger has run so far, so that those of the application see no row that goes and comes back.
///    Now each row changes once, from its former to its final version, with triggers.
///
/// SQLite decides which rows have the value: `REPLACE` removes exactly these, whatever the unique index
/// is made of. This is tried in a savepoint that is rolled back.
struct RowContest {
  /// A row that takes part.
  fileprivate struct Entry {
    var placement: RowPlacement
    /// True if the file had the row.
    let existed: Bool
    /// The values that it had in columns that are not synchronized.
    let others: Record?
    /// True if the row as it was is kept aside.
    var isKept = false
    /// True if the table has the row now.
    var isInTable: Bool
    /// True if the row has not been taken out of its table: it is only in the way.
    var isIdle = false
    /// The reason for which the row stays as it was, or is missing.
    var obstacle: String?
  }

  /// Local edits that a row loses.
  struct Rejection {
    /// The placement with the edits.
    let placement: RowPlacement
    let reason: String
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

  /// A row that took part.
  struct Outcome {
    /// The final version, which the table has unless there is an obstacle.
    let placement: RowPlacement
    /// The reason for which the table does not have it.
    let obstacle: String?
    /// The values of the row before, in columns that are not synchronized.
    let others: Record?
    /// True if the table has the row, with an obstacle as it was before.
    let hasRow: Bool
  }

  /// The rows that took part.
  var outcomes: [Outcome] {
    entries.filter { !$0.isIdle }.map { entry in
      Outcome(
        placement: entry.placement, obstacle: entry.obstacle, others: entry.others,
        hasRow: entry.isInTable)
    }
  }

  /// Decides the contest, and writes the rows.
  ///
  /// - Parameters:
  ///   - firingTriggers: True if tables have triggers of the application.
  ///   - effects: Undoes what these change in synchronized tables.
  mutating func run(firingTriggers: Bool, _ effects: TriggerEffects?) throws {
    let connection = tables.connection
    try tables.notingRemovedRows { try decide() }
    if firingTriggers {
      do {
        // What is undone in the file is forgotten here.
        var repeated = self
        try connection.savepoint { try repeated.repeatWithTriggers(effects) }
        self = repeated
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
      let (one, other) = (entries[$0].placement, entries[$1].placement)
      return one.version == other.version
        ? one.syncKey < other.syncKey : one.version < other.version
    }
    for number in queue { try takeOut(number) }
    // Rows that were in the way and wait themselves follow.
    var position = 0
    while position < queue.count {
      queue += try place(queue[position])
      position += 1
    }
  }

  /// Places a row, or leaves it as it was; returns the rows that have to be placed after it.
  private mutating func place(_ number: Int) throws -> [Int] {
    guard let obstacle = try attempt(number) else { return [] }
    let reason = obstacle.isAboutUniqueness ? RowContest.reason : obstacle.message
    // Its own local edits yield before those of other rows.
    if let moved = try withoutEdits(
      number, reason, { try $0.attempt(number) == nil ? [] : nil })
    {
      return moved
    }
    if let moved = try displaceHolders(number) { return moved }
    if let moved = try withoutEdits(number, reason, { try $0.displaceHolders(number) }) {
      return moved
    }
    try leaveAsItWas(number, reason)
    return []
  }

  /// Does `body` with the space's version of a row that has local edits. These are rejected, unless the
  /// result is `nil`.
  private mutating func withoutEdits(
    _ number: Int, _ reason: String, _ body: (inout Self) throws -> [Int]?
  ) throws -> [Int]? {
    let edited = entries[number].placement
    guard edited.hasEdits else { return nil }
    entries[number].placement.result = edited.remote
    guard let moved = try body(&self) else {
      entries[number].placement.result = edited.result
      return nil
    }
    rejectEdits(of: edited, number, reason)
    return moved
  }

  /// Places a row while those in its way yield; returns these, which have to be placed after it, or
  /// `nil` if one of them does not yield.
  ///
  /// A row yields if it waits for a value itself, or if its local edits hold the value. These edits are
  /// rejected, and the row is placed again with the space's version. A row in the way of that version
  /// yields in the same way.
  ///
  /// - Complexity: Each row yields at most twice: once while it is idle, and once with edits.
  private mutating func displaceHolders(_ number: Int) throws -> [Int]? {
    guard let obstacle = try attempt(number) else { return [] }
    guard obstacle.isAboutUniqueness, let holders = try holders(number, isFormer: false) else {
      return nil
    }
    let yields = holders.allSatisfy { holder in
      entries[holder].obstacle == nil
        && (entries[holder].placement.hasEdits || entries[holder].isWaiting)
    }
    guard yields else { return nil }
    for holder in holders {
      let former = entries[holder]
      try takeOut(holder)
      if former.isWaiting { continue }
      entries[holder].placement.result = former.placement.remote
      rejectEdits(of: former.placement, holder, RowContest.reason)
    }
    // No other row is in the way: `REPLACE` removed exactly these.
    try insert(number, "ABORT")
    entries[number].isInTable = true
    return holders
  }

  /// Puts a row back as it was. Rows that have got its values go back as well.
  private mutating func leaveAsItWas(_ number: Int, _ reason: String) throws {
    entries[number].obstacle = reason
    var queue = [number]
    while let number = queue.popLast() {
      guard entries[number].isKept else { continue }
      while true {
        do {
          try putBack(number, isFinal: false)
          entries[number].isInTable = true
          break
        } catch let error as DatabaseError where error.isAboutUniqueness {
          guard let holders = try holders(number, isFormer: true),
            holders.allSatisfy({ entries[$0].obstacle == nil && !entries[$0].isIdle }),
            !holders.isEmpty
          else { break }
          for holder in holders {
            try takeOut(holder)
            entries[holder].obstacle = RowContest.reason
            queue.append(holder)
          }
        }
      }
    }
  }

  /// Writes a row that is not in its table; returns the error of a constraint that forbids it.
  private mutating func attempt(_ number: Int) throws -> DatabaseError? {
    guard entries[number].placement.result != nil else { return nil }
    do {
      try insert(number, "ABORT")
      entries[number].isInTable = true
      return nil
    } catch let error as DatabaseError where error.forbidsRow {
      return error
    }
  }

  /// The rows that prevent a row; `nil` if one of them is unknown or cannot be read.
  ///
  /// - Parameter isFormer: True for the row as it was, which is kept.
  private mutating func holders(_ number: Int, isFormer: Bool) throws -> [Int]? {
    let table = entries[number].placement.table
    let stage = try stage(of: table)
    var found: (keys: [[FieldValue]], unreadable: [Int]) = ([], [])
    do {
      try tables.connection.savepoint {
        try tables.run(stage.forgetRemoved, [])
        if isFormer {
          try tables.run(stage.putBackReplacing, [place(of: number, isFinal: false)])
        } else {
          try insert(number, "REPLACE")
        }
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
        // A row that the space has deleted stays as long as others refer to it.
        guard !row.isUnreadable, row.local != nil else { return nil }
        let holder = try add(
          RowPlacement(table: table, key: key, row: row, remote: row.base, result: row.local))
        entries[holder].isIdle = true
        holders.append(holder)
      }
    }
    return holders
  }

  private struct Undone: Error {}

  private mutating func rejectEdits(of edited: RowPlacement, _ number: Int, _ reason: String) {
    rejections.append(
      Rejection(placement: edited, reason: reason, others: entries[number].others))
    entries[number].placement.isRejected = true
  }
}

extension RowContest.Entry {
  /// True if the table has the row as it was, and its version waits for a value of another one.
  fileprivate var isWaiting: Bool {
    guard isIdle, let result = placement.result else { return false }
    return !placement.row.row.holds(result, placement.table, except: nil)
  }
}

// MARK: - With triggers

extension RowContest {
  /// Changes each row once more, from its former to its final version, with triggers. A row that a
  /// trigger forbids stays as it is without.
  private mutating func repeatWithTriggers(_ effects: TriggerEffects?) throws {
    let present = entries.map { $0.isInTable && !$0.isIdle }
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
      if isUnchanged ?? false || entries[number].obstacle != nil { continue }
      if entries[number].isKept { try tables.quietly { try putBack(number, isFinal: false) } }
      do {
        try effects.undoing(besides: placement.table, placement.key) {
          if entries[number].isKept {
            try tables.store(placement.result, over: row, placement.table, placement.key)
          } else {
            try insert(number, "ABORT")
          }
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
      // Triggers may have changed rows as they were written, or prevented it.
      for number in entries.indices where present[number] {
        let placement = entries[number].placement
        guard placement.result != nil else { continue }
        let row = try tables.row(placement.table, placement.key).row
        try tables.store(placement.result, over: row, placement.table, placement.key)
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
    entries[number].isIdle = false
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
