internal import TandemRecords
internal import TandemSQLite

/// Determines the part of a result that must be read to advance to the next snapshot.
struct QueryReader: Sendable {
  /// The fewest rows of a result for which pages are compared.
  static let minRowCount = 1_000
  /// The fewest rows of the result, for each page of its table, for which pages are compared. Reading a
  /// page takes about as long as so many rows.
  static let minRowCountPerPage = 4
  /// The share of the rows, as a divisor, beyond which reading them one by one would take longer.
  static let maxTouchedDivisor = 8

  /// The part to read.
  enum Need {
    /// Only the rows of these keys, which ascend.
    case rows([RecordKey], rereading: String)
    /// The whole result.
    case everything
  }

  private let definition: QueryDefinition
  private let reserveCount: Int
  private var current: (plan: QueryPlan, schemaVersion: Int64)?
  /// The last entry of the tracking log that was read.
  private var logPosition: Int64 = 0
  /// The pages of the table as they were last read, if the rows that others change are found by them.
  private var digests: TableDigests?
  /// The number of rows when the whole result was last read.
  private var rowCount = 0

  /// - Parameter reserveCount: The number of rows beyond a LIMIT that are read; see ``RowWindow``.
  init(_ definition: QueryDefinition, reserveCount: Int) {
    self.definition = definition
    self.reserveCount = reserveCount
  }

  /// The plan for the schema of the open snapshot, and the part to read.
  mutating func advance(
    _ changes: CommittedChanges, _ reading: LiveReading
  ) throws(DatabaseError) -> (plan: QueryPlan, need: Need) {
    let (plan, isNew) = try plan(reading)
    let touched = isNew ? nil : try touchedKeys(changes, plan, reading.connection)
    if let log = plan.log { logPosition = try log.end(in: reading.connection) }
    // No comparison finds a row whose key has a null, so all rows are read.
    guard let keys = touched?.keys, let rereading = plan.rereading,
      !keys.contains(where: \.hasNull)
    else { return (plan, .everything) }
    return (plan, .rows(keys.sorted(), rereading: rereading))
  }

  /// Notes that the whole result was read in the open snapshot.
  ///
  /// If the result has most rows of its table, the pages of the table are read as well. After a change
  /// by others that takes less time than reading the rows again.
  mutating func didReadEverything(
    rowCount: Int, in connection: DatabaseConnection
  ) throws(DatabaseError) {
    digests = nil
    self.rowCount = rowCount
    guard let plan = current?.plan, plan.rereading != nil, plan.log == nil,
      let interest = plan.interests?.first, interest.key == .rowid,
      rowCount >= QueryReader.minRowCount
    else { return }
    digests = try TableDigests(
      table: interest.table, maxPageCount: rowCount / QueryReader.minRowCountPerPage,
      in: connection)
  }

  /// True if the next changes are expected to need the whole result.
  ///
  /// - Parameter isUnknown: True if others may have changed anything.
  func readsEverything(ifUnknown isUnknown: Bool) -> Bool {
    guard let plan = current?.plan, plan.rereading != nil else { return true }
    return isUnknown && plan.log == nil
  }

  /// The plan in the open snapshot, and true if it is not the last one.
  private mutating func plan(
    _ reading: LiveReading
  ) throws(DatabaseError) -> (plan: QueryPlan, isNew: Bool) {
    let version = try reading.connection.schemaVersion()
    if let current, current.schemaVersion == version { return (current.plan, false) }
    let plan = try QueryPlan(
      definition, in: reading.connection, reserveCount: reserveCount)
    current = (plan, version)
    reading.setInterests(plan.interests)
    return (plan, true)
  }

  /// The keys of all rows that may differ from those known; `nil` if they were not recorded.
  private mutating func touchedKeys(
    _ changes: CommittedChanges, _ plan: QueryPlan, _ connection: DatabaseConnection
  ) throws(DatabaseError) -> TouchedKeys? {
    guard let interest = plan.interests?.first else { return nil }
    let touched = changes.touched[interest] ?? TouchedKeys()
    guard changes.isUnknown else {
      digests?.note(touched)
      return touched
    }
    if let log = plan.log {
      // This process records its own removals even where the log has blind spots.
      var noted = try log.keys(after: logPosition, in: connection)
      noted?.formUnion(touched)
      return noted
    }
    var found = try digests?.advance(
      maxRowidCount: rowCount / QueryReader.maxTouchedDivisor, in: connection)
    found?.formUnion(touched)
    return found
  }
}
