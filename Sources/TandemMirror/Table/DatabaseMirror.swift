public import TandemDifferences
public import TandemRecords
public import TandemSQLite

/// Makes a table equal to a list of records, one way, in one transaction.
///
/// The table is created if it is missing, and columns are added as fields appear. Each record is
/// compared with its row, and only what differs is written: readers see the old list or the new one,
/// and a run that finds nothing to do writes nothing at all.
///
/// Columns of the table that no record has ever had a field for belong to the application: they are
/// neither compared nor written. A field that no record has any more becomes null in its column.
///
/// If a ``ContentMirror`` has put files beside the table, runs that would forget them are refused, until
/// the application deletes the table's row from `tandem_mirror_directory`; then the columns with the
/// paths are its own.
///
/// What the next run needs to know is kept in the table `tandem_mirror` of the same database; where a
/// server sent validators, triggers on the mirrored table forget them when anybody changes it.
public struct DatabaseMirror: Sendable {
  /// The table's name.
  public var table: String
  /// The fields that identify a record.
  public var key: [String]
  /// How much a run may delete.
  public var mirrorGuard: MirrorGuard
  /// Whether runs only find out what they would do.
  public var isDryRun: Bool

  /// A mirror in a table, by the given key fields.
  ///
  /// - Precondition: `key` names one or more fields, each once.
  public init(
    table: String, key: [String], mirrorGuard: MirrorGuard = MirrorGuard(), isDryRun: Bool = false
  ) {
    precondition(!key.isEmpty && RecordLayout(key) != nil, "A key names fields, each once")
    self.table = table
    self.key = key
    self.mirrorGuard = mirrorGuard
    self.isDryRun = isDryRun
  }

  /// What a run did, or would do.
  public struct Outcome: Hashable, Sendable {
    /// The difference between the table and the list, each kind ascending by key; records have the
    /// columns of the mirror, in the order of the table.
    public var difference = SetDifference<Record>()
    /// How many rows were there before.
    public var existingCount = 0
    /// How many records the list has.
    public var sourceCount = 0
    /// Whether the table had to be created.
    public var createsTable = false
    /// The columns that had to be added.
    public var addedColumns: [String] = []
    /// Whether there was nothing at all to write, so that the file is as it was.
    public var isUpToDate = true

    /// The outcome of a run that found nothing to do.
    public init() {}
  }

  /// Makes the table equal to `records`.
  ///
  /// - Parameters:
  ///   - records: The list, in any order.
  ///   - connection: The database; no transaction may be open.
  ///   - origin: Where the list came from, if a server told how to ask again.
  ///   - progress: Called now and then with how many changes are written, and of how many.
  /// - Throws: ``RecordError`` for a record that has no key, or the key of another one, or a value
  ///   its column would not keep; ``MirrorError`` for a run the guard refuses or a table that cannot
  ///   be made equal to the list; ``DatabaseError``. Then nothing is changed.
  /// - Complexity: O(*n* + *m*) time for *n* rows and *m* records sorted by key, in memory for the
  ///   list and the difference.
  public func run(
    _ records: [Record], into connection: DatabaseConnection, origin: MirrorOrigin? = nil,
    progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    try run(records, [], into: connection, origin: origin, progress: progress)
  }

  /// Makes the table equal to `records`, which have the paths of the files of `contents`.
  func run(
    _ records: [Record], _ contents: [MirroredContent], into connection: DatabaseConnection,
    origin: MirrorOrigin? = nil, progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws -> Outcome {
    try connection.transaction(isDryRun ? .deferred : .immediate) {
      let schema = try connection.schema(ofTable: table)
      let state = try MirrorState.load(table: table, from: connection)
      let directory = try DirectoryState.load(table: table, from: connection)
      try directory?.requireContents(contents, ofTable: schema)
      let target = try Target(
        self, schema: schema, state: state, contents: contents, records: records)
      var outcome = try target.compare(records, in: connection)
      let refusal = mirrorGuard.refusal(
        sourceCount: records.count, existingCount: outcome.existingCount,
        deletionCount: outcome.difference.deleted.count)
      if let refusal { throw refusal }
      let hasTable = schema != nil || !target.columns.columns.isEmpty
      outcome.createsTable = schema == nil && hasTable
      outcome.addedColumns = schema == nil ? [] : target.columns.additions.map(\.name)
      let newState = MirrorState(
        columns: target.listColumns, key: target.key, origin: origin)
      var newDirectory = directory
      newDirectory?.contents = contents.map(DirectoryState.Content.init)
      outcome.isUpToDate =
        try !hasTable
        || (schema != nil && target.columns.additions.isEmpty && outcome.difference.isEmpty
          && newDirectory == directory
          && newState.isSaved(table: target.name, in: connection))
      guard !isDryRun, !outcome.isUpToDate else { return outcome }
      try MirrorState.prepareTable(in: connection)
      try target.prepareTable(in: connection)
      try target.write(outcome, to: connection, progress: progress)
      try newState.save(table: target.name, to: connection)
      if newDirectory != directory {
        try newDirectory?.save(table: target.name, to: connection)
      }
      return outcome
    }
  }

  /// What to send along with a request for `url`, so that the answer may be "not modified": only if
  /// the last run mirrored that URL by the same key and with the same options, and nobody has changed
  /// or dropped the table, or a column that is mirrored, since.
  ///
  /// - Parameters:
  ///   - url: The URL to ask for.
  ///   - options: How it is asked for, and read.
  ///   - contents: What is put into files, if anything.
  ///   - connection: The database.
  public func validators(
    for url: String, options: RecordListOptions = RecordListOptions(),
    contents: [MirroredContent] = [], in connection: DatabaseConnection
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
