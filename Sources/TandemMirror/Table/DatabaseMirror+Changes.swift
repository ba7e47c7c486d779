public import TandemDifferences
public import TandemRecords
internal import TandemSQLite

extension DatabaseMirror {
  /// The changes that lead from the rows of a table to a list: deletions, updates and insertions, each kind
  /// ascending by key. Records have the columns of the mirror, in the order of the table.
  ///
  /// The rows and the list are kept packed, and a record is made each time that it is read.
  public struct Changes: Sendable {
    /// The list that has the new rows; `nil` if they are in ``newRows``.
    private var list: FittedList?
    private var newRows = PackedRecords()
    private(set) var deleted = PackedRecords()
    /// The former versions of the updated rows.
    private var formerRows = PackedRecords()
    /// The positions of the new versions of the updated rows.
    private var updatedPositions: [Int] = []
    private var insertedPositions: [Int] = []

    /// No changes.
    init() {}

    /// The changes from no rows to a list.
    init(inserting list: FittedList) {
      self.list = list
      insertedPositions = Array(list.indices)
    }

    /// The changes from the rows of a table, whose number is added to `rowCount`, to a list.
    init(
      from scan: TableScan, to list: FittedList, countingRowsIn rowCount: inout Int
    ) throws(DatabaseError) {
      self.list = list
      rowCount += try scan.forEachChange(
        toRecords: list.count, { list[$0] }, hasValues: list.hasValues, { append($0) })
    }

    /// The changes of a difference.
    init(_ difference: SetDifference<Record>) {
      newRows = PackedRecords(difference.inserted + difference.updated.map(\.new))
      deleted = PackedRecords(difference.deleted)
      formerRows = PackedRecords(difference.updated.lazy.map(\.old))
      insertedPositions = Array(difference.inserted.indices)
      updatedPositions = Array(difference.inserted.count..<newRows.count)
    }

    private mutating func append(_ change: TableChange) {
      switch change {
      case .inserted(let position): insertedPositions.append(position)
      case .deleted(let row): deleted.append(row)
      case .updated(let row, let position):
        formerRows.append(row)
        updatedPositions.append(position)
      }
    }

    /// Reads the new row at a position. Unlike `self`, it is cheap to copy for each row that is written.
    private var row: (_ position: Int) -> Record {
      if let list { { list[$0] } } else { { [newRows] in newRows[$0] } }
    }
  }
}

// MARK: - Reading

extension DatabaseMirror.Changes {
  /// The number of records without a row.
  public var insertedCount: Int { insertedPositions.count }
  /// The number of rows that differ from their record.
  public var updatedCount: Int { updatedPositions.count }
  /// The number of rows without a record.
  public var deletedCount: Int { deleted.count }

  var inserted: some Collection<Record> { insertedPositions.lazy.map(row) }

  var updated: some Collection<SetDifference<Record>.Update> {
    updatedPositions.indices.lazy.map { [row] index in
      SetDifference<Record>.Update(old: formerRows[index], new: row(updatedPositions[index]))
    }
  }

  /// The changes as one value, which holds all changed records at once, unpacked.
  public var difference: SetDifference<Record> {
    reduce(into: SetDifference<Record>()) { $0.append($1) }
  }
}

extension DatabaseMirror.Changes: RandomAccessCollection {
  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of changes.
  public var endIndex: Int { deletedCount + updatedCount + insertedCount }

  /// The change at a position.
  ///
  /// - Complexity: O(*n*) in the bytes of the record.
  public subscript(position: Int) -> SetChange<Record> {
    if position < deletedCount { return .deleted(deleted[position]) }
    let rest = position - deletedCount
    if rest < updatedCount {
      return .updated(old: formerRows[rest], new: row(updatedPositions[rest]))
    }
    return .inserted(row(insertedPositions[rest - updatedCount]))
  }
}

extension DatabaseMirror.Changes: CustomStringConvertible {
  /// As in `1 inserted, 0 updated, 2 deleted`.
  public var description: String {
    "\(insertedCount) inserted, \(updatedCount) updated, \(deletedCount) deleted"
  }
}
