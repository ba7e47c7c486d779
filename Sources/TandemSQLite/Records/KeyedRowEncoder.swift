internal import CSQLite
internal import TandemRecords

/// The `Encoder` of a record: it collects names and values or, once the names are known, binds
/// values directly to a statement's parameters.
///
/// As in ``KeyedRowDecoder``, the container is made once for all records.
final class KeyedRowEncoder: Encoder {
  /// The columns, in the order of their parameters.
  private(set) var names: [String]
  /// The collected values.
  private(set) var values: [FieldValue] = []
  /// The statement to bind to; `nil` while collecting.
  private let statement: Statement?
  private let parameterCount: Int32
  let path: String
  private let codings: ColumnCodings
  /// The columns whose values encode themselves in containers, until the record is complete.
  private var parts: [(key: any CodingKey, encoder: FieldEncoder)] = []
  /// The record that last bound a value to each column, by number. Parameters keep their values
  /// from one record to the next, so a column bound twice must not count for one that is not bound.
  private var lastRecords: [UInt32]
  private var record: UInt32 = 0
  private var boundCount = 0
  private var hasUnknownKey = false
  /// True if the record encodes itself without keys.
  private var isKeyless = false
  private var keyType: ObjectIdentifier?
  private var cached: AnyObject?

  /// Collects.
  init(path: String, _ codings: ColumnCodings) {
    self.codings = codings
    names = []
    lastRecords = []
    statement = nil
    parameterCount = 0
    self.path = path
  }

  /// Binds to the parameters of a statement, one per column, of which the last ones may be missing.
  init(_ statement: Statement, columns: [String], _ codings: ColumnCodings) {
    self.codings = codings
    names = columns
    lastRecords = [UInt32](repeating: 0, count: columns.count)
    self.statement = statement
    parameterCount = sqlite3_bind_parameter_count(statement.handle)
    path = statement.database.path
  }

  /// Binds the values of a record; `false` if its columns are not exactly those known.
  func bind(_ value: some Encodable) throws -> Bool {
    boundCount = 0
    hasUnknownKey = false
    record &+= 1
    try take(value)
    return boundCount == names.count && !hasUnknownKey
  }

  /// Takes all values of a record.
  func take(_ value: some Encodable) throws {
    parts = []
    isKeyless = false
    let outcome = Result { try value.encode(to: self) }
    guard !isKeyless else {
      throw DatabaseError(
        code: .mismatch, message: "a record encodes itself by keys, one for each column",
        path: path)
    }
    try outcome.get()
    for (key, part) in parts {
      let value = try fieldValue(key) { try part.fieldValue() }
      try put(
        value, key, at: names.firstIndex(where: key.stringValue.isSameSQLName).map { Int32($0) })
    }
  }

  /// An encoder for the value of a column that encodes itself in a container.
  func part(_ key: any CodingKey) -> FieldEncoder {
    let part = FieldEncoder(codings.coding)
    parts.append((key, part))
    return part
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if keyType == ObjectIdentifier(type), let cached {
      return unsafeDowncast(cached, to: Container<Key>.self).container
    }
    let container = Container(KeyedEncodingContainer(EncodedRow<Key>(self, names)))
    cached = container
    keyType = ObjectIdentifier(type)
    return container.container
  }

  private final class Container<Key: CodingKey> {
    let container: KeyedEncodingContainer<Key>
    init(_ container: KeyedEncodingContainer<Key>) { self.container = container }
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { keyless.unkeyedContainer() }

  func singleValueContainer() -> any SingleValueEncodingContainer { keyless }

  /// An encoder for a record without keys: it is encoded in vain, because ``take(_:)`` throws.
  private var keyless: FieldEncoder {
    isKeyless = true
    return FieldEncoder(codings.coding)
  }
}

extension KeyedRowEncoder {
  /// Takes a value for the column at a place, or of a new name.
  @inline(__always)
  func put(
    _ value: some DatabaseValue, _ key: some CodingKey, at place: @autoclosure () -> Int32?
  ) throws(DatabaseError) {
    guard let statement else { return try collect(value, key) }
    guard let place = place() else {
      hasUnknownKey = true
      return
    }
    if lastRecords[Int(place)] != record {
      lastRecords[Int(place)] = record
      boundCount += 1
    }
    guard place < parameterCount else { return }
    guard value.bind(to: ParameterBinder(statement.handle, place + 1)) else {
      throw unstorable(value, key)
    }
  }

  private func collect(_ value: some DatabaseValue, _ key: some CodingKey) throws(DatabaseError) {
    guard let fieldValue = value.fieldValue else { throw unstorable(value, key) }
    if let place = names.firstIndex(where: key.stringValue.isSameSQLName) {
      values[place] = fieldValue
    } else {
      names.append(key.stringValue)
      values.append(fieldValue)
    }
  }

  private func unstorable(_ value: some DatabaseValue, _ key: some CodingKey) -> DatabaseError {
    DatabaseError(
      code: .mismatch,
      message: "SQLite cannot hold the value \(value) for column \(key.stringValue)",
      sql: statement?.sql, path: path)
  }

  /// Takes a value of any `Encodable` type.
  func put<Value: Encodable>(
    encoding value: Value, _ key: some CodingKey, at place: @autoclosure () -> Int32?
  ) throws {
    if let value = value as? any DatabaseValue {
      return try put(opened: value, key, at: place())
    }
    let fieldValue = try fieldValue(key) {
      try codings.fieldValue(of: value, column: key.stringValue)
    }
    try put(fieldValue, key, at: place())
  }

  /// The result of `encode`, whose errors name the column.
  private func fieldValue(
    _ key: any CodingKey, _ encode: () throws -> FieldValue
  ) throws -> FieldValue {
    do {
      return try encode()
    } catch let error as EncodingError {
      throw DatabaseError(
        code: .mismatch,
        message: "the value for column \(key.stringValue) cannot be stored: \(error.fieldMessage)",
        sql: statement?.sql, path: path)
    }
  }

  private func put<Value: DatabaseValue>(
    opened value: Value, _ key: some CodingKey, at place: @autoclosure () -> Int32?
  ) throws(DatabaseError) {
    try put(value, key, at: place())
  }
}
