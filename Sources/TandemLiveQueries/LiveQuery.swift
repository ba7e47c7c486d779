public import TandemRecords
public import TandemSQLite

/// A query whose result is kept true after every commit, whoever makes it.
///
/// It is a value: it says what to watch. Asking it for a ``LiveSequence`` and iterating that starts
/// it; leaving the loop or cancelling the task ends it.
///
///     let places = LiveQuery(table: "place")
///     for try await difference in places.differences(in: database) {
///       show(difference.inserted, difference.updated, difference.deleted)
///     }
///
/// **Delivery.** Each sequence delivers states of the database in the order in which they were
/// committed. Every element leads from the state delivered before to a later one, whole: a commit is
/// never seen in parts. A consumer that is slow gets what several commits did as one difference, so
/// that nothing adds up but the keys of rows touched, and of these at most ``maxTouchedKeyCount``.
/// Commits that do not change the result deliver nothing, except at the start: the first element
/// comes even if it is empty, so that "nothing yet" differs from "nothing there", unless
/// `deliversEmptyStart` is false. After the end or cancellation nothing more arrives; an error is
/// thrown to the consumer, and ends the sequence. There is no other mode: how many commits come as one
/// follows from the consumer's pace alone.
///
/// **Changes.** A row counts as changed if a value of it is of another type or another value than
/// before: also if `1` becomes `1.0`, which SQLite takes for the same. Rows are told apart by their
/// keys, and these are the same where SQLite's BINARY collation says so: a key that goes from `1` to
/// `1.0` is an update of its row.
///
/// **Locks.** While another program keeps the file locked, as it may without a write-ahead log, a
/// sequence waits, however long, whatever ``DatabaseConfiguration/busyTimeout`` says: it tries again at
/// pauses of up to 40 ms until it can read or its task is cancelled. It never ends with `busy`.
///
/// **Isolation.** Queries run on the database's readers, and elements are made there. They arrive
/// where the loop runs: a loop on the main actor gets them on the main actor, without more. Objects
/// that live there are kept in step by a ``SetPresenter``.
///
/// **Order.** A list is in the order of the query's ORDER BY. Rows that are equal by it, and all rows
/// of a query without one, follow the order of their keys, so that a list is the same each time; it is
/// always one that SQLite may give.
///
/// **Cost.** Of a query over one table, whose key is the table's primary key, only rows that a commit
/// touched are read again, whatever the size of the table; other queries run again after a commit that
/// touches tables and columns they read. Such a query may have an ORDER BY of columns of its result,
/// with SQLite's own collations, and then a LIMIT: rows are placed in memory, and a LIMIT keeps some rows
/// in reserve. ``explanation(in:)`` says which way a query goes. Both ways give the same, always. A
/// change by another process, on a table that is not tracked, runs the query again once. The result is
/// kept in memory, in the form of records.
public struct LiveQuery<Element: Sendable>: Sendable {
  let definition: QueryDefinition
  let decode: @Sendable (Record) throws -> Element

  init(definition: QueryDefinition, decode: @escaping @Sendable (Record) throws -> Element) {
    self.definition = definition
    self.decode = decode
  }

  /// The same query with other elements.
  ///
  /// - Parameter transform: Makes an element of an element. It runs off the consumer's actor, for
  ///   each row that is delivered, and must give equal results for equal rows. What it throws ends the
  ///   sequence.
  public func map<NewElement: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> NewElement
  ) -> LiveQuery<NewElement> {
    LiveQuery<NewElement>(definition: definition) { [decode] in try transform(decode($0)) }
  }

  /// How the result is kept true, and why not row by row if it is not.
  ///
  /// - Throws: ``DatabaseError`` if the query does not fit the schema; `CancellationError`.
  public func explanation(in database: Database) async throws -> LiveQueryExplanation {
    try await database.read { [definition] transaction in
      LiveQueryExplanation(try QueryPlan(definition, in: transaction.connection))
    }
  }

  /// The most keys of touched rows that are kept for a consumer that is slow; with more, the query
  /// runs again.
  public static var maxTouchedKeyCount: Int { TouchedKeys.maxCount }
}

extension LiveQuery<Record> {
  /// All rows of a table by its primary key, or by rowid, which then is the first field, if it has
  /// none. A null in the key, which SQLite allows unless it is an integer, ends the sequence with an
  /// error that says what to watch instead.
  public init(table: String) {
    self.init(definition: .table(table), decode: { $0 })
  }

  /// The rows of a query.
  ///
  ///     LiveQuery("SELECT id, name FROM place WHERE country = \(country)", key: "id")
  ///
  /// - Parameters:
  ///   - sql: One `SELECT` whose columns have different names. If it calls a function such as
  ///     `random()` or reads the clock, its result is that of the last time it ran.
  ///   - key: The columns of the result that identify a row: no two rows have the same values in
  ///     them, nor null.
  public init(_ sql: SQL, key: String...) {
    self.init(sql, key: key)
  }

  /// The same with the key as an array.
  public init(_ sql: SQL, key: [String]) {
    self.init(definition: .query(sql, key: key), decode: { $0 })
  }
}

/// How the result of a live query is kept true in a database, as its schema is now.
public struct LiveQueryExplanation: Hashable, Sendable, CustomStringConvertible {
  /// The columns of the result, in order.
  public let columns: [String]
  /// Those that identify a row.
  public let key: [String]
  /// Whether only rows that a commit touched are read again.
  public let isIncremental: Bool
  /// Whether that holds for the result as a list too, whose order is then kept in memory.
  public let isListIncremental: Bool
  /// A sentence that says which way the query goes, and why.
  public let description: String

  init(_ plan: QueryPlan) {
    columns = plan.layout.names
    key = plan.keyOffsets.map { plan.layout.names[$0] }
    isIncremental = plan.rereading != nil
    isListIncremental = plan.rereading != nil && plan.list.order != nil
    description = plan.explanation
  }
}
