internal import CSQLite

/// The end of the write-ahead log, as the index of the log has it at one moment.
///
/// SQLite has no call that reports which part of the log a snapshot sees. The index is read where the
/// connection has mapped it: if its header is the same before and after the snapshot began, the snapshot
/// sees the log up to that end. The format is that of https://sqlite.org/walformat.html, chapter 2.
struct LogEnd {
  private static let blockByteCount: Int32 = 32_768
  private static let version: UInt32 = 3_007_000

  /// The header; it changes with every commit, and when the log restarts.
  struct Header: Equatable {
    fileprivate let bytes: [UInt8]

    /// The number of frames up to the end.
    var frameCount: UInt32 { integer(at: 16) }
    /// The two numbers that every frame of this log repeats.
    var salts: ArraySlice<UInt8> { bytes[32..<40] }

    static var byteCount: Int { 48 }

    fileprivate func integer(at offset: Int) -> UInt32 {
      bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
    }
  }

  let header: Header
  /// True if the database file has the content of all frames.
  let isInFile: Bool

  /// `nil` if the connection has not opened the log, or its index is being written.
  init?(_ file: DatabaseFilePointer) {
    guard let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2,
      let map = methods.pointee.xShmMap, let barrier = methods.pointee.xShmBarrier
    else { return nil }
    var block: UnsafeMutableRawPointer?
    guard map(file, 0, LogEnd.blockByteCount, 0, &block) == SQLITE_OK, let block else { return nil }
    // It is stored twice. A writer begins with the second copy.
    let bytes = UnsafeRawBufferPointer(start: block, count: Int(LogEnd.blockByteCount))
    let first = Array(bytes[0..<Header.byteCount])
    barrier(file)
    let second = Array(bytes[Header.byteCount..<2 * Header.byteCount])
    header = Header(bytes: first)
    let isInitialized = first[12] != 0
    guard first == second, isInitialized, header.integer(at: 0) == LogEnd.version else {
      return nil
    }
    let movedCount = bytes.loadUnaligned(fromByteOffset: 2 * Header.byteCount, as: UInt32.self)
    isInFile = movedCount >= header.frameCount
  }
}

typealias DatabaseFilePointer = UnsafeMutablePointer<sqlite3_file>

extension DatabaseConnection {
  /// The open file, through which SQLite itself reads; `nil` for a database in memory.
  ///
  /// Opening and closing the file a second time would give up the locks of this process.
  var filePointer: DatabaseFilePointer? { pointer(SQLITE_FCNTL_FILE_POINTER) }

  /// The open write-ahead log, if there is one.
  var logPointer: DatabaseFilePointer? { pointer(SQLITE_FCNTL_JOURNAL_POINTER) }

  private func pointer(_ operation: Int32) -> DatabaseFilePointer? {
    guard filePath != nil else { return nil }
    var file: DatabaseFilePointer?
    guard sqlite3_file_control(handle.pointer, "main", operation, &file) == SQLITE_OK,
      let file, file.pointee.pMethods != nil
    else { return nil }
    return file
  }

  /// Reads, so that the open transaction sees one state from now on, and notes the end of the
  /// write-ahead log in that state.
  ///
  /// - Returns: The version of the schema.
  @discardableResult
  package func beginSnapshot() throws(DatabaseError) -> Int64 {
    guard isInTransaction, try !blocksWriters(), transactionState == SQLITE_TXN_NONE,
      let file = filePointer
    else { return try schemaVersion() }
    let end = LogEnd(file)
    let version = try schemaVersion()
    if let end, LogEnd(file)?.header == end.header { snapshotLogEnd = end }
    return version
  }

  var transactionState: Int32 { sqlite3_txn_state(handle.pointer, "main") }
}
