extension JSONValue {
  /// Encodes a value.
  ///
  /// - Parameter maxNestingDepth: how deep arrays and objects may nest.
  /// - Throws: what its `encode(to:)` throws; `EncodingError` for numbers that are not finite, and for
  ///   what nests deeper.
  /// - Complexity: O(what is encoded).
  package init(
    encoding value: some Encodable, maxNestingDepth: Int = JSONValue.maxNestingDepth
  ) throws {
    let slot = EncodingSlot(room: maxNestingDepth)
    try slot.encode(value, at: [])
    self = try slot.json()
  }
}

/// A slot for a value during encoding.
final class EncodingSlot {
  // Elements and fields are properties rather than payloads of an enumeration, to be added to in place.
  private var scalar = JSONValue.object([:])
  private var elements: [EncodingSlot]?
  private var fields: [String: EncodingSlot]?
  /// The number of further levels of arrays and objects that are allowed here.
  private let room: Int
  /// The forms of Foundation's types; `nil` where each type encodes itself.
  private let coding: RecordCoding?

  init(room: Int, coding: RecordCoding? = nil) {
    self.room = room
    self.coding = coding
  }

  /// The encoded value. It may nest too deep even if no single step did.
  func json() throws -> JSONValue {
    guard room >= 0 else { throw tooDeep(scalar, at: []) }
    if let elements { return .array(try elements.map { try $0.json() }) }
    if let fields { return .object(try fields.mapValues { try $0.json() }) }
    return scalar
  }

  func encode<Value: Encodable>(_ value: Value, at path: [any CodingKey]) throws {
    // Checked before encoding, because an infinite value would overflow the stack.
    guard room >= 0 else { throw tooDeep(value, at: path) }
    switch value {
    case let value as Bool: set(.bool(value))
    case let value as String: set(.string(value))
    case let value as any BinaryInteger: set(.number("\(value)"))
    case let value as Double: try encode(number: value, at: path)
    case let value as Float: try encode(number: value, at: path)
    default:
      guard let coding, let known = FoundationType(Value.self),
        let field = try FieldEncoder.knownFieldValue(of: value, coding)
      else { return try value.encode(to: SlotEncoder(slot: self, codingPath: path)) }
      set(known.json(of: field))
    }
  }

  private func encode<Number: BinaryFloatingPoint & LosslessStringConvertible>(
    number: Number, at path: [any CodingKey]
  ) throws {
    guard number.isFinite else {
      throw EncodingError.invalidValue(
        number, .init(codingPath: path, debugDescription: "JSON has no numbers that are not finite")
      )
    }
    set(.number("\(number)"))
  }

  private func tooDeep(_ value: Any, at path: [any CodingKey]) -> EncodingError {
    .invalidValue(value, .init(codingPath: path, debugDescription: "the value nests too deep"))
  }

  /// Stores a value without elements or fields.
  func set(_ value: JSONValue) {
    scalar = value
    (elements, fields) = (nil, nil)
  }

  // Slots below the depth limit are not stored: releasing a long chain would overflow the stack too.

  func element() -> EncodingSlot {
    let slot = EncodingSlot(room: room - 1, coding: coding)
    if room >= 0 { elements?.append(slot) }
    return slot
  }

  func field(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot(room: room - 1, coding: coding)
    if room >= 0 { fields?[name] = slot }
    return slot
  }

  func beginObject() {
    if fields == nil { (elements, fields) = (nil, [:]) }
  }

  func beginArray() {
    if elements == nil { (elements, fields) = ([], nil) }
  }
}

struct SlotEncoder: Encoder {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
    slot.beginObject()
    return KeyedEncodingContainer(KeyedSlots(slot: slot, codingPath: codingPath))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    slot.beginArray()
    return UnkeyedSlots(slot: slot, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    SingleSlot(slot: slot, codingPath: codingPath)
  }
}

private struct SingleSlot: SingleValueEncodingContainer {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]

  mutating func encodeNil() { slot.set(.null) }

  mutating func encode<Value: Encodable>(_ value: Value) throws {
    try slot.encode(value, at: codingPath)
  }
}

private struct UnkeyedSlots: UnkeyedEncodingContainer {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]
  private(set) var count = 0

  init(slot: EncodingSlot, codingPath: [any CodingKey]) {
    self.slot = slot
    self.codingPath = codingPath
  }

  private mutating func next() -> EncodingSlot {
    count += 1
    return slot.element()
  }

  mutating func encodeNil() { next().set(.null) }

  mutating func encode<Value: Encodable>(_ value: Value) throws {
    try next().encode(value, at: codingPath)
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy key: Key.Type
  ) -> KeyedEncodingContainer<Key> {
    SlotEncoder(slot: next(), codingPath: codingPath).container(keyedBy: key)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    SlotEncoder(slot: next(), codingPath: codingPath).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { SlotEncoder(slot: next(), codingPath: codingPath) }
}

private struct KeyedSlots<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]

  private func encoder(_ name: String) -> SlotEncoder {
    SlotEncoder(slot: slot.field(name), codingPath: codingPath)
  }

  mutating func encodeNil(forKey key: Key) {
    slot.field(key.stringValue).set(.null)
  }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try slot.field(key.stringValue).encode(value, at: codingPath + [key])
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy nested: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder(key.stringValue).container(keyedBy: nested)
  }

  mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder(key.stringValue).unkeyedContainer()
  }

  mutating func superEncoder() -> any Encoder { encoder("super") }
  mutating func superEncoder(forKey key: Key) -> any Encoder { encoder(key.stringValue) }
}
