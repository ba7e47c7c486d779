internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The rows of a mirror with contents, on the one connection that reads and writes them.
actor ContentDatabase {
  private let path: String
  let mirror: DatabaseMirror
  let contents: [MirroredContent]
  private var connection: DatabaseConnection?

  init(path: String, mirror: DatabaseMirror, contents: [MirroredContent]) {
    self.path = path
    self.mirror = mirror
    self.contents = contents
  }

  /// The connection; until there is a file, one to a database in memory, so that none is created for
  /// a list that turns out to be unfit.
  func reader() throws -> DatabaseConnection {
    if let connection { return connection }
    guard access(path, F_OK) == 0 else { return try DatabaseConnection(path: ":memory:") }
    let connection = try DatabaseConnection(
      path: path, access: mirror.isDryRun ? .readOnly : .readWrite)
    self.connection = connection
    return connection
  }

  /// The connection to the file, which is created if it is missing.
  func writer() throws -> DatabaseConnection {
    if let connection { return connection }
    let connection = try DatabaseConnection(path: path)
    self.connection = connection
    return connection
  }

  /// The files that each row points to, by the row's key; one entry per content.
  func files() throws -> [(key: RecordKey, files: [String?])] {
    let connection = try reader()
    guard let schema = try connection.schema(ofTable: mirror.table),
      mirror.key.allSatisfy({ schema.column(named: $0) != nil })
    else { return [] }
    let columns =
      mirror.key.map(\.sqlQuoted)
      + contents.map(\.fileField).map { schema.column(named: $0) == nil ? "NULL" : $0.sqlQuoted }
    let statement = try connection.prepare(
      "SELECT \(columns.joined(separator: ", ")) FROM \(schema.name.sqlQuoted)")
    var rows: [(key: RecordKey, files: [String?])] = []
    while try statement.step() {
      let values = try statement.values()
      rows.append(
        (
          RecordKey(Array(values.prefix(mirror.key.count))),
          values.dropFirst(mirror.key.count).map(\.textValue)
        ))
    }
    return rows
  }

  /// What to send along with the request for the list; see
  /// ``DatabaseMirror/validators(for:options:contents:in:)``.
  func validators(for url: String, _ options: RecordListOptions) throws -> RecordListValidators? {
    try mirror.validators(for: url, options: options, contents: contents, in: reader())
  }

  /// The keys of records as the table stores them.
  func keys(of records: [Record]) throws -> [RecordKey] {
    let connection = try reader()
    let target = try DatabaseMirror.Target(
      mirror, schema: try connection.schema(ofTable: mirror.table),
      state: try MirrorState.load(table: mirror.table, from: connection), contents: contents,
      records: records)
    return try target.columns.stored(records).map { record in
      RecordKey(target.keyOffsets.map { record.values[$0] })
    }
  }

  /// The difference from the table to records; nothing is written.
  func difference(to records: [Record]) throws -> SetDifference<Record> {
    var rehearsal = mirror
    rehearsal.isDryRun = true
    rehearsal.mirrorGuard = Self.noGuard
    return try rehearsal.run(records, contents, into: reader()).difference
  }

  /// Makes the table equal to records, in one transaction; only finds out about it in a dry run.
  func commit(
    _ records: [Record], origin: MirrorOrigin?
  ) throws -> DatabaseMirror.Outcome {
    var unguarded = mirror
    // How much may be deleted was asked before the first transfer.
    unguarded.mirrorGuard = Self.noGuard
    let connection = mirror.isDryRun ? try reader() : try writer()
    return try unguarded.run(records, contents, into: connection, origin: origin)
  }

  /// The file, and those that SQLite may put beside it.
  nonisolated var filePaths: [String] {
    let resolved = realpath(path, nil)
    defer { free(resolved) }
    let file = resolved.map { String(cString: $0) } ?? path
    return ["", "-wal", "-shm", "-journal"].map { file + $0 }
  }

  private static let noGuard = MirrorGuard(
    deletionLimit: .percentage(100), allowsEmptySource: true)
}
