extension JSONValue {
  /// The value that something encodes itself as.
  ///
  /// - Throws: what its `encode(to:)` throws; `EncodingError` for numbers that are not finite.
  package init(encoding value: some Encodable) throws {
    let slot = EncodingSlot()
    try slot.encode(value, at: [])
    self = slot.json
  }
}

/// A place for a value that is being encoded.
private final class EncodingSlot {
  enum Content {
    case scalar(JSONValue)
    case array([EncodingSlot])
    case object([String: EncodingSlot])
  }

  var content = Content.scalar(.object([:]))

  var json: JSONValue {
    switch content {
    case .scalar(let value): return value
    case .array(let slots): return .array(slots.map(\.json))
    case .object(let slots): return .object(slots.mapValues(\.json))
    }
  }

  func encode<Value: Encodable>(_ value: Value, at path: [any CodingKey]) throws {
    switch value {
    case let value as Bool: content = .scalar(.bool(value))
    case let value as String: content = .scalar(.string(value))
    case let value as any BinaryInteger: content = .scalar(.number("\(value)"))
    case let value as Double: try encode(number: value, at: path)
    case let value as Float: try encode(number: value, at: path)
    default: try value.encode(to: SlotEncoder(slot: self, codingPath: path))
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
    content = .scalar(.number("\(number)"))
  }

  func element() -> EncodingSlot {
    let slot = EncodingSlot()
    if case .array(let slots) = content { content = .array(slots + [slot]) }
    return slot
  }

  func field(_ name: String) -> EncodingSlot {
    let slot = EncodingSlot()
    if case .object(var slots) = content {
      slots[name] = slot
      content = .object(slots)
    }
    return slot
  }

  func beginObject() {
    if case .object = content { return }
    content = .object([:])
  }

  func beginArray() {
    if case .array = content { return }
    content = .array([])
  }
}

private struct SlotEncoder: Encoder {
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

  mutating func encodeNil() { slot.content = .scalar(.null) }

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

  mutating func encodeNil() { next().content = .scalar(.null) }

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
    slot.field(key.stringValue).content = .scalar(.null)
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
