internal import TandemDifferences

/// One field as a `Decoder` of any type: see ``RecordCoding``.
package struct FieldDecoder: Decoder {
  private let value: FieldValue
  private let coding: RecordCoding
  package let codingPath: [any CodingKey]
  package var userInfo: [CodingUserInfoKey: Any] { [:] }

  package init(_ value: FieldValue, _ coding: RecordCoding, codingPath: [any CodingKey] = []) {
    self.value = value
    self.coding = coding
    self.codingPath = codingPath
  }

  /// The value as a type.
  ///
  /// - Throws: `DecodingError` if it is not of the type; the error that `init(from:)` throws.
  package func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let convertible = type as? any FieldValueConvertible.Type {
      guard let value = convertible.init(fieldValue: value) as? Value else { throw mismatch(type) }
      return value
    }
    guard let known = FoundationType(type) else { return try Value(from: self) }
    let expectation = known.expectation(coding)
    if known == .data {
      guard case .blob = value else { throw mismatch(type, "; the type takes \(expectation)") }
      return try Value(from: self)
    }
    guard let parts = known.parts(of: value, coding),
      let value = try? Value(from: JSONSource(value: parts, codingPath: codingPath))
    else { throw mismatch(type, "; the type takes \(expectation)\(known.remedy)") }
    return value
  }

  package func container<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    try json([String: Any].self).container(keyedBy: type)
  }

  package func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    if case .blob(let bytes) = value { return DecodedBytes(bytes, codingPath: codingPath) }
    return try json([Any].self).unkeyedContainer()
  }

  package func singleValueContainer() -> any SingleValueDecodingContainer { self }

  /// The JSON that the text is.
  private func json(_ type: Any.Type) throws -> JSONSource {
    guard case .text(let text) = value else { throw mismatch(type) }
    do {
      let json = try JSONValue(
        parsing: text.utf8, maxNestingDepth: RecordLimits().maxNestingDepth)
      return JSONSource(value: json, codingPath: codingPath, coding: coding)
    } catch {
      throw mismatch(type, "; as JSON: \(error)")
    }
  }

  private func mismatch(_ type: Any.Type, _ reason: String = "") -> DecodingError {
    .typeMismatch(
      type,
      .init(
        codingPath: codingPath,
        debugDescription: "\(DescriptionLimit.text(value)) is no \(type)\(reason)"))
  }
}

extension FieldDecoder: SingleValueDecodingContainer {
  package func decodeNil() -> Bool { value.isNull }
}

extension DecodingError {
  /// The place inside the field, and the reason, for messages that name the field.
  package var fieldMessage: String {
    let context =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .keyNotFound(_, let context), .dataCorrupted(let context):
        context
      @unknown default: DecodingError.Context(codingPath: [], debugDescription: "\(self)")
      }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    return (path + [context.debugDescription]).joined(separator: ": ")
  }
}
