/// Reads lists of records, and rejects any text that it cannot read exactly.
///
/// JSON and NDJSON are UTF-8, with or without a byte order mark, and so is CSV unless its
/// ``CSVOptions`` name another encoding; other bytes are an error. An error
/// names the record, the line and the column, and the field if there is one. A text with an error
/// anywhere yields no records at all. This includes texts that are cut off, with two exceptions
/// that cannot be detected: NDJSON or CSV that is cut off at the end of a line, and CSV that is cut
/// off inside its last field.
public enum RecordReader {
  /// Reads the records of a text, in its order.
  ///
  /// **JSON** (RFC 8259) is one array of objects and nothing after it. **NDJSON** is one object per
  /// line; blank lines are skipped. Their values become:
  /// - a number without point and exponent: an integer, if it fits 64 bits;
  /// - any other number: the nearest real, if that real, written with as many digits, is the number;
  /// - a number that is neither: a text of its digits, so that none is lost;
  /// - true and false: the integers 1 and 0; null: null;
  /// - a string: a text; an error if it has half a surrogate pair;
  /// - an array or object: its JSON as a text, without the white space outside strings.
  ///
  /// **CSV** (RFC 4180) begins with a line of field names, and every line after it has as many
  /// fields, unless `csv` allows ragged rows. A field without a name is called `column_1` after its
  /// position. Empty lines are skipped if there is more than one field. An empty field is null, an
  /// empty field in quotes an empty text. CSV has only texts, so
  /// the type of a column follows from all of its values that are not null:
  /// - integers if all of them are decimal integers of 64 bits in canonical form: no plus sign, no
  ///   leading zero, not `-0`;
  /// - otherwise reals if all of them match `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?` and the nearest
  ///   double, printed with as many digits, is the number: those with at most 15 digits, and the longer ones
  ///   that programs print. `1.5` and `1.50` are equal. Integers among them are at most 2^53. A number
  ///   with an exponent has a point before it, as in `1.5E3`, or is written as in `1e+16` and `1e-7`:
  ///   `1e5` may be a code, and is a text;
  /// - otherwise texts, unchanged. One value in quotes makes its column a column of texts, and so does
  ///   ``CSVOptions/textFields``. If all values of the list are in quotes, the quotes say nothing: the values
  ///   decide, and an empty one beside numbers is null.
  ///
  /// Consecutive records with the same fields share their layout.
  ///
  /// A record whose text is longer than 1,000,000,000 bytes, and a field in which arrays and objects nest
  /// more than 512 deep, are errors with the code `limitExceeded`.
  ///
  /// - Complexity: O(*n*) in the number of bytes.
  public static func records(
    in bytes: [UInt8], format: RecordFormat, csv: CSVOptions = CSVOptions()
  ) throws(RecordError) -> [Record] {
    try records(in: bytes, format: format, csv: csv, limits: RecordLimits())
  }

  package static func records(
    in bytes: [UInt8], format: RecordFormat, csv: CSVOptions = CSVOptions(), limits: RecordLimits
  ) throws(RecordError) -> [Record] {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        guard format.isCSV else {
          return try objects(in: bytes, format: format, limits: limits, keepsSpans: false).records
        }
        return try read(bytes, csv) { CSVReader($0, format: format, csv, limits) }.output
      }
    }.get()
  }

  /// Reads the records of a text into about as many bytes as it has; see
  /// ``records(in:format:csv:)-([UInt8],_,_)``.
  public static func packedRecords(
    in bytes: [UInt8], format: RecordFormat, csv: CSVOptions = CSVOptions()
  ) throws(RecordError) -> PackedRecords {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        guard format.isCSV else {
          var records = PackedRecords()
          var stream = RecordStream(format: format)
          try stream.readAll(bytes, into: &records)
          return records
        }
        return try read(bytes, csv) {
          PackedCSVReader(csv: CSVReader($0, format: format, csv, RecordLimits()))
        }.output
      }
    }.get()
  }

  /// Reads an array of objects from one field of a JSON object, and the object's other fields:
  /// `{"items": […], "next": "…"}`. The field may be a path, as `data.items` for an object inside the
  /// object. Values are read as in ``records(in:format:csv:)-([UInt8],_,_)``.
  package static func envelope(
    in bytes: [UInt8], items field: String, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> RecordEnvelope {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try read(bytes) { JSONEnvelopeReader($0, items: field, limits) }.output
      }
    }.get()
  }

  /// Reads objects, and the ranges of their texts if `keepsSpans` is true.
  static func objects(
    in bytes: UnsafeRawBufferPointer, format: RecordFormat, limits: RecordLimits, keepsSpans: Bool
  ) throws(RecordError) -> (records: [Record], spans: [Range<Int>]) {
    var stream = RecordStream(format: format, limits: limits, keepsSpans: keepsSpans)
    var list = RecordArray()
    try stream.readAll(bytes, into: &list)
    return (list.records, stream.spans)
  }

  /// Reads a text of CSV, which must be UTF-8 already if `options` name no other encoding.
  static func read<Reader: RecordTextReader>(
    _ bytes: UnsafeRawBufferPointer, _ options: CSVOptions,
    _ makeReader: (UnsafeRawBufferPointer) -> Reader
  ) throws(RecordError) -> (output: Reader.Output, reader: Reader) {
    guard options.encoding != .utf8 else {
      if CSVEncoding.isUTF16(bytes) {
        throw RecordError(
          .malformed, "the text is UTF-16; name the encoding, as in `encoding` utf-16")
      }
      do throws(RecordError) {
        return try read(bytes, makeReader)
      } catch {
        let messages = [UTF8Validation.notUTF8, UTF8Validation.cutOff]
        guard messages.contains(where: error.message.hasPrefix) else { throw error }
        var error = error
        error.message +=
          "; if the text has another encoding, name it, as in `encoding` windows-1252"
        throw error
      }
    }
    let text = try utf8(bytes, options)
    return try text.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try read(bytes, makeReader) }
    }.get()
  }

  /// The text of CSV in UTF-8.
  static func utf8(
    _ bytes: UnsafeRawBufferPointer, _ options: CSVOptions
  ) throws(RecordError) -> [UInt8] {
    do throws(TextFault) {
      return try options.encoding.utf8(bytes)
    } catch {
      throw error.error(in: bytes, record: nil, field: nil)
    }
  }

  /// Reads the valid part of `bytes`. If the reader gets to the end of that part and there are more
  /// bytes, the error is about them: they are not UTF-8.
  static func read<Reader: RecordTextReader>(
    _ bytes: UnsafeRawBufferPointer, _ makeReader: (UnsafeRawBufferPointer) -> Reader
  ) throws(RecordError) -> (output: Reader.Output, reader: Reader) {
    let validation = UTF8Validation(bytes)
    var reader = makeReader(UnsafeRawBufferPointer(rebasing: bytes[..<validation.validCount]))
    do throws(TextFault) {
      let output = try reader.readAll()
      if let fault = validation.fault { throw fault }
      return (output, reader)
    } catch {
      let isAtEnd = error.offset >= validation.validCount
      throw (isAtEnd ? validation.fault ?? error : error)
        .error(
          in: bytes, record: reader.recordNumber, field: reader.fieldName,
          lineEnd: bytes.contains(ASCII.lineFeed) ? ASCII.lineFeed : reader.lineEnd)
    }
  }
}

/// Upper bounds for readers of records, which report `limitExceeded` beyond them.
///
/// The number of fields is limited too, by ``RecordLayout/maxFieldCount``.
package struct RecordLimits: Hashable, Sendable {
  /// The maximum length of one record's text in bytes.
  package var maxRecordByteCount: Int
  /// The maximum depth of arrays and objects inside a field of a record: `[[]]` nests 2 deep.
  package var maxNestingDepth: Int

  /// Limits with the given values. The default length is SQLite's own limit for one row.
  package init(maxRecordByteCount: Int = 1_000_000_000, maxNestingDepth: Int = 512) {
    self.maxRecordByteCount = maxRecordByteCount
    self.maxNestingDepth = maxNestingDepth
  }
}

/// A reader of one text.
protocol RecordTextReader {
  /// The contents of the text: its records, in most formats.
  associatedtype Output
  /// Reads the whole text. Called once.
  mutating func readAll() throws(TextFault) -> Output
  /// The current or next record, counted from 1; `nil` before and after the list.
  var recordNumber: Int? { get }
  /// The field that is being read; `nil` between fields.
  var fieldName: String? { get }
  /// The last byte of each line.
  var lineEnd: UInt8 { get }
}

extension RecordTextReader {
  /// A line feed.
  var lineEnd: UInt8 { ASCII.lineFeed }
}
