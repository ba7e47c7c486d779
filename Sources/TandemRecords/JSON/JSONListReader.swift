/// Reads a JSON array of objects, or JSON objects of one line each, from a text that arrives in parts.
///
/// A part begins with the bytes of the part before it that were not read. They are the start of an
/// object that was not complete. That object is read again from its start.
struct JSONListReader {
  /// The next piece of the text. White space may precede each piece.
  private enum Piece {
    /// The bracket that opens the array.
    case opener
    /// The first object of the array, or the bracket that closes an empty array.
    case firstObject
    /// An object after a comma.
    case object
    /// A comma, or the bracket that closes the array.
    case separator
    /// The end of the text, after the array.
    case end
    /// A line with an object.
    case line
    /// The end of a line behind an object that was read already; see ``layoutOfLongLine``.
    case lineEnd
  }

  private var objects: JSONObjectReader
  private var next: Piece
  /// The fields of the object of a line whose end has not arrived. Only a line that is longer than the
  /// limit of a record is read before its end arrives.
  private var layoutOfLongLine: RecordLayout?
  /// The current or next record, counted from 1; `nil` before and after an array.
  private(set) var recordNumber: Int?
  /// The offset in the current part of the first byte that was not read.
  private(set) var readCount = 0

  /// A reader of NDJSON if `isLines` is true, of an array otherwise.
  init(isLines: Bool, _ limits: RecordLimits, keepsSpans: Bool) {
    let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
    objects = JSONObjectReader(nothing, limits, keepsSpans: keepsSpans)
    next = isLines ? .line : .opener
    recordNumber = isLines ? 1 : nil
  }

  /// The field that is being read; `nil` between fields.
  var fieldName: String? { objects.fieldName }
  /// The ranges of the records in a text of one part, if the caller asked for them.
  var spans: [Range<Int>] { objects.spans ?? [] }

  /// Reads the records that are complete in a part of the text, in valid UTF-8.
  ///
  /// - Parameters:
  ///   - start: The offset of the first byte to read.
  ///   - isLast: True if the text ends with this part. If it is false, a fault at the part's end is
  ///     not thrown, because the next part may continue what is cut off there.
  ///   - records: Where the records are added; the same builder for all parts.
  mutating func read(
    _ part: UnsafeRawBufferPointer, from start: Int, isLast: Bool,
    into records: inout some RecordBuilder
  ) throws(TextFault) {
    objects.cursor = JSONCursor(part, maxNestingDepth: objects.cursor.maxNestingDepth)
    objects.cursor.index = start
    readCount = start
    do throws(TextFault) {
      switch next {
      case .opener, .firstObject, .object, .separator, .end: try readArray(into: &records)
      case .line, .lineEnd: try readLines(isLast: isLast, into: &records)
      }
    } catch {
      if isLast || error.offset < part.count { throw error }
    }
  }
}

// MARK: - JSON

extension JSONListReader {
  private mutating func readArray(into records: inout some RecordBuilder) throws(TextFault) {
    while true {
      objects.cursor.skipSpace()
      readCount = objects.cursor.index
      switch next {
      case .opener:
        if objects.cursor.byte == ASCII.openBrace { throw objectOutsideArray() }
        try objects.cursor.skip(ASCII.openBracket, "an array of objects")
        recordNumber = 1
        next = .firstObject
      case .firstObject where objects.cursor.byte == ASCII.closeBracket:
        objects.cursor.index += 1
        endArray()
      case .firstObject, .object:
        records.endRecord(try objects.readObject(into: &records))
        next = .separator
      case .separator:
        if try objects.cursor.hasNextElement() {
          recordNumber = recordNumber.map { $0 &+ 1 }
          next = .object
        } else {
          endArray()
        }
      case .end: return try objects.cursor.requireEnd()
      case .line, .lineEnd: preconditionFailure("An array is not read by lines")
      }
    }
  }

  private mutating func endArray() {
    recordNumber = nil
    next = .end
  }

  private func objectOutsideArray() -> TextFault {
    TextFault(
      .malformed, "expected an array of objects, found an object; one object per line is NDJSON",
      at: objects.cursor.index)
  }
}

// MARK: - NDJSON

extension JSONListReader {
  private mutating func readLines(
    isLast: Bool, into records: inout some RecordBuilder
  ) throws(TextFault) {
    let partEnd = objects.cursor.end
    while let layout = try readLine(partEnd: partEnd, isLast: isLast, into: &records) {
      readCount = objects.cursor.index
      guard objects.cursor.byte == nil else {
        throw objects.cursor.unexpected("the end of the line")
      }
      let hasLineFeed = objects.cursor.end < partEnd
      guard hasLineFeed || isLast else {
        next = .lineEnd
        layoutOfLongLine = layout
        return
      }
      records.endRecord(layout)
      if hasLineFeed { recordNumber = recordNumber.map { $0 &+ 1 } }
    }
  }

  /// Reads the object of the next line that is complete, and the white space after it. The cursor's end
  /// is the end of that line then. Returns `nil` if there is no such line.
  private mutating func readLine(
    partEnd: Int, isLast: Bool, into records: inout some RecordBuilder
  ) throws(TextFault) -> RecordLayout? {
    if let layout = layoutOfLongLine.take() {
      next = .line
      objects.cursor.end = lineFeed(before: partEnd) ?? partEnd
      objects.cursor.skipSpace()
      return layout
    }
    objects.cursor.end = partEnd
    // Blank lines are white space too.
    objects.cursor.skipSpace()
    readCount = objects.cursor.index
    guard readCount < partEnd else { return nil }
    let lineFeed = lineFeed(before: partEnd)
    // The line may be long because of the white space behind its object, which has no limit.
    let isLong = partEnd &- readCount > objects.maxRecordByteCount
    guard lineFeed != nil || isLast || isLong else { return nil }
    objects.cursor.end = lineFeed ?? partEnd
    return try objects.readObject(into: &records)
  }

  /// The offset of the first line feed between the cursor and `end`.
  private func lineFeed(before end: Int) -> Int? {
    TextLine.end(in: objects.cursor.bytes, from: objects.cursor.index, to: end)
  }
}
