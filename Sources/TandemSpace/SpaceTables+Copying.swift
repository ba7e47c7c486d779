internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// A space that was copied to another store.
package struct MovedSpace: Hashable, Sendable {
  /// The head of the space.
  package let head: SpaceRevision
  /// The number of rows of all tables.
  package let rowCount: Int
}

/// Which state of which history a space has; also of a space that was moved.
package struct SpacePosition: Hashable, Sendable {
  package let epoch: SyncToken
  package let version: Int
  /// True if the space was moved to another store. No replica uses it here: its state cannot be read.
  package let isMoved: Bool
}

extension SpaceTables {
  /// The number of rows, and about the number of bytes, that are written at a time.
  private static let maxBatchCount = 256
  private static let maxBatchByteCount = 1 << 20

  /// Copies a space with its history, its replicas and all else that it has, and marks it as moved.
  ///
  /// Both transactions are open, and still have to be committed: first that of this space. So no replica ever finds the
  /// space in two places.
  ///
  /// - Parameters:
  ///   - target: Where there is no space.
  ///   - progress: Called with the number of rows that were copied, and of all rows.
  /// - Throws: ``SpaceError`` with code `damaged` if the records have not the digest of the space, or if the copy does
  ///   not equal it.
  package func move(
    to target: SpaceTables, progress: (Int, Int) -> Void = { _, _ in }
  ) throws -> MovedSpace {
    try target.connection.prepareCopy()
    try connection.prepareCopy()
    guard try !isCopy() else { throw SyncRequestError.unpromotedCopy }
    if try position()?.isMoved == true { try connection.run(.toggleMoved, []) }
    let moved = try transfer(to: target, progress)
    try connection.run(.toggleMoved, [])
    return moved
  }

  /// Copies a space with all that it has, and leaves it as it is: its replicas take the copy for a state of it.
  ///
  /// - Parameter target: As in ``move(to:progress:)``.
  package func copy(to target: SpaceTables) throws -> MovedSpace {
    try target.connection.prepareCopy()
    try connection.prepareCopy()
    return try transfer(to: target) { _, _ in }
  }

  private func transfer(
    to target: SpaceTables, _ progress: (Int, Int) -> Void
  ) throws -> MovedSpace {
    // Throws if it is damaged.
    _ = try state()
    guard try target.connection.createTables() else {
      throw SpaceError(
        .notASpace, "there is a space already; choose another place",
        path: target.connection.place)
    }
    let tables = try SpaceStoredTable.allCases.filter(has)
    let total = try tables.reduce(0) { try $0 + connection.rowCount(of: $1) }
    var (rowCount, sums) = (0, [SpaceStoredTable: RowSum]())
    for table in tables {
      let sum = try copy(table, to: target) { count in
        rowCount += count
        progress(rowCount, total)
      }
      sums[table] = sum
    }
    let tablesOfState = try target.state().tables
    if tablesOfState.contains(where: \.isNumbered) { try target.connection.make(.numbers) }
    try target.check(sums)
    return MovedSpace(head: try target.state().head, rowCount: rowCount)
  }

  private func has(_ table: SpaceStoredTable) throws -> Bool {
    try table.groups.allSatisfy(connection.has)
  }

  private func copy(
    _ table: SpaceStoredTable, to target: SpaceTables, _ progress: (Int) -> Void
  ) throws -> RowSum {
    var (batch, byteCount, sum) = ([[FieldValue]](), 0, RowSum())
    func write() throws {
      guard !batch.isEmpty else { return }
      try target.connection.insert(batch, into: table)
      progress(batch.count)
      (batch, byteCount) = ([], 0)
    }
    try connection.forEachRow(of: table) { row in
      if sum.isEmpty { for group in table.groups { try target.connection.make(group) } }
      sum.add(row)
      batch.append(row)
      byteCount += row.reduce(0) { $0 + $1.byteCount }
      if batch.count == Self.maxBatchCount || byteCount > Self.maxBatchByteCount { try write() }
    }
    try write()
    return sum
  }

  /// Throws unless the tables have rows with these sums, and the records the digest of the head.
  private func check(_ sums: [SpaceStoredTable: RowSum]) throws {
    for table in SpaceStoredTable.allCases where try has(table) {
      var sum = RowSum()
      try connection.forEachRow(of: table) { sum.add($0) }
      guard sum == sums[table] ?? RowSum() else {
        throw SpaceError(
          .damaged,
          "the rows of \(table.rawValue) cannot be read as they were written; nothing was changed. Check the disk "
            + "of the new place", path: connection.place)
      }
    }
    try checkDigest()
  }

  /// Checks that the records have the digest of the head.
  ///
  /// - Throws: ``SpaceError`` with code `damaged`.
  package func checkDigest() throws {
    let state = try state()
    var digest = RecordDigest.empty
    let hasher = RecordHasher()
    for table in state.tables {
      try forEachRecord(of: FieldName(table.name)) { digest.add($0, $1, by: hasher) }
    }
    guard digest == state.digest else {
      throw SpaceError(
        .damaged, "the digest of the space is not that of its records: restore a backup",
        path: connection.place)
    }
  }

  /// Which state of which history the space has; `nil` if there is no space.
  package func position() throws -> SpacePosition? {
    guard let row = try connection.row(.state, []) else { return nil }
    guard let epoch = row[0].textValue.flatMap({ SyncToken($0) }),
      let version = row[1].integerValue, let horizon = row[2].integerValue
    else { throw damaged("the state of the space") }
    return SpacePosition(epoch: epoch, version: version, isMoved: horizon < 0)
  }
}

/// The number of rows, and the sum of their hashes, which does not depend on their order.
private struct RowSum: Equatable {
  private var count = 0
  private var sum = 0

  var isEmpty: Bool { count == 0 }

  mutating func add(_ row: [FieldValue]) {
    count += 1
    sum &+= row.hashValue
  }
}

extension SQLiteSpaceStore {
  /// Runs `body` with the space in a file, which is locked meanwhile; blocks this thread.
  ///
  /// - Parameter creates: True for a file that is missing or empty.
  package static func withFile<Value>(
    _ path: String, creates: Bool, _ body: (SpaceTables) throws -> Value
  ) throws -> Value {
    let database = try Database(
      path: path,
      configuration: DatabaseConfiguration(access: creates ? .readWriteCreate : .readWrite))
    let result = Result {
      try database.read { try SpaceTables($0.connection).check(allowsEmptyFile: creates) }
      return try database.write { try body(SpaceTables($0.connection)) }
    }
    try database.close()
    return try result.get()
  }
}
