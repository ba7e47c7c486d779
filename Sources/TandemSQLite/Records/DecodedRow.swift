internal import TandemRecords

/// The current row by keys. A class, because `Codable` copies its container for each value.
final class DecodedRow<Key: CodingKey>: DecodedParts {
  private let statement: Statement
  /// The statement's handle, without an indirection for each value.
  private let handle: OpaquePointer
  private let coding: RecordCoding
  private let places: KeyPlaces<Key>

  init(_ statement: Statement, _ coding: RecordCoding) {
    self.statement = statement
    self.coding = coding
    handle = statement.handle
    places = KeyPlaces(statement.columnNames)
  }

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { statement.columnNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { places[key] != nil }

  @inline(__always)
  private func column(_ key: Key) throws(DatabaseError) -> Int32 {
    guard let column = places[key] else {
      throw statement.missingColumn(key.stringValue, Key.self)
    }
    return column
  }

  private func reader(_ column: Int32) -> ColumnReader { ColumnReader(handle, column) }

  /// The value of a column as any `Decodable` type.
  private func decode<Value: Decodable>(_ type: Value.Type, _ column: Int32) throws -> Value {
    try statement.decode(type, at: Int(column), coding)
  }

  /// A column as a decoder, for types that read its parts themselves.
  func part(_ key: Key) throws -> FieldDecoder {
    FieldDecoder(try statement.value(at: Int(try column(key))), coding, codingPath: [key])
  }

  @inline(__always)
  func value<Value: DatabaseValue>(_ key: Key) throws -> Value { try value(at: column(key)) }

  /// `nil` for null, and for a column that the query does not have.
  @inline(__always)
  func optional<Value: DatabaseValue>(_ key: Key) throws -> Value? {
    guard let column = places[key] else { return nil }
    let value: Value? = try value(at: column)
    return value
  }

  @inline(__always)
  private func value<Value: DatabaseValue>(at column: Int32) throws -> Value {
    let reader = reader(column)
    guard let value = Value(column: reader) else {
      throw statement.mismatch(reader, Value.self, at: Int(column))
    }
    return value
  }

  func decodeNil(forKey key: Key) throws -> Bool { try reader(column(key)).isNull }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decode(type, column(key))
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard let column = places[key], !reader(column).isNull else { return nil }
    return try decode(type, column)
  }

  func superDecoder() throws -> any Decoder { KeyedRowDecoder(statement, coding) }
}

// One line per type that `KeyedDecodingContainerProtocol` names. Their defaults would look up each
// key three times.
extension DecodedRow {
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try value(key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try value(key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try value(key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try value(key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try value(key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try value(key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try value(key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try value(key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try value(key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try value(key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try value(key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try value(key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try value(key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try value(key) }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(key) }
}
