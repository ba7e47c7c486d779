/// A value during decoding, and its coding path.
struct JSONSource: Decoder {
  let value: JSONValue
  let codingPath: [any CodingKey]
  /// The forms of Foundation's types; `nil` where each type decodes itself.
  var coding: RecordCoding?
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func mismatch(_ type: Any.Type, _ reason: String = "") -> DecodingError {
    .typeMismatch(
      type, .init(codingPath: codingPath, debugDescription: "\(value) is no \(type)\(reason)"))
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let scalar: (any Decodable)?
    switch type {
    case is Bool.Type: if case .bool(let flag) = value { scalar = flag } else { scalar = nil }
    case is String.Type: if case .string(let text) = value { scalar = text } else { scalar = nil }
    case is Double.Type: scalar = double
    case is Float.Type: scalar = digits.flatMap(Float.init).flatMap { $0.isFinite ? $0 : nil }
    case let type as any (FixedWidthInteger & Decodable).Type: scalar = integer(type)
    default:
      guard let coding, let known = FoundationType(type) else { return try Value(from: self) }
      guard let field = known.fieldValue(of: value) else {
        throw mismatch(type, "; the type takes \(known.expectation(coding))")
      }
      return try FieldDecoder(field, coding, codingPath: codingPath).decode(type)
    }
    guard let result = scalar as? Value else { throw mismatch(type) }
    return result
  }

  private var digits: String? {
    if case .number(let digits) = value { digits } else { nil }
  }

  /// The nearest double, or the one that equals an integer.
  private var double: Double? {
    guard let digits, let number = Double(digits), number.isFinite else { return nil }
    return Int64(digits).map { Double(exactly: $0) } ?? number
  }

  private func integer<Number: FixedWidthInteger & Decodable>(
    _: Number.Type
  ) -> (any Decodable)? {
    digits.flatMap { Number($0) }
  }

  func container<Key: CodingKey>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let fields) = value else { throw mismatch([String: JSONValue].self) }
    return KeyedDecodingContainer(
      JSONFields(fields: fields, codingPath: codingPath, coding: coding))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
    return JSONElements(elements: elements, codingPath: codingPath, coding: coding)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }
}

extension JSONSource: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value == .null }
}

private struct JSONFields<Key: CodingKey>: DecodedParts {
  let fields: [String: JSONValue]
  let codingPath: [any CodingKey]
  let coding: RecordCoding?

  var allKeys: [Key] { fields.keys.compactMap(Key.init) }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

  func part(_ key: Key) throws -> JSONSource {
    guard let value = fields[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "no field \(key.stringValue)"))
    }
    return JSONSource(value: value, codingPath: codingPath + [key], coding: coding)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try part(key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try part(key).decode(type)
  }

  func superDecoder() throws -> any Decoder {
    JSONSource(value: fields["super"] ?? .null, codingPath: codingPath, coding: coding)
  }
}
