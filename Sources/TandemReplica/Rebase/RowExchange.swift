internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Places records of one table whose rows need unique values that other rows have.
///
/// 1. All rows that take part are taken out of the table. Then the versions of the space are written: these have
///    different values, unless the table has a rule that the space does not check.
/// 2. If a row with local edits is in the way of one of them, all rows of the table with local edits take part too,
///    and are taken back to the space's versions.
/// 3. The edits are made again, in the order of keys. One that the table does not accept gives up: its row keeps the
///    space's version.
///
/// No trigger runs meanwhile. Then ``writeWithTriggers()`` changes each row once, with triggers.
struct RowExchange {
  /// A row that takes part.
  struct Entry {
    fileprivate(set) var placement: RowPlacement
    /// The values that the row had in columns that are not synchronized.
    let others: Record?
    /// The reason for which the table does not have the version of the space: the row is as it was.
    fileprivate(set) var obstacle: String?
    /// The reason for which the local edits gave up.
    fileprivate(set) var loss: String?
    /// True if the record is one of those that wait; false for a row with local edits that was in the way.
    let isWaiting: Bool

    fileprivate var existed: Bool { !placement.row.row.isMissing }
    /// The record that the table has at the end; `nil` if none.
    fileprivate var final: Record? {
      if obstacle != nil { return placement.row.present }
      return loss == nil ? placement.result : placement.remote
    }
  }

  /// The number of times that the edits are tried together. Those that are left after it give up.
  private static let maxRoundCount = 32
  private static let reason = "another row has the same unique value"

  private let tables: ReplicaTables
  private let table: ReplicaTable
  private let stash: RowStash
  private(set) var entries: [Entry] = []

  /// - Parameter waiting: Records of one table. Their rows are as they are in the file.
  init(_ tables: ReplicaTables, _ table: ReplicaTable, _ waiting: [RowPlacement]) throws {
    self.tables = tables
    self.table = table
    stash = try RowStash(table, tables)
    let ordered = waiting.sorted {
      $0.version == $1.version ? $0.syncKey < $1.syncKey : $0.version < $1.version
    }
    for placement in ordered { try add(placement, isWaiting: true) }
  }

  /// Ends the exchange.
  func end() throws { try stash.empty() }

  private mutating func add(_ placement: RowPlacement, isWaiting: Bool) throws {
    let others =
      placement.row.row.isMissing ? nil : try tables.otherValues(table, placement.key)
    entries.append(Entry(placement: placement, others: others, isWaiting: isWaiting))
  }

  /// Decides which rows the table has, and writes them, without triggers.
  mutating func decide() throws {
    try tables.quietly {
      let isAlone = try tables.attempt { try !(placeVersions() && addEditedRows()) }
      if !isAlone { _ = try placeVersions() }
      try placeEdits()
    }
  }
}

// MARK: - Versions of the space

extension RowExchange {
  /// Writes the versions of the space. A row whose version the table does not accept stays as it was, and so does
  /// each one that would take one of its values.
  ///
  /// - Returns: True if a row is in the way of one of them.
  private mutating func placeVersions() throws -> Bool {
    for number in entries.indices { entries[number].obstacle = nil }
    var isInTheWay = false
    var rest = Array(entries.indices)
    for round in 1...RowExchange.maxRoundCount where !rest.isEmpty {
      var refused: [Int: String] = [:]
      let areAllBack = try tables.attempt {
        var areAllBack = true
        for number in rest where entries[number].existed {
          try stash.takeOut(entries[number].placement.key, to: number)
        }
        for number in rest {
          guard let error = try refusal(of: entries[number].placement.remote, number) else {
            continue
          }
          isInTheWay = isInTheWay || error.isAboutUniqueness
          refused[number] = reason(error, entries[number].placement.remote, number)
          if entries[number].existed, try !isPutBack(number) { areAllBack = false }
        }
        return areAllBack
      }
      // In the last round, no version is written that is in the way of a former one.
      for number in rest
      where refused[number] != nil || round == RowExchange.maxRoundCount && !areAllBack {
        entries[number].obstacle = refused[number] ?? RowExchange.reason
      }
      rest = areAllBack ? [] : rest.reversed().filter { refused[$0] == nil }
    }
    return isInTheWay
  }

  /// Puts a row back as it was; `false` if another row has got one of its values.
  private func isPutBack(_ number: Int) throws -> Bool {
    try tables.objection { try stash.putBack(from: number) } == nil
  }

  /// Adds the other rows with local edits; `false` if there are none.
  private mutating func addEditedRows() throws -> Bool {
    let known = Set(entries.map(\.placement.syncKey))
    var edited: [RowPlacement] = []
    try tables.forEachTouchedRow(table, .present) { key, row in
      // The version of a row that lacks it is tried by itself.
      if !known.contains(table.syncKey(key)), !row.isUnreadable, row.parked?.reason == nil {
        edited.append(
          RowPlacement(table: table, key: key, row: row, remote: row.base, result: row.local))
      }
      return true
    }
    for placement in edited { try add(placement, isWaiting: false) }
    return !edited.isEmpty
  }

  private func reason(_ error: DatabaseError, _ record: Record?, _ number: Int) -> String {
    tables.reason(error, record, entries[number].placement.key, table)
  }

  /// Writes a record into a row that is not in the table; returns the error of a constraint that forbids it.
  private func refusal(of record: Record?, _ number: Int) throws -> DatabaseError? {
    guard let record else { return nil }
    return try tables.objection {
      let values = table.values(of: record)
      try tables.checkLoss(values, at: values.indices, table)
      try stash.insert(
        record, entries[number].placement.key, at: number, isKept: entries[number].existed)
    }
  }
}

// MARK: - Local edits

extension RowExchange {
  /// Makes the local edits again, in the order of keys. Those that the table refuses give up; then the others are tried
  /// without them.
  private mutating func placeEdits() throws {
    var rest = entries.indices.filter {
      entries[$0].obstacle == nil && entries[$0].placement.hasEdits
    }
    rest.sort { entries[$0].placement.syncKey < entries[$1].placement.syncKey }
    var displaced: Set<Int> = []
    for round in 1...RowExchange.maxRoundCount where !rest.isEmpty {
      var (refused, robbed) = try placeTogether(rest)
      let isLast = round == RowExchange.maxRoundCount && !refused.isEmpty
      // Another edit has taken a value that the row has from the space: that one is to give up, and comes later.
      for number in robbed where !isLast && displaced.insert(number).inserted {
        refused[number] = nil
      }
      let areAllMade = refused.isEmpty && robbed.isEmpty
      for number in rest where isLast || refused[number] != nil {
        entries[number].loss = refused[number] ?? RowExchange.reason
      }
      rest = areAllMade ? [] : rest.reversed().filter { refused[$0] == nil }
      rest = rest.filter(displaced.contains) + rest.filter { !displaced.contains($0) }
    }
  }

  /// Makes edits: all their rows are taken out, and written with the edits.
  ///
  /// - Returns: The reasons of the edits that the table refuses, and those of them whose version of the space it
  ///   refuses as well. If there are any, nothing is changed.
  private func placeTogether(
    _ numbers: [Int]
  ) throws -> (refused: [Int: String], robbed: Set<Int>) {
    var refused: [Int: String] = [:]
    var robbed: Set<Int> = []
    try tables.attempt {
      for number in numbers {
        try tables.run(table.statements.delete, entries[number].placement.key)
      }
      for number in numbers {
        guard let error = try refusal(of: entries[number].placement.result, number) else {
          continue
        }
        refused[number] = reason(error, entries[number].placement.result, number)
        // An edit that wants a value of the row which stays is refused in the same round.
        if try refusal(of: entries[number].placement.remote, number) != nil {
          robbed.insert(number)
        }
      }
      return refused.isEmpty
    }
    return (refused, robbed)
  }
}

// MARK: - Triggers

extension RowExchange {
  /// Writes the rows that have been decided over those that the file had before: each row that changes does so once,
  /// from its former to its final version, with triggers of the application. The others are out of the table
  /// meanwhile.
  ///
  /// - Throws: The error of a trigger that forbids it.
  func writeWithTriggers() throws {
    let changed = entries.indices.filter { number in
      let entry = entries[number]
      let isSame = entry.final.map { entry.placement.row.row.holds($0, table, except: nil) }
      return !(isSame ?? !entry.existed)
    }
    try tables.quietly {
      for number in changed where entries[number].existed {
        try stash.takeOut(entries[number].placement.key, to: number)
      }
    }
    for number in changed {
      let entry = entries[number]
      let key = entry.placement.key
      if entry.existed {
        try tables.quietly { try stash.putBack(from: number) }
        try tables.store(entry.final, over: entry.placement.row.row, table, key)
      } else if let record = entry.final {
        try stash.insert(record, key, at: number, isKept: false)
      }
      try tables.quietly { try stash.takeOut(key, to: number) }
    }
    try tables.quietly {
      for number in changed { try stash.putBack(from: number) }
      // A trigger may have prevented one.
      for number in changed {
        let entry = entries[number]
        let row = try tables.row(table, entry.placement.key).row
        try tables.store(entry.final, over: row, table, entry.placement.key)
      }
    }
  }
}
