/// One field as an `Encoder` of any type: see ``RecordCoding``.
package final class FieldEncoder: Encoder {
  private let coding: RecordCoding
  /// The value, unless it is a structure.
  private var value: FieldValue?
  private var structure: EncodingSlot?

  package var codingPath: [any CodingKey] { [] }
  package var userInfo: [CodingUserInfoKey: Any] { [:] }

  package init(_ coding: RecordCoding) { self.coding = coding }

  /// The form of a value in a field.
  ///
  /// - Throws: `EncodingError` if it has none; the error that `encode(to:)` throws.
  package static func fieldValue(
    of value: some Encodable, _ coding: RecordCoding
  ) throws -> FieldValue {
    let encoder = FieldEncoder(coding)
    try encoder.encode(value)
    return try encoder.fieldValue()
  }

  /// The form of the value that was encoded.
  ///
  /// - Throws: `EncodingError` if it nests too deep.
  package func fieldValue() throws -> FieldValue {
    try structure.map { .text("\(try $0.json())") } ?? value ?? .null
  }

  package func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    structureEncoder.container(keyedBy: type)
  }

  package func unkeyedContainer() -> any UnkeyedEncodingContainer {
    structureEncoder.unkeyedContainer()
  }

  package func singleValueContainer() -> any SingleValueEncodingContainer { self }

  private var structureEncoder: SlotEncoder {
    let slot = structure ?? EncodingSlot(room: RecordLimits().maxNestingDepth, coding: coding)
    structure = slot
    return SlotEncoder(slot: slot, codingPath: [])
  }
}

extension FieldEncoder: SingleValueEncodingContainer {
  package func encodeNil() { value = .null }

  package func encode<Value: Encodable>(_ value: Value) throws {
    if let convertible = value as? any FieldValueConvertible {
      guard let fieldValue = convertible.fieldValue else {
        throw Self.unstorable(value, "no field holds it")
      }
      self.value = fieldValue
    } else if let fieldValue = try Self.knownFieldValue(of: value, coding) {
      self.value = fieldValue
    } else {
      try value.encode(to: self)
    }
  }

  /// The field's value of a value of Foundation's types, or of a sequence of bytes; `nil` for others.
  static func knownFieldValue<Value: Encodable>(
    of value: Value, _ coding: RecordCoding
  ) throws -> FieldValue? {
    if let sequence = value as? any Sequence, let bytes = bytes(of: sequence) {
      return .blob(bytes)
    }
    guard let known = FoundationType(Value.self) else { return nil }
    if coding.requiresSample, known.dependsOnSample(coding) { throw MissingSample() }
    guard let fieldValue = known.fieldValue(ofParts: try JSONValue(encoding: value), coding) else {
      throw unstorable(value, known.limit(coding))
    }
    return fieldValue
  }

  private static func bytes<Values: Sequence>(of values: Values) -> [UInt8]? {
    Values.Element.self == UInt8.self ? Array(values) as? [UInt8] : nil
  }

  private static func unstorable(_ value: Any, _ reason: String) -> EncodingError {
    .invalidValue(value, .init(codingPath: [], debugDescription: "\(value): \(reason)"))
  }
}

extension EncodingError {
  /// The place inside the field, and the reason, for messages that name the field.
  package var fieldMessage: String {
    guard case .invalidValue(_, let context) = self else { return "\(self)" }
    let path = context.codingPath.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }
    return (path + [context.debugDescription]).joined(separator: ": ")
  }
}
