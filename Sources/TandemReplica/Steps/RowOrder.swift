internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The order in which rows are frozen if one commit cannot have all changes, and tables refer to themselves or to each
/// other: each commit alone is one that the space can accept.
///
/// 1. Insertions and updates, each after the insertions that it refers to: a search in depth, which begins with the rows
///    in the order of tables and keys.
/// 2. The search meets a cycle at a row that refers to one which is still to come. That reference is sent as null. The
///    row stays changed in it, so a later commit sets it.
/// 3. If the column may not be null, the commit has all rows of the cycle or none. If no commit has room for them, they
///    are noted, with the rows that need them.
/// 4. Deletions, each after those of the rows that refer to it.
///
/// - Complexity: O(*n* log *n*) for *n* changed rows, and the memory of their keys.
struct RowOrder {
  /// The order of tables is not enough.
  struct Needed: Error {}

  /// The commit ended within a cycle.
  private struct Unclosed: Error {
    /// The number of rows that were frozen before the cycle.
    let rowCount: Int
    /// Rows of the cycle that others need.
    let rows: Set<SyncKey>
  }

  private typealias Row = (table: ReplicaTable, key: [FieldValue])

  private let replica: ReplicaTables
  private let schema: ReplicaSchema
  private let merging: ReplicaMerging
  /// The numbers of those whose columns may be null.
  private let nullable: Set<Int>
  /// The number of rows after which the commit ends.
  private let maxRowCount: Int
  /// The rows of cycles for which no commit has room, and those that need them.
  private var cycles: Set<SyncKey>
  private var draft: CommitDraft
  /// The number of rows that were frozen.
  private var rowCount = 0
  /// The number of rows after which nothing was needed.
  private var closedCount = 0
  /// Rows to come that frozen ones refer to.
  private var needed: Set<SyncKey> = []
  /// Rows of which this commit has no change, or no other one: among them those of cycles.
  private var staying: Set<SyncKey> = []
  /// Rows that the space does not have and that no message can hold, and those that refer to them.
  private var unsendable: Set<SyncKey> = []

  /// Freezes as many changes as a draft has room for; returns the draft.
  static func freeze(
    _ schema: ReplicaSchema, _ merging: ReplicaMerging, _ draft: CommitDraft,
    in replica: ReplicaTables
  ) throws -> CommitDraft {
    var (maxRowCount, cycles) = (Int.max, Set<SyncKey>())
    while true {
      do {
        return try replica.connection.savepoint {
          var order = try RowOrder(schema, merging, draft, maxRowCount, cycles, in: replica)
          try order.freezePresent()
          try order.freezeMissing()
          return order.draft
        }
      } catch let unclosed as Unclosed {
        if unclosed.rowCount > 0 {
          maxRowCount = unclosed.rowCount
        } else {
          cycles.formUnion(unclosed.rows)
        }
      }
    }
  }

  private init(
    _ schema: ReplicaSchema, _ merging: ReplicaMerging, _ draft: CommitDraft, _ maxRowCount: Int,
    _ cycles: Set<SyncKey>, in replica: ReplicaTables
  ) throws {
    self.replica = replica
    self.schema = schema
    self.merging = merging
    self.draft = draft
    self.maxRowCount = maxRowCount
    self.cycles = cycles
    nullable = Set(
      try schema.foreignKeys.filter { try replica.mayBeNull($0) }.map(\.number))
  }
}

// MARK: - Insertions and updates

extension RowOrder {
  private mutating func freezePresent() throws {
    for table in schema.parentsFirst {
      try forEachKey(table, .present) { order, key in try order.visit((table, key)) }
    }
    // If the commit does not end here, what is needed stays for a reason that is noted.
    if draft.isClosed, !needed.isEmpty { throw Unclosed(rowCount: closedCount, rows: needed) }
  }

  /// Freezes a row, after the insertions that it refers to.
  private mutating func visit(_ start: Row) throws {
    var path = [start]
    var places: Set<SyncKey> = [start.table.syncKey(start.key)]
    while let (table, key) = path.last, !draft.isClosed {
      let syncKey = table.syncKey(key)
      let row = try replica.row(table, key)
      if row.isTouched, !staying.contains(syncKey) {
        let references = try insertions(referredToBy: row, syncKey)
        let next = references.first { !places.contains($0.parent) && !staying.contains($0.parent) }
        if let next {
          places.insert(next.parent)
          path.append((next.foreignKey.parent, next.parent.id))
          continue
        }
        if let parent = references.first(where: { unsendable.contains($0.parent) })?.parent {
          unsendable.insert(syncKey)
          staying.insert(syncKey)
          try replica.noteRow(syncKey, "it refers to a row that cannot be sent, \(parent)")
        } else if cycles.contains(syncKey)
          || references.contains(where: { cycles.contains($0.parent) })
        {
          cycles.insert(syncKey)
          staying.insert(syncKey)
          try replica.noteRow(syncKey, reason(for: references.map(\.parent)))
        } else {
          try freeze(row, syncKey, references.filter { places.contains($0.parent) })
        }
      }
      path.removeLast()
      places.remove(syncKey)
    }
  }

  private func reason(for parents: [SyncKey]) -> String {
    "it is, or needs, a row of a cycle of references (\(parents.map(\.description).joined(separator: ", "))) that is "
      + "longer than a commit; let a column of the cycle be null, or set the references later"
  }

  /// The rows that a row refers to and that the space does not have, without itself.
  private func insertions(
    referredToBy row: ReplicaRow, _ key: SyncKey
  ) throws -> [(foreignKey: ForeignKey, parent: SyncKey)] {
    guard let present = row.present else { return [] }
    var found: [(foreignKey: ForeignKey, parent: SyncKey)] = []
    for foreignKey in schema.foreignKeys(of: row.table) {
      for id in try replica.parents(foreignKey, of: present, key.id) {
        let parent = foreignKey.parent.syncKey(id)
        guard parent != key else { continue }
        let other = try replica.row(foreignKey.parent, id)
        if other.isTouched, other.base == nil { found.append((foreignKey, parent)) }
      }
    }
    return found
  }

  /// Freezes a row.
  ///
  /// - Parameter open: Its references to rows that come later.
  private mutating func freeze(
    _ row: ReplicaRow, _ key: SyncKey, _ open: [(foreignKey: ForeignKey, parent: SyncKey)]
  ) throws {
    var first: Record?
    if row.parked == nil, open.allSatisfy({ nullable.contains($0.foreignKey.number) }) {
      first = open.isEmpty ? nil : row.present
      for reference in open { first = first.flatMap(reference.foreignKey.withoutReference) }
    }
    let table = row.table
    let fate = try replica.add(
      row, key.id, merging.merging(of: table.name), inserting: first, to: &draft)
    switch fate {
    case .frozen: try replica.run(table.statements.setAside, key.id)
    case .unchanged: break
    case .stays:
      staying.insert(key)
      if row.base == nil { unsendable.insert(key) }
      return
    case .full: return draft.close()
    }
    try replica.setShadow(
      first.map { ReplicaRow.Shadow.values(table.values(of: $0)) }, table, key.id)
    guard fate == .frozen else { return }
    rowCount += 1
    needed.remove(key)
    if first == nil {
      needed.formUnion(open.map(\.parent))
    } else {
      // A commit changes a field at most once.
      staying.insert(key)
    }
    if needed.isEmpty { closedCount = rowCount }
    if rowCount >= maxRowCount || draft.isFull { draft.close() }
  }
}

// MARK: - Deletions

extension RowOrder {
  private mutating func freezeMissing() throws {
    guard !draft.isClosed else { return }
    // The numbers of deleted rows that refer to a deleted one.
    var counts: [SyncKey: Int] = [:]
    for table in schema.tables {
      try forEachKey(table, .missing) { order, key in
        for parent in try order.deletions(referredToBy: order.replica.row(table, key), key) {
          counts[parent, default: 0] += 1
        }
      }
    }
    for table in schema.parentsFirst.reversed() {
      try forEachKey(table, .missing) { order, key in
        var path = [table.syncKey(key)]
        while let key = path.popLast(), !order.draft.isClosed {
          guard counts[key] ?? 0 == 0, let table = order.schema.table(named: key.table) else {
            continue
          }
          let row = try order.replica.row(table, key.id)
          guard row.isTouched else { continue }
          let parents = try order.deletions(referredToBy: row, key.id)
          try order.freeze(row, key, [])
          guard !order.draft.isClosed, !order.staying.contains(key) else { continue }
          for parent in parents {
            counts[parent, default: 1] -= 1
            if counts[parent] == 0 { path.append(parent) }
          }
        }
      }
    }
    // Rows that refer to each other go together, as far as there is room.
    for table in schema.parentsFirst.reversed() where !draft.isClosed {
      try replica.freeze(
        table, .missing, merging.merging(of: table.name), isGapless: false, into: &draft)
    }
  }

  /// The deleted rows that a deleted row referred to by their keys.
  private func deletions(referredToBy row: ReplicaRow, _ key: [FieldValue]) throws -> [SyncKey] {
    guard row.isTouched, let base = row.base else { return [] }
    var found: [SyncKey] = []
    for foreignKey in schema.foreignKeys(of: row.table) {
      guard let id = foreignKey.parentKey(of: base, key) else { continue }
      let parent = try replica.row(foreignKey.parent, id)
      let isSame = foreignKey.parent === row.table && id == key
      if !isSame, parent.isTouched, parent.row.isMissing {
        found.append(foreignKey.parent.syncKey(id))
      }
    }
    return found
  }
}

// MARK: - Rows

extension RowOrder {
  /// Calls `body` with the keys of changed rows, in ascending order, until the commit is closed.
  ///
  /// `body` may freeze rows. Their former versions leave the list that is being read: they may be in it all the same,
  /// and the others are.
  private mutating func forEachKey(
    _ table: ReplicaTable, _ presence: RowPresence,
    _ body: (inout RowOrder, [FieldValue]) throws -> Void
  ) throws {
    if draft.isClosed { return }
    let hasUnreadable = try replica.forEachTouchedRow(table, presence) { key, _ in
      try body(&self, key)
      return !draft.isClosed
    }
    if hasUnreadable { try replica.noteUnreadableKeys(of: table, presence) }
  }
}

extension ReplicaTables {
  /// True if rows of the child may have null in all columns of a foreign key.
  fileprivate func mayBeNull(_ foreignKey: ForeignKey) throws -> Bool {
    let fixed = try rows(
      "SELECT name FROM pragma_table_info(?) WHERE pk OR \"notnull\"", [.text(foreignKey.child)]
    ).compactMap { $0[0].textValue }
    return foreignKey.attachedChild.map { child in
      foreignKey.columns.allSatisfy { column in
        child.columnNames.contains(where: column.child.isSameSQLName)
          && !fixed.contains(where: column.child.isSameSQLName)
      }
    } ?? false
  }
}
