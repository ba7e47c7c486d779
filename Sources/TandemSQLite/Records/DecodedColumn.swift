internal import CSQLite

/// One column of the current row as a `Decoder`, for types that are made of a single value, such as
/// enumerations and dates, or of bytes.
struct DecodedColumn: Decoder {
  let statement: Statement
  let column: Int32

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  var reader: ColumnReader {
    ColumnReader(ColumnValue(sqlite3_column_value(statement.handle, column)))
  }

  /// The column's value.
  @inline(__always)
  func value<Value: DatabaseValue>(_ type: Value.Type = Value.self) throws -> Value {
    let reader = self.reader
    guard let value = Value(column: reader) else {
      throw statement.mismatch(reader, type, at: Int(column))
    }
    return value
  }

  /// The column's value as any `Decodable` type.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let columnType = type as? any DatabaseValue.Type {
      return try cast(value(columnType))
    }
    return try Value(from: self)
  }

  private func cast<Value>(_ value: Any) throws -> Value {
    guard let value = value as? Value else { preconditionFailure("it is of the type asked for") }
    return value
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw notAValue
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    DecodedBytes(try value([UInt8].self))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  private var notAValue: DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "column \(statement.columnNames[Int(column)]) holds one value, but its type has "
        + "several parts; make the type a DatabaseValue", sql: statement.sql,
      path: statement.database.path)
  }
}

extension DecodedColumn: SingleValueDecodingContainer {
  func decodeNil() -> Bool { reader.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try value() }
  func decode(_ type: String.Type) throws -> String { try value() }
  func decode(_ type: Double.Type) throws -> Double { try value() }
  func decode(_ type: Float.Type) throws -> Float { try value() }
  func decode(_ type: Int.Type) throws -> Int { try value() }
  func decode(_ type: Int8.Type) throws -> Int8 { try value() }
  func decode(_ type: Int16.Type) throws -> Int16 { try value() }
  func decode(_ type: Int32.Type) throws -> Int32 { try value() }
  func decode(_ type: Int64.Type) throws -> Int64 { try value() }
  func decode(_ type: UInt.Type) throws -> UInt { try value() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try value() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try value() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try value() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try value() }
}

/// The bytes of a blob as an unkeyed container, from which `Data` decodes itself.
struct DecodedBytes: UnkeyedDecodingContainer {
  private let bytes: [UInt8]
  private(set) var currentIndex = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var codingPath: [any CodingKey] { [] }
  var count: Int? { bytes.count }
  var isAtEnd: Bool { currentIndex == bytes.count }

  mutating func decodeNil() throws -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard !isAtEnd, let value = bytes[currentIndex] as? Value else { throw notABlob(type) }
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    guard !isAtEnd else { throw notABlob(type) }
    defer { currentIndex += 1 }
    return bytes[currentIndex]
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    throw notABlob(type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw notABlob([Any].self)
  }

  mutating func superDecoder() throws -> any Decoder { throw notABlob(Any.self) }

  private func notABlob(_ type: Any.Type) -> DecodingError {
    .typeMismatch(
      type,
      .init(codingPath: [], debugDescription: "a blob of \(bytes.count) bytes has no such element"))
  }
}
