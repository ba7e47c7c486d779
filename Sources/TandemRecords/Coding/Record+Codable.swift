extension RecordReader {
  /// Reads a list as values of a `Codable` type; each of its keys is the name of a field.
  ///
  /// <!-- Snippets/DatabaseCodeInComments.swift reading -->
  /// ```swift
  /// struct Place: Codable { var id: Int, name: String, tags: [String], founded: Date? }
  /// let places = try RecordReader.read([Place].self, in: text, format: .json)
  /// ```
  ///
  /// Fields have the forms that `coding` states, and fields without a key are ignored. A value that
  /// its type cannot hold exactly is an error that names the record and the field.
  ///
  /// - Throws: ``RecordError``; another error that the type's `init(from:)` throws.
  /// - Complexity: O(*n*) in the number of bytes.
  public static func read<Value: Decodable>(
    _ type: [Value].Type = [Value].self, in bytes: [UInt8], format: RecordFormat,
    coding: RecordCoding = RecordCoding(), csv: CSVOptions = CSVOptions()
  ) throws -> [Value] {
    try records(in: bytes, format: format, csv: csv).enumerated().map { offset, record in
      do {
        return try record.decoded(as: Value.self, coding: coding)
      } catch var error as RecordError {
        error.record = offset + 1
        throw error
      }
    }
  }

  /// Reads a list of a text as values of a `Codable` type, by the rules for bytes.
  public static func read<Value: Decodable>(
    _ type: [Value].Type = [Value].self, in text: String, format: RecordFormat,
    coding: RecordCoding = RecordCoding(), csv: CSVOptions = CSVOptions()
  ) throws -> [Value] {
    try read(type, in: Array(text.utf8), format: format, coding: coding, csv: csv)
  }

  /// Reads the records of a text; see ``records(in:format:csv:)-([UInt8],_,_)``.
  public static func records(
    in text: String, format: RecordFormat, csv: CSVOptions = CSVOptions()
  ) throws(RecordError) -> [Record] {
    try records(in: Array(text.utf8), format: format, csv: csv)
  }
}

extension Record {
  /// The record as a value of a `Codable` type; each of its keys is the name of a field.
  ///
  /// - Throws: ``RecordError`` with code `typeMismatch`, which names the field; another error that the
  ///   type's `init(from:)` throws.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self, coding: RecordCoding = RecordCoding()
  ) throws -> Value {
    do {
      return try Value(from: RecordDecoder(record: self, coding: coding))
    } catch let error as DecodingError {
      throw RecordError(.typeMismatch, error.fieldMessage)
    }
  }

  /// A record with a field for each key of a value.
  ///
  /// - Throws: ``RecordError`` with code `typeMismatch`, which names the field; another error that the
  ///   value's `encode(to:)` throws.
  public init(encoding value: some Encodable, coding: RecordCoding = RecordCoding()) throws {
    let encoder = RecordEncoder(coding)
    do {
      try value.encode(to: encoder)
      for (name, part) in encoder.parts { encoder.put(name, try part.fieldValue()) }
    } catch let error as EncodingError {
      throw RecordError(.typeMismatch, error.fieldMessage)
    }
    guard let fields = encoder.fields, let record = Record(fields) else {
      throw RecordError(
        .typeMismatch,
        "a \(type(of: value)) does not encode itself by keys, each once, so it is no record")
    }
    self = record
  }
}

// MARK: - Decoding

private struct RecordDecoder: Decoder {
  let record: Record
  let coding: RecordCoding

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordFields(record: record, coding: coding))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw hasNames }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw hasNames }

  private var hasNames: DecodingError {
    .dataCorrupted(
      .init(codingPath: [], debugDescription: "a record decodes to a type with keys"))
  }
}

private struct RecordFields<Key: CodingKey>: DecodedParts {
  let record: Record
  let coding: RecordCoding

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { record.layout.names.compactMap(Key.init) }

  func contains(_ key: Key) -> Bool { record.layout.offset(of: key.stringValue) != nil }

  func part(_ key: Key) throws -> FieldDecoder {
    guard let offset = record.layout.offset(of: key.stringValue) else {
      throw DecodingError.keyNotFound(
        key,
        .init(
          codingPath: [], debugDescription: "there is no field \(FieldValue.text(key.stringValue))")
      )
    }
    return FieldDecoder(record.values[offset], coding, codingPath: [key])
  }

  func decodeNil(forKey key: Key) throws -> Bool { try part(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try part(key).decode(type)
  }

  func superDecoder() -> any Decoder { RecordDecoder(record: record, coding: coding) }
}

// MARK: - Encoding

private final class RecordEncoder: Encoder {
  let coding: RecordCoding
  /// The fields so far; `nil` if the value did not encode itself by keys.
  var fields: [(name: String, value: FieldValue)]?
  /// The fields whose values encode themselves later, in containers.
  var parts: [(name: String, encoder: FieldEncoder)] = []

  init(_ coding: RecordCoding) { self.coding = coding }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func put(_ name: String, _ value: FieldValue) {
    if let place = fields?.firstIndex(where: { $0.name == name }) {
      fields?[place].value = value
    } else {
      fields?.append((name, value))
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    fields = fields ?? []
    return KeyedEncodingContainer(EncodedFields(encoder: self))
  }

  // A value without keys is no record: it is encoded in vain, and `fields` stays `nil`.

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    FieldEncoder(coding).unkeyedContainer()
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { FieldEncoder(coding) }
}

private struct EncodedFields<Key: CodingKey>: EncodedParts {
  let encoder: RecordEncoder

  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { encoder.put(key.stringValue, .null) }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    do {
      encoder.put(key.stringValue, try FieldEncoder.fieldValue(of: value, encoder.coding))
    } catch let error as EncodingError {
      throw RecordError(.typeMismatch, "field \(key.stringValue): \(error.fieldMessage)")
    }
  }

  func superEncoder() -> any Encoder { encoder }

  func part(_ key: Key) -> FieldEncoder {
    let part = FieldEncoder(encoder.coding)
    encoder.parts.append((key.stringValue, part))
    return part
  }
}
