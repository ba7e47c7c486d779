public import TandemRecords
public import TandemSQLite

/// A query whose result is kept up to date after every commit, by whichever program.
///
/// It is a value that describes what to watch. Iterating a ``LiveSequence`` of it starts it;
/// leaving the loop or cancelling the task ends it.
///
/// <!-- Snippets/DatabaseCodeInComments.swift query -->
/// ```swift
/// let places = LiveQuery(table: "place")
/// for try await difference in places.differences(in: database) {
///   show(difference.inserted, difference.updated, difference.deleted)
/// }
/// ```
///
/// **Delivery.** Each sequence delivers states of the database in commit order. Every element leads
/// from the state delivered before to a later one, and never contains a commit in part. A slow
/// consumer gets several commits as one difference; meanwhile only the keys of touched rows
/// accumulate, at most ``maxTouchedKeyCount``. ``LiveDelivery/everyCommit`` delivers each commit
/// of this database by itself. Commits that do not change the result deliver
/// nothing. The exception is the start: the first element comes even if it is empty, which
/// distinguishes an empty result from one that has not been read yet, unless `deliversEmptyStart`
/// is false. After the end or cancellation nothing more arrives; an error is thrown to the
/// consumer, and ends the sequence.
///
/// **Changes.** A row counts as changed if the type or the value of a column changed: also if `1`
/// becomes `1.0`, which SQLite treats as equal. If elements of another type than `Record` are
/// `Equatable`, a changed row is an update only if its elements differ. Rows are distinguished by their keys, and keys are
/// equal if SQLite's BINARY collation treats them as equal: a key that changes from `1` to `1.0` is
/// an update of its row.
///
/// **Locks.** While another program keeps the file locked, as it may without a write-ahead log, a
/// sequence waits without a limit, regardless of
/// ``/TandemSQLite/DatabaseConfiguration/busyTimeout``: it retries at pauses of up to 40 ms until
/// it can read or its task is cancelled. It never ends with `busy`. Nor can others write to such a
/// file while it is read. So before a sequence reads its whole result again, it pauses for
/// four times the duration of the last read, at most 10 s. Files with a write-ahead log need no
/// pause.
///
/// **Isolation.** Queries run on the database's readers, and elements are made there. They arrive
/// in the isolation of the loop: a loop on the main actor gets them on the main actor. A
/// ``SetPresenter`` keeps objects of that actor in step.
///
/// **Order.** A list is in the order of the query's ORDER BY. Rows that are equal by it, and all
/// rows of a query without one, are in the order of their keys, so that a list is the same each
/// time. It is always an order that SQLite permits.
///
/// **Cost.** Of a query over one table, whose key is the table's primary key, only rows that a
/// commit touched are read again, whatever the size of the table; other queries run again after a
/// commit that touches tables and columns they read. Such a query may have an ORDER BY of columns
/// of its result, with SQLite's own collations, and then a LIMIT: rows are placed in memory, and a
/// LIMIT keeps some rows in reserve. ``explanation(in:)`` describes the way of a query. Both ways
/// give the same result. A change by another process, on a table that is not tracked, runs the
/// query again once. The exception is a query that is kept up to date row by row and has most rows of
/// a table whose primary key is an integer: it compares the pages of the table, and reads the rows of
/// those that differ. The result is kept in memory, packed.
///
/// **Sharing.** Sequences of equal queries in one ``/TandemSQLite/Database`` read and keep their
/// result once, whatever they make of it: queries are equal if they have the same text, the same
/// values and the same key. Sequences of lists, of sets, and those with another ``LiveDelivery``,
/// share with each other only. Each sequence has its own pace: for a slow consumer, the rows
/// that differ from those that it knows are kept.
public struct LiveQuery<Element: Sendable>: Sendable {
  let definition: QueryDefinition
  let decode: @Sendable (Record) throws -> Element
  /// True if the elements are the rows themselves.
  let deliversRows: Bool

  init(
    definition: QueryDefinition, deliversRows: Bool = false,
    decode: @escaping @Sendable (Record) throws -> Element
  ) {
    self.definition = definition
    self.deliversRows = deliversRows
    self.decode = decode
  }

  /// The same query with other elements.
  ///
  /// - Parameter transform: Makes a new element. It runs off the consumer's actor, for each row
  ///   that is delivered, and must give equal results for equal rows. An error that it throws ends
  ///   the sequence.
  public func map<NewElement: Sendable>(
    _ transform: @escaping @Sendable (Element) throws -> NewElement
  ) -> LiveQuery<NewElement> {
    LiveQuery<NewElement>(definition: definition) { [decode] in try transform(decode($0)) }
  }

  /// The way in which the result is kept up to date, and the reason if that is not row by row.
  ///
  /// - Throws: ``/TandemSQLite/DatabaseError`` if the query does not fit the schema;
  ///   `CancellationError`.
  public func explanation(in database: Database) async throws -> LiveQueryExplanation {
    try await database.read { [definition] transaction in
      LiveQueryExplanation(try QueryPlan(definition, in: transaction.connection))
    }
  }

  /// The maximum number of keys of touched rows that are kept for a slow consumer; with more, the
  /// query runs again.
  public static var maxTouchedKeyCount: Int { TouchedKeys.maxCount }
}

extension LiveQuery<Record> {
  /// All rows of a table by its primary key or, without one, by rowid, which then is the first
  /// field. A null in the key, which SQLite allows unless the key is an integer, ends the sequence
  /// with an error that names a query to watch instead.
  public init(table: String) {
    self.init(definition: .table(table), deliversRows: true, decode: { $0 })
  }

  /// The rows of a query.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift untyped -->
  /// ```swift
  /// LiveQuery("SELECT id, name FROM place WHERE country = \(country)", key: "id")
  /// ```
  ///
  /// - Parameters:
  ///   - sql: One `SELECT` whose columns have different names. If it calls a function such as
  ///     `random()` or reads the clock, its result is that of the last time it ran.
  ///   - key: The columns of the result that identify a row: no two rows have the same values in
  ///     them, nor null.
  public init(_ sql: SQL, key: String...) {
    self.init(sql, key: key)
  }

  /// The rows of a query, with the key as an array.
  public init(_ sql: SQL, key: [String]) {
    self.init(definition: .query(sql, key: key), deliversRows: true, decode: { $0 })
  }
}

/// The way in which a live query is kept up to date in a database with its present schema.
public struct LiveQueryExplanation: Hashable, Sendable, CustomStringConvertible {
  /// The columns of the result, in order.
  public let columns: [String]
  /// The columns that identify a row.
  public let key: [String]
  /// True if only rows that a commit touched are read again.
  public let isIncremental: Bool
  /// True if that also holds for the result as a list, whose order is then kept in memory.
  public let isListIncremental: Bool
  /// True if that also holds after changes by other processes, because the table is tracked.
  package let isTracked: Bool
  /// A sentence about the way, and the reason for it.
  public let description: String

  init(_ plan: QueryPlan) {
    columns = plan.layout.names
    key = plan.keyOffsets.map { plan.layout.names[$0] }
    isIncremental = plan.rereading != nil
    isListIncremental = plan.rereading != nil && plan.list.order != nil
    isTracked = plan.log != nil
    description = plan.explanation
  }
}
