internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

/// The result of a query, which advances from snapshot to snapshot.
protocol LiveResult: Sendable {
  associatedtype Change: LiveChange

  /// The number that distinguishes the kinds of results of one query.
  static var kind: UInt8 { get }

  init(_ definition: QueryDefinition)

  /// Advances to the state of the open snapshot, to which `changes` lead. The first change leads
  /// from no rows to the present ones.
  mutating func advance(_ changes: CommittedChanges, _ reading: LiveReading) throws(DatabaseError)
    -> Change

  /// Reads the rows of the open snapshot for the first time, without the change that leads to them.
  mutating func begin(_ changes: CommittedChanges, _ reading: LiveReading) throws(DatabaseError)

  /// The change from no rows to the present ones. There must have been a first read.
  func start() -> Change

  /// The change from the present rows to the same ones. There must have been a first read.
  func noChange() -> Change

  /// True if the next changes are expected to need the whole result.
  ///
  /// - Parameter isUnknown: True if others may have changed anything.
  func readsEverything(ifUnknown isUnknown: Bool) -> Bool
}

/// The change of a result from one state to a later one.
protocol LiveChange: Sendable {
  var isEmpty: Bool { get }
  /// The number of single changes.
  var count: Int { get }

  /// True if the rows before and after `next` have the same columns as those of this change.
  func isComposable(with next: Self) -> Bool

  /// One change for some that follow each other, and are composable. There must be one.
  static func composing(_ changes: [Self]) -> Self
}

/// An open snapshot, and a function that sets the changes that matter from now on.
struct LiveReading {
  let connection: DatabaseConnection
  /// Takes `nil` for all changes.
  let setInterests: ([TableInterest]?) -> Void
}

/// The columns of a result.
struct ResultColumns: Sendable {
  let layout: RecordLayout
  /// The offsets of the key columns.
  let keyOffsets: [Int]

  /// The key of any record that has these fields.
  func key(of record: Record) -> RecordKey {
    if record.layout === layout {
      return keyOffsets.count == 1
        ? RecordKey(record.values[keyOffsets[0]]) : RecordKey(keyOffsets.map { record.values[$0] })
    }
    return RecordKey(keyOffsets.map { record[layout.names[$0]] })
  }

  /// True if the other columns have the same names, order and key.
  func isSame(as other: ResultColumns) -> Bool {
    layout.hasSameOrder(as: other.layout) && keyOffsets == other.keyOffsets
  }
}

/// The changes of a result as a set, each kind ascending by key.
struct KeyedDifference: LiveChange {
  var difference: SetDifference<Record>
  let columns: ResultColumns

  var isEmpty: Bool { difference.isEmpty }
  var count: Int { difference.count }

  func isComposable(with next: KeyedDifference) -> Bool { columns.isSame(as: next.columns) }

  static func composing(_ changes: [KeyedDifference]) -> KeyedDifference {
    if changes.count == 1 { return changes[0] }
    let columns = changes[changes.count - 1].columns
    var ends: [RecordKey: (old: Record?, new: Record?)] = [:]
    func note(_ old: Record?, _ new: Record?) {
      guard let key = (new ?? old).map(columns.key) else { return }
      if let known = ends[key] { ends[key] = (known.old, new) } else { ends[key] = (old, new) }
    }
    for change in changes {
      for record in change.difference.deleted { note(record, nil) }
      for update in change.difference.updated { note(update.old, update.new) }
      for record in change.difference.inserted { note(nil, record) }
    }
    var composed = KeyedChanges()
    for (key, end) in ends { composed.note(key, from: end.old, to: end.new) }
    return KeyedDifference(difference: composed.difference(), columns: columns)
  }
}
