import Tandem

/// One run of `tandem watch` on an open file: the query, and the form of the output.
struct Watch<Difference: WatchedDifference>: Sendable {
  let database: Database
  let query: LiveQuery<Record>
  let explanation: LiveQueryExplanation
  /// The journal mode, as SQLite names it.
  let journalMode: String?
  let options: WatchCommand.Options

  /// Shows differences up to the limit, or until the task is cancelled.
  ///
  /// - Parameter shown: The rows that are shown, or `nil` if nothing is; kept up to date if the
  ///   options need them. The first difference leads from them.
  func run(_ output: WatchOutput, _ shown: inout ShownRows<Difference>?) async throws {
    output.key = explanation.key
    var isFirst = true
    let differences = Difference.sequence(
      of: query, in: database, startsWithRows: options.showsInitial || options.waits)
    for try await difference in differences {
      // All commits from the first difference on are observed.
      if isFirst { greet() }
      try show(difference, isFirst: isFirst, output, shown)
      if options.keepsRows {
        if isFirst { shown = ShownRows(key: explanation.key) }
        shown?.apply(difference)
      }
      isFirst = false
      if output.differenceCount == options.limit { break }
    }
  }

  private func show(
    _ difference: Difference, isFirst: Bool, _ output: WatchOutput,
    _ shown: ShownRows<Difference>?
  ) throws {
    let rows = shown?.rows ?? Difference.noRows
    guard isFirst else { return try difference.write(from: rows, to: output) }
    guard let shown else {
      if options.showsInitial { try difference.write(from: rows, to: output) }
      return
    }
    let change = try shown.difference(toFirst: difference, key: explanation.key)
    if !change.isEmpty { try change.write(from: rows, to: output) }
  }

  private func greet() {
    guard !options.isQuiet else { return }
    TandemCLI.report("watching \(database.path); the query \(explanation)")
    guard let journalMode, journalMode != "wal" else { return }
    TandemCLI.report(
      "its journal mode is \(journalMode): other programs cannot write while rows are read; "
        + "PRAGMA journal_mode=WAL avoids this"
        + (explanation.isIncremental && !explanation.isTracked
          ? ", and tandem track makes it short" : ""))
  }
}

/// The rows that `tandem watch` has shown: to be compared with those of a table or file that comes back,
/// and to name the rows that move.
struct ShownRows<Difference: WatchedDifference> {
  /// The columns that identify a row.
  var key: [String]
  private(set) var rows = Difference.noRows

  /// No rows.
  init(key: [String]) { self.key = key }

  /// Notes a difference that leads from these rows.
  mutating func apply(_ difference: Difference) { difference.apply(to: &rows, key: key) }

  /// The difference from these rows to those that the first difference of a run inserts. Without a
  /// common key, no row is the same.
  func difference(toFirst first: Difference, key newKey: [String]) throws -> Difference {
    try Difference(from: rows, to: first, key: key == newKey ? key : nil)
  }
}

/// A difference that `tandem watch` shows.
protocol WatchedDifference: Sendable {
  /// The rows of a result.
  associatedtype Rows

  static var noRows: Rows { get }

  var isEmpty: Bool { get }

  /// The differences of a query.
  ///
  /// - Parameter startsWithRows: False if the first difference need not insert the present rows.
  static func sequence(
    of query: LiveQuery<Record>, in database: Database, startsWithRows: Bool
  ) -> LiveSequence<Self>

  /// The difference from some rows to those that `first` inserts; `key` is nil if no row is the same.
  init(from rows: Rows, to first: Self, key: [String]?) throws

  /// Changes the rows from which this difference leads to those to which it leads.
  func apply(to rows: inout Rows, key: [String])

  /// Shows the difference, which leads from these rows if the options keep them.
  func write(from rows: Rows, to output: WatchOutput) throws
}

extension SetDifference<Record>: WatchedDifference {
  static var noRows: [RecordKey: Record] { [:] }

  static func sequence(
    of query: LiveQuery<Record>, in database: Database, startsWithRows: Bool
  ) -> LiveSequence<Self> {
    startsWithRows
      ? query.differences(in: database) : query.futureDifferences(in: database)
  }

  init(from rows: [RecordKey: Record], to first: Self, key: [String]?) throws {
    let old = rows.sorted { $0.key < $1.key }.map(\.value)
    guard let key else {
      self.init(inserted: first.inserted, deleted: old)
      return
    }
    try self.init(
      from: old, to: first.inserted, identifiedBy: { $0.key(of: key) },
      by: { $0.hasSameStorage(as: $1) })
  }

  func apply(to rows: inout [RecordKey: Record], key: [String]) {
    for record in deleted { rows[record.key(of: key)] = nil }
    for record in updated.map(\.new) + inserted { rows[record.key(of: key)] = record }
  }

  func write(from rows: [RecordKey: Record], to output: WatchOutput) throws {
    try output.write(self)
  }
}

extension ListDifference<Record>: WatchedDifference {
  static var noRows: [Record] { [] }

  static func sequence(
    of query: LiveQuery<Record>, in database: Database, startsWithRows: Bool
  ) -> LiveSequence<Self> {
    query.listDifferences(in: database)
  }

  init(from rows: [Record], to first: Self, key: [String]?) throws {
    guard let key else {
      let deletions = rows.enumerated().map { Placement(offset: $0, element: $1) }
      guard let difference = Self(deletions: deletions, insertions: first.insertions) else {
        preconditionFailure("Each row has its own offset")
      }
      self = difference
      return
    }
    self.init(
      from: rows, to: first.insertions.map(\.element), identifiedBy: { $0.key(of: key) },
      by: { $0.hasSameStorage(as: $1) })
  }

  func apply(to rows: inout [Record], key: [String]) {
    guard let next = applying(to: rows, by: { $0.hasSameStorage(as: $1) }) else {
      preconditionFailure("Each difference leads from the rows to which the last one led")
    }
    rows = next
  }

  func write(from rows: [Record], to output: WatchOutput) throws {
    try output.write(self, from: rows)
  }
}

extension Record {
  /// The values of the columns that identify a row.
  fileprivate func key(of columns: [String]) -> RecordKey { RecordKey(columns.map { self[$0] }) }
}
