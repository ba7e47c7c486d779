/// Reads lists of records, and refuses what it cannot read exactly.
///
/// All formats are UTF-8, with or without a byte order mark; bytes that are not are an error. An
/// error names the record, the line and the column, and the field where there is one. Nothing is
/// returned of a text that holds an error anywhere, in particular of one that was cut off – though
/// a list in lines that is cut off at the end of a line, and a CSV that is cut off inside its last
/// field, cannot be told from a whole one.
public enum RecordReader {
  /// The records that a text holds, in its order.
  ///
  /// **JSON** (RFC 8259) is one array of objects, and nothing after it; **NDJSON** is one object per
  /// line, blank lines aside. Their values become:
  /// - a number without point and exponent: an integer, exactly; an error if it does not fit 64 bits;
  /// - any other number: the nearest real; an error if it is beyond the greatest one;
  /// - true and false: the integers 1 and 0; null: null;
  /// - a string: a text; an error if half a surrogate pair stands in it;
  /// - an array or object: a text of it as it stands, without white space outside strings.
  ///
  /// **CSV** (RFC 4180) has a line of field names first, and as many fields in every line after it.
  /// An empty field is null, an empty field in quotes an empty text. Since CSV knows only texts, the
  /// type of a column follows from all of its values that are not null:
  /// - integers if all of them are decimal integers of 64 bits, in the one way of writing them: no
  ///   plus sign, no leading zero, not `-0`;
  /// - else reals if all of them match `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, with at most
  ///   15 digits from the first that is not zero, and are zero or in the range of normal doubles: so
  ///   different numbers stay different, while `1.5` and `1.50` are one;
  /// - else texts, just as they stand. One value in quotes makes its column one of texts.
  ///
  /// Consecutive records with the same fields share their layout.
  ///
  /// - Complexity: O(*n*) in the number of bytes.
  public static func records(
    in bytes: UnsafeRawBufferPointer, format: RecordFormat, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> [Record] {
    let validation = UTF8Validation(bytes)
    let text = UnsafeRawBufferPointer(rebasing: bytes[..<validation.validCount])
    switch format {
    case .json:
      return try read(JSONArrayReader(text, limits), validation, of: bytes)
    case .ndjson:
      return try read(NDJSONReader(text, limits), validation, of: bytes)
    case .csv:
      return try read(CSVReader(text, limits), validation, of: bytes)
    }
  }

  /// The records that a text holds; see ``records(in:format:limits:)-(UnsafeRawBufferPointer,_,_)``.
  public static func records(
    in bytes: [UInt8], format: RecordFormat, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> [Record] {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in try records(in: bytes, format: format, limits: limits) }
    }.get()
  }

  /// The records that a JSON object holds in one of its fields, an array of objects, and its other
  /// fields: `{"items": […], "next": "…"}`. All values become what they do in
  /// ``records(in:format:limits:)-([UInt8],_,_)``.
  package static func envelope(
    in bytes: [UInt8], items field: String, limits: RecordLimits = RecordLimits()
  ) throws(RecordError) -> RecordEnvelope {
    try bytes.withUnsafeBytes { bytes in
      Result { () throws(RecordError) in
        let validation = UTF8Validation(bytes)
        let text = UnsafeRawBufferPointer(rebasing: bytes[..<validation.validCount])
        return try read(JSONEnvelopeReader(text, items: field, limits), validation, of: bytes)
      }
    }.get()
  }

  /// What a reader makes of the valid part of `bytes`. If it gets to the end of a part that is not
  /// all, it has met the bytes that are not UTF-8.
  private static func read<Reader: RecordTextReader>(
    _ reader: consuming Reader, _ validation: UTF8Validation, of bytes: UnsafeRawBufferPointer
  ) throws(RecordError) -> Reader.Output {
    do throws(TextFault) {
      let output = try reader.readAll()
      if validation.validCount < bytes.count { throw validation.fault }
      return output
    } catch {
      let isAtEnd = error.offset >= validation.validCount && validation.validCount < bytes.count
      throw (isAtEnd ? validation.fault : error)
        .error(in: bytes, record: reader.recordNumber, field: reader.fieldName)
    }
  }
}

/// Reads the records of one text.
protocol RecordTextReader {
  /// What the text holds: its records, for most.
  associatedtype Output
  /// All of it; called once.
  mutating func readAll() throws(TextFault) -> Output
  /// The record that is being read or comes next, counted from 1; `nil` before and after the list.
  var recordNumber: Int? { get }
  /// The field that is being read, if one is.
  var fieldName: String? { get }
}

extension UTF8Validation {
  /// What is wrong with the text where its valid part ends.
  fileprivate var fault: TextFault {
    TextFault(
      .malformed,
      isCutOff ? "the text ends too early, inside a character" : "these bytes are not UTF-8",
      at: validCount)
  }
}
