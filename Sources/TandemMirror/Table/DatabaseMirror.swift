public import TandemDifferences
public import TandemHTTP
public import TandemRecords
public import TandemSQLite

/// Makes a table equal to a list of records, one way, in one transaction, and puts the contents that the list
/// has addresses of into files.
///
/// Records at hand are mirrored by ``run(_:into:progress:)``, also inside of a transaction of the
/// application's own by ``run(_:in:progress:)``. A list from a file or a server is mirrored by
/// ``run(from:into:list:isConditional:client:progress:)``.
///
/// - **The table** is created if it is missing, and columns are added as fields appear. Each record is compared
///   with its row, and only differences are written: readers see the old list or the new one. A run that finds
///   no difference changes no row.
/// - **Values** are never changed by their column: a value that would be is an error, or widens the column
///   (``widensColumns``).
/// - **Columns** of the table that no record has ever had a field for belong to the application: they are
///   neither compared nor written. A field that no record has any more becomes null in its column.
/// - **State** for the next run is kept in tables of the same database whose names begin with `tandem_mirror`.
///   Where a server sent validators, triggers on the mirrored table remove them when anybody changes it.
/// - **Files** come first, then all rows in one transaction, then the files that no row points to are removed.
///   A row never points to a file that is not there. Where the content of an item changed, readers may see its
///   new file a little earlier than its new row. If anything failed, no file is removed.
/// - **Contents** are asked for if the record of their item differs from its row, or a file is missing, or if the
///   mirror asks for all again (``revalidatesContents``). Those that have not changed are not sent again. An item whose required contents could not be fetched keeps its
///   old row, or has none. If the run ends early, the table stays as it was. The next run uses what arrived,
///   and checks the files that this run may have replaced, whatever the list then is.
/// - **The directory** belongs to one mirror: that of one database, table, key and field. It must be empty at
///   first, but for hidden files, directories without any others, and the database itself, and may not be
///   inside another mirror's directory. Files that other programs put there may be removed. While there is no
///   file in it, another mirror may take it.
/// - **Options**: once rows have files, a run that does not name all of their contents is refused with a
///   ``MirrorError``, before anything is changed, until the application deletes the table's row from
///   `tandem_mirror_directory`. From then on the columns with the paths belong to the application.
///
/// Use a mirror of its own for each table and each directory.
public struct DatabaseMirror: Sendable {
  /// The table's name.
  public var table: String
  /// The fields that identify a record. If there are none, the table is made equal to the list as a bag: each row
  /// occurs as often as its record, and a record that changed is one that was deleted and another one that was
  /// inserted. The table may then have no primary key and no columns of the application's own.
  public var key: [String]
  /// The contents to put into files, in the order of their stages; none for the table alone.
  public var contents: [MirroredContent]
  /// The directory for the files; `nil` if there are no contents.
  public var directory: String?
  /// The limit for deletions, asked before anything is transferred or written.
  public var mirrorGuard: MirrorGuard
  /// True for runs that write nothing and fetch nothing but the list, and report what a run would do.
  public var isDryRun: Bool
  /// True to widen columns whose type would change or reject a value of the list, such as the text `007` in an
  /// INTEGER column: their type is removed. Otherwise such a value is an error.
  ///
  /// SQLite then rebuilds the table, in the transaction of the run: rows, indexes, triggers, tracking, foreign
  /// keys and views stay. If foreign keys of other tables refer to the table, the rebuilding is a transaction of
  /// its own before that of the rows, and only the forms with a ``RecordSource`` can do it.
  public var widensColumns = false
  /// True to ask for all contents again, each only if it changed at its server, although the records of the items
  /// did not change. The list is read whole then.
  public var revalidatesContents = false
  /// The number of contents that are fetched at a time; 0 for ``MirrorOptions/automaticConcurrency``. It is an
  /// upper bound: there are fewer if the limit for open files requires it.
  public var concurrency = 0
  /// The further attempts at contents that could not be fetched.
  public var retry = MirrorRetryPolicy()
  /// The options of the client that a run makes if it is given none, with ``/TandemHTTP/HTTPTimeouts/transfers``
  /// as its timeouts. It has a connection for each transfer.
  public var clientOptions = HTTPClientOptions(timeouts: .transfers)
  /// The types of columns that are created, by name; letters in either case. Each other column gets the
  /// type that it has in a table that is the source, or the narrowest type for its values. A column that the table has must have the type that is given here.
  public var columnTypes: [String: ColumnType] = [:]
  /// The types of columns that are created and have no type in ``columnTypes``, by their names in the source.
  /// A column that the table has may be of another type.
  var sourceTypes: [String: ColumnType] = [:]
  /// True if a number that changes its type alone is a change, as in a mirror of a table.
  var comparesTypes = false

  /// A mirror in a table, by the given key fields.
  ///
  /// - Parameters:
  ///   - table: The table's name.
  ///   - key: The fields that identify a record; none to compare whole rows.
  ///   - contents: The contents to put into files; none by default.
  ///   - directory: The directory for the files. It is created if it is missing; its parent must exist.
  ///   - mirrorGuard: The limit for deletions.
  ///   - isDryRun: True for runs that write nothing.
  /// - Precondition: `key` names each field once; `contents` have different stages and different
  ///   fields, and there is a key and a directory for them.
  public init(
    table: String, key: [String], contents: [MirroredContent] = [], directory: String? = nil,
    mirrorGuard: MirrorGuard = MirrorGuard(), isDryRun: Bool = false
  ) {
    precondition(RecordLayout(key) != nil, "A key names fields, each once")
    precondition(!key.isEmpty || contents.isEmpty, "Records with contents have a key")
    precondition(
      Set(contents.map(\.stage)).count == contents.count
        && Set(contents.map(\.field)).count == contents.count,
      "Each content has a stage and a field of its own")
    self.table = table
    self.key = key
    self.contents = contents
    self.directory = directory
    self.mirrorGuard = mirrorGuard
    self.isDryRun = isDryRun
  }

  /// The changes that a run made to the table, or would make.
  public struct Outcome: Sendable {
    /// The changes from the table to the list.
    public var changes = Changes()
    /// The changes as a difference, which holds all changed records at once: after the first run that is the
    /// whole list.
    public var difference: SetDifference<Record> { changes.difference }
    /// The number of rows before the run.
    public var existingCount = 0
    /// The number of records in the list.
    public var sourceCount = 0
    /// True if the table was missing.
    public var createsTable = false
    /// True if the table is missing and stays so, because the list has no records that could show its columns.
    public var lacksTable = false
    /// The columns that were missing.
    public var addedColumns: [String] = []
    /// The columns that were created for a CSV list, whose cells decided on their types, as in `lon REAL`.
    package var decidedTypes: [String] = []
    /// The columns whose type was removed.
    public var widenedColumns: [String] = []
    /// True if there was nothing at all to write, so that the file is as it was.
    public var isUpToDate = true

    /// The outcome of a run that found nothing to do.
    public init() {}
  }
}

// MARK: - Records at hand

extension DatabaseMirror {
  /// Makes the table equal to `records` in one transaction; blocks this thread.
  ///
  /// - Parameters:
  ///   - records: The list, in any order.
  ///   - database: The database. Its live queries see the transaction as one of its own.
  ///   - progress: Called after every 1,000 changes and after the last one.
  /// - Throws: ``/TandemRecords/RecordError`` for a record without a key, with the key of another
  ///   one, or with a value that its column would change; ``MirrorError`` for a run that the guard
  ///   refuses, or a table that cannot be made equal to the list; ``/TandemSQLite/DatabaseError``.
  ///   Nothing is changed then.
  /// - Precondition: The mirror has no contents: fetching them takes ``run(from:into:list:isConditional:client:progress:)``.
  /// - Complexity: O(*n* + *m*) time for *n* rows and *m* records sorted by key, in memory for the list and the
  ///   former versions of changed rows, both packed.
  @discardableResult
  public func run(
    _ records: [Record], into database: Database,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    if isDryRun {
      return try database.read { try run(records, on: $0.connection, progress: progress) }
    }
    return try database.write { try run(records, on: $0.connection, progress: progress) }
  }

  /// The same without blocking this thread. Cancelling the task rolls the transaction back.
  @discardableResult
  public func run(
    _ records: [Record], into database: Database,
    progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) async throws -> Outcome {
    if isDryRun {
      return try await database.read { try run(records, on: $0.connection, progress: progress) }
    }
    return try await database.write { try run(records, on: $0.connection, progress: progress) }
  }

  /// Makes the table equal to `records` as a part of a transaction, in a savepoint: after an error, the
  /// transaction can go on without these changes. See ``run(_:into:progress:)``.
  @discardableResult
  public func run(
    _ records: [Record], in transaction: borrowing WriteTransaction,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    try transaction.savepoint { try run(records, on: $0.connection, progress: progress) }
  }

  /// Makes the table equal to `records`, in the transaction that is open.
  package func run(
    _ records: [Record], origin: MirrorOrigin? = nil, on connection: DatabaseConnection,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    precondition(contents.isEmpty, "Contents are fetched by run(from:into:)")
    let records = PackedRecords(records)
    let comparison = try Comparison(self, records, in: connection)
    try comparison.requirePermission()
    let outcome = try comparison.write(
      comparison.changes, origin: origin, to: connection, progress: progress)
    if !isDryRun { try requireRows(after: outcome, in: connection) { (records, [:]) } }
    return outcome
  }
}

// MARK: - Validators

extension DatabaseMirror {
  /// The validators for a conditional request for `url`: only if the last run mirrored that URL by the same
  /// key and with the same options, and nobody has changed or dropped the table, or a column that is mirrored,
  /// since.
  ///
  /// - Parameters:
  ///   - url: The URL of the list.
  ///   - options: The options of the request and of the reading.
  ///   - connection: The database.
  package func validators(
    for url: String, options: RecordListOptions = RecordListOptions(),
    in connection: DatabaseConnection
  ) throws(DatabaseError) -> RecordListValidators? {
    guard let schema = try connection.schema(ofTable: table),
      let state = try MirrorState.load(table: table, from: connection),
      let origin = state.origin, !origin.validators.isEmpty,
      origin
        == MirrorOrigin(
          url: url, options: options, contents: contents, validators: origin.validators),
      (state.columns + contents.map(\.fileField)).allSatisfy({ schema.column(named: $0) != nil }),
      state.key.count == key.count, zip(state.key, key).allSatisfy({ $0.isSameSQLName(as: $1) }),
      try MirrorState.guardsValidators(table: schema.name, in: connection)
    else { return nil }
    return origin.validators
  }
}
