internal import CSQLite

/// A page cannot be read, or is not of the expected form: the caller reads rows instead.
struct PageFault: Error {}

/// The pages of a database file, as the open snapshot of a connection sees them: those of the file, and
/// those that the write-ahead log has in their place.
///
/// They are read in the format of https://sqlite.org/fileformat2.html. Files in another form, such as
/// encrypted ones, have no pages.
final class DatabasePages {
  /// The most frames of a log that are looked through.
  static let maxFrameCount: UInt32 = 16_384
  /// The most pages: half of those that SQLite allows, so that their numbers can be added.
  static let maxCount = Int64(Int32.max)
  /// The number of bytes that are read at once, if pages are read in order.
  static let windowByteCount = 256 << 10

  /// The number of bytes of a page.
  let pageByteCount: Int
  /// The number of pages.
  let count: UInt32

  private let connection: DatabaseConnection
  private let file: DatabaseFilePointer
  private let log: DatabaseFilePointer?
  private let logEnd: LogEnd?
  /// The frame of each page that the log has.
  private var frames: [UInt32: UInt32] = [:]

  /// Pages that have been read. Two, so that a table's pages and the pages that continue its rows can
  /// both be read in order.
  private var windows: [Window] = []
  /// The one that was used last.
  private var lastWindow = 0

  private struct Window {
    let bytes: UnsafeMutableRawBufferPointer
    var pages: Range<UInt32> = 0..<0
  }

  /// `nil` if the pages cannot be read beside the rows: of a database in memory, in a transaction that
  /// writes or that read before ``DatabaseConnection/beginSnapshot()``, and of an unknown format.
  init?(_ connection: DatabaseConnection) throws(DatabaseError) {
    try connection.beginSnapshot()
    guard connection.transactionState == SQLITE_TXN_READ, let file = connection.filePointer,
      let size = try connection.integer("PRAGMA main.page_size"), (512...65_536).contains(size),
      let count = try connection.integer("PRAGMA main.page_count"), count > 0,
      count <= DatabasePages.maxCount
    else { return nil }
    self.connection = connection
    self.file = file
    pageByteCount = Int(size)
    self.count = UInt32(count)
    if try connection.blocksWriters() {
      log = nil
      logEnd = nil
    } else {
      guard let end = connection.snapshotLogEnd, let log = connection.logPointer else { return nil }
      self.log = log
      logEnd = end
    }
    let byteCount = max(DatabasePages.windowByteCount, pageByteCount)
    for _ in 0..<2 {
      windows.append(Window(bytes: .allocate(byteCount: byteCount, alignment: 16)))
    }
    do {
      try readLog()
      guard try isReadable() else { return nil }
    } catch {
      return nil
    }
  }

  deinit {
    for window in windows { window.bytes.deallocate() }
  }

  /// The bytes of a page, until the next call.
  func page(_ number: UInt32) throws(PageFault) -> UnsafeRawBufferPointer {
    for index in windows.indices where windows[index].pages.contains(number) {
      lastWindow = index
      return bytes(of: number, in: windows[index])
    }
    guard number >= 1, number <= count else { throw PageFault() }
    // A cancelled access ends when the caller reads rows.
    if connection.interruption.isDue { throw PageFault() }
    let maxCount = UInt32(windows[0].bytes.count / pageByteCount)
    let continued = windows.firstIndex {
      $0.pages.upperBound..<$0.pages.upperBound + maxCount ~= number
    }
    let index = continued ?? leastUsefulWindow
    let pages = number..<min(number + (continued == nil ? 1 : maxCount), count + 1)
    windows[index].pages = 0..<0
    try read(
      pages,
      into: UnsafeMutableRawBufferPointer(
        rebasing: windows[index].bytes[..<(pages.count * pageByteCount)]))
    windows[index].pages = pages
    lastWindow = index
    return bytes(of: number, in: windows[index])
  }

  /// The window with fewer pages, which is not read in order; of two like that, the older one.
  private var leastUsefulWindow: Int {
    let counts = windows.map(\.pages.count)
    return counts[0] == counts[1] ? 1 - lastWindow : counts[0] < counts[1] ? 0 : 1
  }

  private func bytes(of number: UInt32, in window: Window) -> UnsafeRawBufferPointer {
    let start = Int(number - window.pages.lowerBound) * pageByteCount
    return UnsafeRawBufferPointer(rebasing: window.bytes[start..<start + pageByteCount])
  }

  /// Throws if the log has been restarted since, so that pages of it may be of a later state. (A reader
  /// of a log that the file has in full does not prevent that.)
  func checkAreOfSnapshot() throws(PageFault) {
    guard let logEnd, !frames.isEmpty else { return }
    guard let now = LogEnd(file), now.header.salts == logEnd.header.salts else { throw PageFault() }
  }
}

// MARK: - Reading

extension DatabasePages {
  private static let frameHeaderByteCount = 24
  private static let logHeaderByteCount = 32
  private static let signature = Array("SQLite format 3\0".utf8)

  /// True if the file has the documented format, and no bytes of pages are reserved, as for encryption.
  private func isReadable() throws(PageFault) -> Bool {
    let header = try page(1)
    return header.starts(with: DatabasePages.signature) && header[20] == 0
  }

  /// The parts of the file's header on which the form of records depends: the version of their format,
  /// and the encoding of texts.
  func recordFormat() throws(PageFault) -> [UInt8] {
    let header = try page(1)
    return Array(header[44..<48]) + Array(header[56..<60])
  }

  /// Notes the pages that the log has. The last frame of a page counts.
  private func readLog() throws(PageFault) {
    guard let log, let logEnd, !logEnd.isInFile else { return }
    let frameCount = logEnd.header.frameCount
    guard frameCount <= DatabasePages.maxFrameCount else { throw PageFault() }
    try withUnsafeTemporaryAllocation(
      byteCount: DatabasePages.frameHeaderByteCount, alignment: 8
    ) { header throws(PageFault) in
      for frame in 0..<frameCount {
        try read(log, into: header, at: logOffset(ofFrame: frame))
        let bytes = UnsafeRawBufferPointer(header)
        guard bytes[8..<16].elementsEqual(logEnd.header.salts) else { throw PageFault() }
        frames[bytes.bigEndian(UInt32.self, at: 0)] = frame
      }
    }
  }

  private func logOffset(ofFrame frame: UInt32) -> Int {
    DatabasePages.logHeaderByteCount
      + Int(frame) * (DatabasePages.frameHeaderByteCount + pageByteCount)
  }

  private func read(
    _ pages: Range<UInt32>, into bytes: UnsafeMutableRawBufferPointer
  ) throws(PageFault) {
    // The file may be shorter, if the log has its last pages.
    let isInLog = pages.allSatisfy { frames[$0] != nil }
    if !isInLog {
      try read(file, into: bytes, at: Int(pages.lowerBound - 1) * pageByteCount)
    }
    guard let log, !frames.isEmpty else { return }
    for page in pages {
      guard let frame = frames[page] else { continue }
      let start = Int(page - pages.lowerBound) * pageByteCount
      try read(
        log, into: UnsafeMutableRawBufferPointer(rebasing: bytes[start..<start + pageByteCount]),
        at: logOffset(ofFrame: frame) + DatabasePages.frameHeaderByteCount)
    }
  }

  /// Reads bytes; those behind the end of the file become zeros.
  private func read(
    _ file: DatabaseFilePointer, into bytes: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(PageFault) {
    let result = file.pointee.pMethods.pointee.xRead(
      file, bytes.baseAddress, Int32(bytes.count), Int64(offset))
    guard result == SQLITE_OK || result == shortRead else { throw PageFault() }
  }
}

/// `SQLITE_IOERR_SHORT_READ`, a macro that Swift does not import.
private let shortRead: Int32 = SQLITE_IOERR | (2 << 8)

extension UnsafeRawBufferPointer {
  /// An integer of the file format; the caller has checked that it is within these bytes.
  func bigEndian<Value: FixedWidthInteger>(_ type: Value.Type, at offset: Int) -> Value {
    Value(bigEndian: loadUnaligned(fromByteOffset: offset, as: type))
  }
}
