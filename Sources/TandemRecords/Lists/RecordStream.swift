/// Reads the records of a text of JSON or NDJSON that arrives in parts.
///
/// For any way to cut the text into chunks, the records are the same as those of ``RecordReader``, and
/// so is the error. The one difference: a stream has read the records before an error when it finds the
/// error, while ``RecordReader`` returns no records then. Consecutive records with the same fields share
/// their layout, across chunks too.
///
/// A stream holds the bytes that it could not read yet: at most those of one chunk and of one record,
/// up to ``RecordLimits/maxRecordByteCount``.
///
/// ```swift
/// var stream = RecordStream(format: .ndjson)
/// var records = PackedRecords()
/// for chunk in chunks { try stream.read(chunk, into: &records) }
/// try stream.finish(into: &records)
/// ```
///
/// - Complexity: O(*n*) in the number of bytes, for chunks of any length.
package struct RecordStream {
  private var list: JSONListReader
  private let isLines: Bool
  private let maxRecordByteCount: Int
  /// True until the first character has arrived, which may be a byte order mark.
  private var isAtStart = true
  /// The line of the first byte in ``unread``.
  private var line = TextLine(start: 0)

  /// The bytes that arrived and were not read.
  private var unread: [UInt8] = []
  /// The number of bytes at the start of ``unread`` that were checked to be UTF-8.
  private var validCount = 0
  /// Reading is not tried again before ``unread`` has more bytes.
  private var awaitedCount = 0
  /// The error that ended the stream.
  private var error: RecordError?

  /// A reader at the start of a text.
  ///
  /// - Precondition: The format is ``RecordFormat/json`` or ``RecordFormat/ndjson``.
  package init(format: RecordFormat, limits: RecordLimits = RecordLimits()) {
    self.init(format: format, limits: limits, keepsSpans: false)
  }

  /// A reader that keeps the ranges of the records if `keepsSpans` is true.
  init(format: RecordFormat, limits: RecordLimits, keepsSpans: Bool) {
    precondition(!format.isCSV, "The types of CSV follow from the whole text")
    isLines = format == .ndjson
    list = JSONListReader(isLines: isLines, limits, keepsSpans: keepsSpans)
    maxRecordByteCount = limits.maxRecordByteCount
  }

  /// The number of bytes that are held because they are not read yet.
  package var unreadByteCount: Int { unread.count }
  /// The ranges of the records in a text that ``readAll(_:into:)`` read, if the caller asked for them.
  var spans: [Range<Int>] { list.spans }
}

extension RecordStream {
  /// Reads the records that are complete, and adds them to a list, which is the same one in each call.
  ///
  /// A line of NDJSON is read when its line feed arrives. An object of an array is read when its last
  /// byte arrives, if it arrives in one chunk. An object that was cut is read at the latest when as many
  /// bytes as it has have followed it. After an error, each call throws the error again.
  package mutating func read(
    _ chunk: UnsafeRawBufferPointer, into records: inout PackedRecords
  ) throws(RecordError) {
    guard unread.isEmpty else {
      unread.append(contentsOf: chunk)
      if isWorthwhile(after: chunk) { try readUnread(isLast: false, into: &records) }
      return
    }
    let readCount = try read(chunk, isLast: false, into: &records)
    unread.append(contentsOf: chunk[readCount...])
    awaitedCount = nextAwaitedCount
  }

  /// Reads the rest of a text that is complete. Called once, after the last chunk.
  package mutating func finish(into records: inout PackedRecords) throws(RecordError) {
    try readUnread(isLast: true, into: &records)
  }

  /// Reads a whole text without copying it. Called once, instead of the other functions.
  mutating func readAll(
    _ bytes: UnsafeRawBufferPointer, into records: inout some RecordBuilder
  ) throws(RecordError) {
    _ = try read(bytes, isLast: true, into: &records)
  }

  private mutating func readUnread(
    isLast: Bool, into records: inout some RecordBuilder
  ) throws(RecordError) {
    var part: [UInt8] = []
    swap(&part, &unread)
    let readCount = try part.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try read(bytes, isLast: isLast, into: &records) }
    }.get()
    part.removeFirst(readCount)
    swap(&part, &unread)
    awaitedCount = nextAwaitedCount
  }

  /// Reads a part of the text, from the first byte on that was not read. Returns the number of bytes
  /// that were read.
  private mutating func read(
    _ part: UnsafeRawBufferPointer, isLast: Bool, into records: inout some RecordBuilder
  ) throws(RecordError) -> Int {
    if let error { throw error }
    let validation = UTF8Validation(part, from: validCount)
    let text = UnsafeRawBufferPointer(rebasing: part[..<validation.validCount])
    var start = 0
    if isAtStart {
      start = ByteOrderMark.byteCount(in: text)
      line.start = start
      isAtStart = text.isEmpty
    }
    // Only a character that is cut off can become valid by more bytes.
    let isLast = isLast || validation.fault != nil && !validation.isCutOff
    do throws(TextFault) {
      try list.read(text, from: start, isLast: isLast, into: &records)
      if isLast, let fault = validation.fault { throw fault }
    } catch {
      let fault = error.offset < text.count ? error : validation.fault ?? error
      throw fail(
        fault.error(in: part, from: line, record: list.recordNumber, field: list.fieldName))
    }
    validCount = text.count - list.readCount
    if !isLast { line.leave(part[..<list.readCount]) }
    return list.readCount
  }

  private mutating func fail(_ error: RecordError) -> RecordError {
    self.error = error
    return error
  }
}

// MARK: - When to read

extension RecordStream {
  private func isWorthwhile(after chunk: UnsafeRawBufferPointer) -> Bool {
    unread.count > awaitedCount || isLines && chunk.contains(ASCII.lineFeed)
  }

  /// An object is read from its start each time, so reading waits until the bytes have doubled: then an
  /// object of many chunks takes a time in proportion to its length. Beyond the limit of a record,
  /// reading either succeeds or finds an error.
  private var nextAwaitedCount: Int {
    unread.count <= maxRecordByteCount / 2
      ? 2 * unread.count : max(unread.count, maxRecordByteCount)
  }
}
