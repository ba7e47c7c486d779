/// Reads lists of records, and rejects any text that it cannot read exactly.
///
/// All formats are UTF-8, with or without a byte order mark; other bytes are an error. An error
/// names the record, the line and the column, and the field if there is one. A text with an error
/// anywhere yields no records at all. This includes texts that are cut off, with two exceptions
/// that cannot be detected: NDJSON or CSV that is cut off at the end of a line, and CSV that is cut
/// off inside its last field.
public enum RecordReader {
  /// Reads the records of a text, in its order.
  ///
  /// **JSON** (RFC 8259) is one array of objects and nothing after it. **NDJSON** is one object per
  /// line; blank lines are skipped. Their values become:
  /// - a number without point and exponent: an integer, exactly; an error if it does not fit 64 bits;
  /// - any other number: the nearest real; an error if it is beyond the greatest one;
  /// - true and false: the integers 1 and 0; null: null;
  /// - a string: a text; an error if it has half a surrogate pair;
  /// - an array or object: its JSON as a text, without the white space outside strings.
  ///
  /// **CSV** (RFC 4180) begins with a line of field names, and every line after it has as many
  /// fields. An empty field is null, an empty field in quotes an empty text. CSV has only texts, so
  /// the type of a column follows from all of its values that are not null:
  /// - integers if all of them are decimal integers of 64 bits in canonical form: no plus sign, no
  ///   leading zero, not `-0`;
  /// - otherwise reals if all of them match `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, with
  ///   at most 15 significant digits, and are zero or in the range of normal doubles. Within these
  ///   bounds different numbers stay different, while `1.5` and `1.50` are equal;
  /// - otherwise texts, unchanged. One value in quotes makes its column a column of texts.
  ///
  /// Consecutive records with the same fields share their layout.
  ///
  /// - Complexity: O(*n*) in the number of bytes.
  public static func records(
    in bytes: UnsafeRawBufferPointer, format: RecordFormat, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> [Record] {
    try list(in: bytes, format: format, limits: limits, keepsSpans: false).records
  }

  /// Reads the records of a text; see
  /// ``records(in:format:limits:)-(UnsafeRawBufferPointer,_,_)``.
  public static func records(
    in bytes: [UInt8], format: RecordFormat, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> [Record] {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try records(in: bytes, format: format, limits: limits) }
    }.get()
  }

  /// Reads an array of objects from one field of a JSON object, and the object's other fields:
  /// `{"items": […], "next": "…"}`. The field may be a path, as `data.items` for an object inside the
  /// object. Values are read as in ``records(in:format:limits:)-([UInt8],_,_)``.
  package static func envelope(
    in bytes: [UInt8], items field: String, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> RecordEnvelope {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        try read(bytes) { JSONEnvelopeReader($0, items: field, limits) }.output
      }
    }.get()
  }

  /// Reads the records of a text, and the ranges of its records (JSON) or fields (CSV) if
  /// `keepsSpans` is true.
  static func list(
    in bytes: UnsafeRawBufferPointer, format: RecordFormat, limits: RecordLimits, keepsSpans: Bool
  ) throws(RecordError) -> (records: [Record], spans: [Range<Int>]) {
    switch format {
    case .json:
      let (records, reader) = try read(bytes) {
        JSONArrayReader($0, limits, keepsSpans: keepsSpans)
      }
      return (records, reader.spans)
    case .ndjson:
      let (records, reader) = try read(bytes) { NDJSONReader($0, limits, keepsSpans: keepsSpans) }
      return (records, reader.spans)
    case .csv:
      let (records, reader) = try read(bytes) { CSVReader($0, limits) }
      return (records, keepsSpans ? reader.spans : [])
    }
  }

  /// Reads the valid part of `bytes`. If the reader gets to the end of that part and there are more
  /// bytes, the error is about them: they are not UTF-8.
  private static func read<Reader: RecordTextReader>(
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
        .error(in: bytes, record: reader.recordNumber, field: reader.fieldName)
    }
  }
}

/// Upper bounds for readers of records, which report `limitExceeded` beyond them.
///
/// The number of fields is limited too, by ``RecordLayout/maxFieldCount``.
public struct RecordLimits: Hashable, Sendable {
  /// The maximum length of one record's text in bytes.
  public var maxRecordByteCount: Int
  /// The maximum depth of arrays and objects inside a field of a record: `[[]]` nests 2 deep.
  public var maxNestingDepth: Int

  /// Limits with the given values. The default length is SQLite's own limit for one row.
  public init(maxRecordByteCount: Int = 1_000_000_000, maxNestingDepth: Int = 512) {
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
}
