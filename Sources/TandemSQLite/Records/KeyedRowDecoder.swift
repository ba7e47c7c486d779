internal import CSQLite

/// The rows of one statement as a `Decoder`: one for all rows, with one container per type of keys.
///
/// `Codable` requests a container for each row and a key for each value. The container is made
/// once; the column of a key is found by name once, and then by the key's own bits.
final class KeyedRowDecoder: Decoder {
  private let statement: Statement
  private var keyType: ObjectIdentifier?
  private var cached: AnyObject?

  init(_ statement: Statement) { self.statement = statement }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    if keyType == ObjectIdentifier(type), let cached {
      return unsafeDowncast(cached, to: Container<Key>.self).container
    }
    let container = Container(KeyedDecodingContainer(DecodedRow<Key>(statement)))
    cached = container
    keyType = ObjectIdentifier(type)
    return container.container
  }

  private final class Container<Key: CodingKey> {
    let container: KeyedDecodingContainer<Key>
    init(_ container: KeyedDecodingContainer<Key>) { self.container = container }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw hasNames }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw hasNames }

  private var hasNames: DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "a row decodes to a type with keys; fetchValue gives a single column",
      sql: statement.sql, path: statement.database.path)
  }
}

/// The current row by keys. A class, because `Codable` copies its container for each value.
final class DecodedRow<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let statement: Statement
  /// The statement's handle, without an indirection for each value.
  private let handle: OpaquePointer
  private let places: KeyPlaces<Key>

  init(_ statement: Statement) {
    self.statement = statement
    handle = statement.handle
    places = KeyPlaces(statement.columnNames)
  }

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { statement.columnNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { places[key] != nil }

  private func column(_ key: Key) throws -> DecodedColumn {
    guard let column = places[key] else {
      throw statement.missingColumn(key.stringValue, Key.self)
    }
    return DecodedColumn(statement: statement, column: column)
  }

  @inline(__always)
  func value<Value: DatabaseValue>(_ key: Key) throws -> Value {
    if let column = places[key] {
      let reader = ColumnReader(ColumnValue(sqlite3_column_value(handle, column)))
      if let value = Value(column: reader) { return value }
    }
    return try column(key).value()
  }

  /// `nil` for null, and for a column that the query does not have.
  @inline(__always)
  func optional<Value: DatabaseValue>(_ key: Key) throws -> Value? {
    guard places[key] != nil else { return nil }
    let value: Value? = try value(key)
    return value
  }

  func decodeNil(forKey key: Key) throws -> Bool { try column(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try column(key).decode(type)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    guard let column = places[key] else { return nil }
    let decoded = DecodedColumn(statement: statement, column: column)
    return decoded.decodeNil() ? nil : try decoded.decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try column(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try column(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { KeyedRowDecoder(statement) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try column(key) }
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
