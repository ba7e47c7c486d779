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

private struct KeyedSlots<Key: CodingKey>: EncodedParts {
  let slot: EncodingSlot
  let codingPath: [any CodingKey]

  func part(_ key: Key) -> SlotEncoder { encoder(key.stringValue) }

  private func encoder(_ name: String) -> SlotEncoder {
    SlotEncoder(slot: slot.field(name), codingPath: codingPath)
  }

  mutating func encodeNil(forKey key: Key) {
    slot.field(key.stringValue).set(.null)
  }

  mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    try slot.field(key.stringValue).encode(value, at: codingPath + [key])
  }

  mutating func superEncoder() -> any Encoder { encoder("super") }
}
