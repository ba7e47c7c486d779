internal import TandemRecords
package import TandemSQLite
package import TandemSync

/// What a space stores and answers, in a transaction that is open on a connection: the one form of the rules for all
/// stores. Only ``SpaceConnection`` knows how the rows are kept.
///
/// All functions are synchronous and take the time and the random numbers as parameters, so that a
/// simulator can run them in memory, without tasks. A space has these tables:
///
/// - `space`: one row with the epoch, the head, the horizon and the synchronized tables.
/// - `record`: the newest state of each record, deleted ones included until they are forgotten.
///   `id` (the values of the key), fields and the versions of fields are JSON, so that any program
///   can read them; `key` has the canonical bytes of the key (``RecordEncoding``), by which records
///   are found and ordered.
/// - `history`: the commits since the horizon.
/// - `replica`: the last commit of each replica, with its outcome.
/// - `overruled`: the versions of records that merges overruled, with the version of their commit.
/// - `change_count`: the number of records that each commit changed, by table.
/// - `replica_name`: the names that people gave to replicas.
/// - `column_definition`: how the first replica of each column has defined it (``TandemSync/SpaceColumn``).
/// - `part`: the parts of commits whose other parts have not arrived.
/// - `rule` and `claim`: the constraints of the tables, and the values that records have under them.
/// - `number`: the highest number that was ever given in each table whose keys are numbers that SQLite chooses.
/// - `usage`: one row with the number and the bytes of the live records, where there is a quota.
///
/// `change_count`, `replica_name` and `column_definition` are for people. In files of earlier versions, they are missing
/// until something is written to them, as `part`, `rule`, `claim`, `number` and `usage` are in every file.
package struct SpaceTables {
  /// The connection with the open transaction.
  let connection: any SpaceConnection
  /// The bounds of pages and records.
  let limits: SyncLimits

  /// The tables behind a connection.
  package init(_ connection: any SpaceConnection, limits: SyncLimits = SyncLimits()) {
    self.connection = connection
    self.limits = limits
  }

  /// The tables in the SQLite file of a connection.
  package init(_ connection: DatabaseConnection, limits: SyncLimits = SyncLimits()) {
    self.init(SQLiteSpaceConnection(connection), limits: limits)
  }
}

// MARK: - The space

extension SpaceTables {
  /// Creates an empty space with a new history.
  ///
  /// - Returns: False if there is a space already; nothing is changed then.
  /// - Throws: ``SpaceError`` if the file is another database; ``DatabaseError``.
  @discardableResult
  package func create(using generator: inout some RandomNumberGenerator) throws -> Bool {
    guard try connection.createTables() else { return false }
    let epoch = SyncToken.random(using: &generator)
    try connection.run(.insertSpace, [.text(epoch.description)])
    try insertHistory(
      SpaceRevision(epoch: epoch, version: 0, mark: generator.next()), .empty, nil, at: 0)
    return true
  }

  /// Throws if this is neither a space that this version can read nor, if that is allowed, an empty file. Writes
  /// nothing.
  package func check(allowsEmptyFile: Bool = false) throws {
    try connection.check(allowsEmptyFile: allowsEmptyFile)
  }
}

// MARK: - The state of the space

extension SpaceTables {
  /// The state of the space.
  package func state() throws -> SpaceState {
    let row = try connection.row(.state, [])
    if case .integer(let horizon)? = row?[2], horizon < 0 {
      guard try !isCopy() else { throw SyncRequestError.unpromotedCopy }
      throw SyncRequestError(
        .unavailable,
        "the space was moved to another store, and is used there from now on; try again later",
        retryAfter: .seconds(2))
    }
    guard let row, case .text(let epochText) = row[0], let epoch = SyncToken(epochText),
      case .integer(let head) = row[1], case .integer(let horizon) = row[2],
      case .text(let tables) = row[3], case .integer(let mark) = row[4],
      case .text(let digestText) = row[5], let digest = RecordDigest(digestText),
      (0..<Int64(SpaceRevision.maxVersion)).contains(head), (0...head).contains(horizon)
    else { throw damaged("the state of the space") }
    return SpaceState(
      head: SpaceRevision(epoch: epoch, version: Int(head), mark: UInt64(bitPattern: mark)),
      digest: digest, horizon: Int(horizon),
      tables: try decoded("the tables of the space") { () throws(TextFault) in
        try reader.tables(Array(tables.utf8))
      })
  }

  /// The reason why the space cannot continue from a revision; `nil` if it can.
  func gone(_ revision: SpaceRevision, _ state: SpaceState) throws -> SyncGone? {
    guard revision.epoch == state.head.epoch else { return .epoch }
    guard revision.version <= state.head.version else { return .history }
    // A history that was lost is noticed below the horizon too. An earlier version of Tandem forgot the marks there.
    let mark = try connection.row(.mark, [.integer(Int64(revision.version))])
    if let mark, mark[0] != .integer(Int64(bitPattern: revision.mark)) { return .history }
    guard revision.version >= state.horizon else { return .horizon }
    guard mark != nil else { throw damaged("the history") }
    return nil
  }

  /// Forgets the deletions up to a version, and the history and the versions of fields below it. A
  /// replica at an earlier revision then starts with all live records.
  ///
  /// The marks of versions and the identities of commits stay: a revision of a lost history, and a commit that is sent
  /// once more, are known for ever.
  ///
  /// - Parameter version: The new horizon, at most the head. A lower one than the present has no
  ///   effect.
  package func forget(before version: Int) throws {
    let state = try state()
    let horizon = min(version, state.head.version)
    guard horizon > state.horizon else { return }
    try connection.run(.setHorizon, [.integer(Int64(horizon))])
    try forget(below: horizon)
  }

  /// Forgets what a space with this horizon does not have.
  func forget(below horizon: Int) throws {
    let value = FieldValue.integer(Int64(horizon))
    try connection.run(.forgetDigests, [value])
    try connection.run(.forgetDeletions, [value])
    try connection.run(.forgetOverruled, [value])
    if try connection.has(.changeCounts) { try connection.run(.forgetCounts, [value]) }
  }

  /// Gives the history a new epoch, as after restoring the file from a backup on purpose: each
  /// replica then decides by its policy how to join its changes with the space.
  package func startNewHistory(using generator: inout some RandomNumberGenerator) throws {
    let state = try state()
    let epoch = SyncToken.random(using: &generator)
    let head = FieldValue.integer(Int64(state.head.version))
    try connection.run(.setEpoch, [.text(epoch.description)])
    try connection.run(.forgetDigests, [head])
    try connection.run(.setMark, [.integer(Int64(bitPattern: generator.next())), head])
  }
}

// MARK: - Tables

extension SpaceTables {
  /// Declares the tables of a replica that attaches.
  ///
  /// The first replica that has a table declares it. A later one may lack columns that the space
  /// has, and the space takes over columns that it lacks; the key columns and the granularity must
  /// be equal. A constraint that the space lacks holds from now on if its records satisfy it; otherwise it is pending.
  ///
  /// - Parameter adds: False for a replica that may only read: it cannot add tables, columns and constraints.
  /// - Returns: The tables of the space, those of the replica included. They have no constraints if no table of the
  ///   request has any, not even an empty list: an earlier version of this program sent it. The same holds for
  ///   definitions.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `differentTables`, `overLimit` or `unauthorized`;
  ///   ``DatabaseError``. The transaction must then be rolled back.
  package func declare(_ tables: [SpaceTable], adds: Bool = true) throws -> [SpaceTable] {
    let state = try state()
    var declared = state.tables
    for table in tables {
      if let place = declared.firstIndex(where: { $0.name.isSameSQLName(as: table.name) }) {
        declared[place] = try declared[place].joined(with: table)
      } else {
        try table.checkDeclaration()
        declared.append(table.withoutConstraints)
      }
    }
    guard declared.count <= SyncLimits.maxTableCount else {
      throw SyncRequestError(
        .overLimit, "a space has at most \(SyncLimits.maxTableCount) tables; attach fewer")
    }
    let constraints = try newConstraints(tables, declared)
    if adds {
      try add(constraints, to: &declared)
      try settlePending(in: &declared)
      try insertDefinitions(of: tables, declared)
    } else if declared != state.tables || !constraints.isEmpty {
      throw SyncRequestError(
        .unauthorized,
        "the space lacks some of these tables, columns or constraints, and this client may only read "
          + "it: attach them first with an access token that may write")
    }
    if declared != state.tables { try store(declared) }
    if declared.contains(where: \.isNumbered) { try connection.make(.numbers) }
    let knowsConstraints = tables.contains { $0.constraints != nil }
    let knowsNumbers = tables.contains(where: \.isNumbered)
    let knowsDefinitions = tables.contains { $0.definitions != nil }
    return try declared.map { table in
      var answer = knowsNumbers ? table : table.withoutNumbers
      answer = knowsConstraints ? answer.withConstraints : answer.withoutConstraints
      return knowsDefinitions ? try defined(answer) : answer
    }
  }

  /// Stores the declaration of the tables.
  func store(_ tables: [SpaceTable]) throws {
    let bytes = SyncMessageWriter.bytes(tables)
    guard bytes.count <= SyncLimits.maxDeclarationByteCount else {
      throw SyncRequestError(
        .overLimit,
        "the tables, columns and constraints of the space would need more than "
          + "\(SyncLimits.maxDeclarationByteCount) bytes; attach fewer")
    }
    try connection.run(.setTables, [.text(String(decoding: bytes, as: UTF8.self))])
  }
}

extension SpaceTable {
  /// This table with the columns of a replica's table that it lacks.
  fileprivate func joined(with other: SpaceTable) throws(SyncRequestError) -> SpaceTable {
    try requireSame("the table", name, other.name)
    guard keyColumns.map({ FieldName($0) }) == other.keyColumns.map({ FieldName($0) }) else {
      throw SyncRequestError(
        .differentTables,
        "the table \(name) has the key \(keyColumns.sqlList) in the space, "
          + "but \(other.keyColumns.sqlList) here; give it the same primary key")
    }
    guard granularity == other.granularity else {
      throw SyncRequestError(
        .differentTables,
        granularity == .record
          ? "the table \(name) merges whole records in the space; attach it with `granularity` \(name)=record"
          : "the table \(name) merges fields in the space; attach it without `granularity` \(name)=record"
      )
    }
    guard isNumbered == other.isNumbered else {
      throw SyncRequestError(
        .differentTables,
        isNumbered
          ? "SQLite chooses the keys of the table \(name) in the space; attach it with `renumbers` \(name)"
          : "copies choose the keys of the table \(name) in the space by themselves; attach it without "
            + "`renumbers` \(name), or attach all copies to a new space")
    }
    var columns = columns
    for column in other.columns {
      if let known = columns.first(where: { $0.isSameSQLName(as: column) }) {
        try requireSame("the column of \(name)", known, column)
      } else {
        columns.append(column)
      }
    }
    var joined = self
    joined.columns = columns
    try joined.checkDeclaration()
    return joined
  }

  private func requireSame(
    _ what: String, _ known: String, _ name: String
  ) throws(SyncRequestError) {
    guard FieldName(known) == FieldName(name) else {
      throw SyncRequestError(
        .differentTables,
        "\(what) is called \(known) in the space, but \(name) here; use the same letters")
    }
  }

  /// Throws unless the table has a name, a key, and each column once.
  fileprivate func checkDeclaration() throws(SyncRequestError) {
    guard !name.isEmpty, !keyColumns.isEmpty else {
      throw SyncRequestError(
        .differentTables, "a synchronized table needs a name and a primary key")
    }
    let names = keyColumns + columns
    guard names.count <= SyncLimits.maxColumnCount else {
      throw SyncRequestError(
        .overLimit,
        "the table \(name) would have \(names.count) synchronized columns; "
          + "the most are \(SyncLimits.maxColumnCount)")
    }
    // Unlike `lowercased()`, SQLite ignores the case of ASCII letters only.
    let folded = names.map { name in
      name.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
    }
    guard Set(folded).count == names.count else {
      throw SyncRequestError(.differentTables, "the table \(name) names a column twice")
    }
  }
}

// MARK: - Statements

extension SpaceTables {
  /// Reads messages that the space has stored, whatever its limits were then.
  var reader: SyncMessageReader {
    SyncMessageReader(
      limits: SyncLimits(
        maxRecordByteCount: .max / 8, maxCommitByteCount: .max / 8, maxCommitChangeCount: .max))
  }

  func insertHistory(
    _ revision: SpaceRevision, _ digest: RecordDigest, _ commit: SyncCommit?, at time: Int
  ) throws {
    try connection.run(
      .insertHistory,
      [
        .integer(Int64(revision.version)), .integer(Int64(bitPattern: revision.mark)),
        .text(digest.description), commit.map { .text($0.id.description) } ?? .null,
        commit.map { .text($0.replica.description) } ?? .null, .integer(Int64(time)),
      ])
  }

  /// The key of a record by the text of its values.
  func storedKey(_ table: String, _ id: String?) throws(SpaceError) -> SyncKey {
    guard let id else { throw damaged("a key of the table \(table)") }
    return SyncKey(
      table: table,
      id: try decoded("a key of the table \(table)") { () throws(TextFault) in
        try reader.id(Array(id.utf8))
      })
  }

  /// Decodes a text of the file.
  func decoded<Value>(
    _ what: @autoclosure () -> String, _ body: () throws(TextFault) -> Value
  ) throws(SpaceError) -> Value {
    do { return try body() } catch { throw damaged("\(what()) (\(error))") }
  }

  func damaged(_ what: String) -> SpaceError {
    SpaceError(
      .damaged, "\(what) cannot be read: another program has changed it; restore a backup",
      path: connection.place)
  }
}
