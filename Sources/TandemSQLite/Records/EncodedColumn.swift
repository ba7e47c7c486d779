internal import TandemRecords

/// One column as an `Encoder`, for types that are made of a single value, such as enumerations and
/// dates, or of bytes.
final class EncodedColumn: Encoder {
  private let name: String
  private let path: String
  private var value: FieldValue?
  fileprivate var bytes: [UInt8]?
  /// The type that the value encoded in its place, such as the type wrapped in an optional.
  private var innermostType: Any.Type?

  init(name: String, path: String) {
    self.name = name
    self.path = path
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The encoded value of this type.
  func finished(_ type: (some Encodable).Type) throws(DatabaseError) -> FieldValue {
    if let value { return value }
    // An empty list looks like no bytes, but could not be stored once it is not empty.
    guard let bytes, !bytes.isEmpty || !Self.isListOfOthers(innermostType ?? type) else {
      throw hasParts
    }
    return .blob(bytes)
  }

  /// True if a type is known to be a list of elements other than bytes.
  private static func isListOfOthers(_ type: Any.Type) -> Bool {
    func isOther<Values: Sequence>(_ type: Values.Type) -> Bool {
      Values.Element.self != UInt8.self
    }
    guard let type = type as? any Sequence.Type else { return false }
    return isOther(type)
  }

  func put(_ value: some DatabaseValue) throws {
    guard let fieldValue = value.fieldValue else {
      throw DatabaseError(
        code: .mismatch, message: "SQLite cannot hold the value \(value) for column \(name)",
        path: path)
    }
    self.value = fieldValue
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FailingKeyedEncoding<Key>(hasParts))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    bytes = bytes ?? []
    return EncodedBytes(self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  var hasParts: DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "the value for column \(name) has several parts, but a column holds one value; "
        + "make its type a DatabaseValue", path: path)
  }
}

extension EncodedColumn: SingleValueEncodingContainer {
  func encodeNil() throws { try put(FieldValue.null) }
  func encode(_ value: Bool) throws { try put(value) }
  func encode(_ value: String) throws { try put(value) }
  func encode(_ value: Double) throws { try put(value) }
  func encode(_ value: Float) throws { try put(value) }
  func encode(_ value: Int) throws { try put(value) }
  func encode(_ value: Int8) throws { try put(value) }
  func encode(_ value: Int16) throws { try put(value) }
  func encode(_ value: Int32) throws { try put(value) }
  func encode(_ value: Int64) throws { try put(value) }
  func encode(_ value: UInt) throws { try put(value) }
  func encode(_ value: UInt8) throws { try put(value) }
  func encode(_ value: UInt16) throws { try put(value) }
  func encode(_ value: UInt32) throws { try put(value) }
  func encode(_ value: UInt64) throws { try put(value) }

  func encode(_ value: some Encodable) throws {
    if let value = value as? any DatabaseValue { return try put(value) }
    innermostType = type(of: value)
    try value.encode(to: self)
  }
}

/// The bytes of a blob as an unkeyed container, to which `Data` encodes itself.
struct EncodedBytes: UnkeyedEncodingContainer {
  private let column: EncodedColumn

  init(_ column: EncodedColumn) { self.column = column }

  var codingPath: [any CodingKey] { [] }
  var count: Int { column.bytes?.count ?? 0 }

  func encode(_ value: UInt8) throws { column.bytes?.append(value) }

  func encode(_ value: some Encodable) throws {
    guard let byte = value as? UInt8 else { throw column.hasParts }
    try encode(byte)
  }

  func encodeNil() throws { throw column.hasParts }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    column.container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { FailingEncoding(column.hasParts) }

  func superEncoder() -> any Encoder { column }
}
