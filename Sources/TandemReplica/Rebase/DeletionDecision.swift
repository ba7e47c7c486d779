internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The decision on the rows that the space deleted, of which some are still referred to.
struct DeletionDecision {
  enum Fate {
    /// It is deleted.
    case goes
    /// Its deletion is withheld: rows refer to it.
    case stays
    /// The deletion is overruled: a local edit needs the row.
    case revived
  }

  /// The fates of the deletions, in their order.
  private(set) var fates: [Fate]
  private let deletions: [RowPlacement]
  private let offsets: [SyncKey: Int]
  private let tables: ReplicaTables
  /// The foreign keys that refer to the tables of the deletions.
  private let foreignKeys: [ForeignKey]
  /// For each of them, the deletions of rows whose place another record takes.
  private var replaced: [Set<Int>]

  init(_ deletions: [RowPlacement], _ tables: ReplicaTables, _ schema: ReplicaSchema) {
    self.deletions = deletions
    self.tables = tables
    fates = deletions.map { _ in .goes }
    offsets = Dictionary(
      deletions.enumerated().map { ($1.syncKey, $0) }, uniquingKeysWith: { first, _ in first })
    let parents = Set(deletions.map { ObjectIdentifier($0.table) })
    foreignKeys = schema.foreignKeys.filter { parents.contains(ObjectIdentifier($0.parent)) }
    replaced = foreignKeys.map { _ in [] }
  }

  /// Keeps the rows that others refer to, and all that these refer to: those that local edits need are revived.
  ///
  /// - Parameter others: The records that wait. Their rows count as they are going to be.
  mutating func decide(among others: [RowPlacement] = []) throws {
    for other in others { try noteReplaced(by: other) }
    for other in others {
      if other.hasEdits {
        try retainParents(of: other.table, other.key, other.result, besides: other.remote, .revived)
      }
      try retainParents(of: other.table, other.key, other.result, besides: nil, .stays)
    }
    let waiting = Set(others.map(\.syncKey))
    for (number, foreignKey) in foreignKeys.enumerated()
    // Rows of other tables follow by their action.
    where foreignKey.attachedChild != nil || foreignKey.action == nil {
      let parents = deletions.indices.filter { offset in
        deletions[offset].table === foreignKey.parent
          && deletions[offset].row.present != nil && !replaced[number].contains(offset)
      }
      guard !parents.isEmpty else { continue }
      var found: [(offset: Int, key: [FieldValue]?)] = []
      try tables.forEachReference(foreignKey, to: parents.map { ($0, deletions[$0].key) }) {
        found.append(($0, $1))
      }
      for (offset, key) in found {
        guard let child = foreignKey.attachedChild, let key else {
          try retain(offset, .stays)
          continue
        }
        let syncKey = child.syncKey(key)
        // With a row that stays, all that it refers to stays.
        if waiting.contains(syncKey) || offsets[syncKey] != nil { continue }
        let row = try tables.row(child, key)
        try retain(offset, foreignKey.isEdited(in: row, key) ? .revived : .stays)
      }
    }
  }

  /// Takes note of the deleted rows whose place a record that waits takes.
  private mutating func noteReplaced(by other: RowPlacement) throws {
    guard let record = other.result else { return }
    for (number, foreignKey) in foreignKeys.enumerated() where foreignKey.parent === other.table {
      for key in try tables.rows(foreignKey, replacedBy: record, other.key) {
        if let offset = offsets[other.table.syncKey(key)] { replaced[number].insert(offset) }
      }
    }
  }

  /// Retains the deleted rows that a record refers to.
  ///
  /// - Parameter former: A version whose references do not count.
  private mutating func retainParents(
    of child: ReplicaTable, _ key: [FieldValue], _ record: Record?, besides former: Record?,
    _ fate: Fate
  ) throws {
    guard let record else { return }
    for (number, foreignKey) in foreignKeys.enumerated() where foreignKey.attachedChild === child {
      if let former, foreignKey.hasSameReference(record, former, key) { continue }
      for offset in try parents(number, of: record, key) { try retain(offset, fate) }
    }
  }

  /// The deletions of the rows that a record refers to, without those that are replaced.
  private func parents(
    _ number: Int, of record: Record, _ key: [FieldValue]
  ) throws -> [Int] {
    let foreignKey = foreignKeys[number]
    return try tables.parents(foreignKey, of: record, key).compactMap {
      offsets[foreignKey.parent.syncKey($0)]
    }.filter { !replaced[number].contains($0) }
  }

  /// Retains a deleted row, and all that it refers to.
  private mutating func retain(_ offset: Int, _ fate: Fate) throws {
    var queue = [offset]
    while let offset = queue.popLast() {
      guard fates[offset] == .goes || fates[offset] == .stays && fate == .revived else { continue }
      fates[offset] = fate
      let placement = deletions[offset]
      guard let record = placement.row.present else { continue }
      for (number, foreignKey) in foreignKeys.enumerated()
      where foreignKey.attachedChild === placement.table {
        queue += try parents(number, of: record, placement.key)
      }
    }
  }
}
