internal import CSQLite
internal import TandemRecords

/// The record's columns by keys. A class, because `Codable` copies its container for each value.
final class EncodedRow<Key: CodingKey>: EncodedParts {
  private unowned let encoder: KeyedRowEncoder
  private let places: KeyPlaces<Key>

  init(_ encoder: KeyedRowEncoder, _ names: [String]) {
    self.encoder = encoder
    places = KeyPlaces(names)
  }

  var codingPath: [any CodingKey] { [] }

  @inline(__always)
  func put(_ value: some DatabaseValue, _ key: Key) throws {
    try encoder.put(value, key, at: places[key])
  }

  func encodeNil(forKey key: Key) throws { try put(FieldValue.null, key) }

  func encode(_ value: some Encodable, forKey key: Key) throws {
    try encoder.put(encoding: value, key, at: places[key])
  }

  /// A `nil` is a null, not a missing column.
  func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws {
    if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
  }

  func part(_ key: Key) -> FieldEncoder { encoder.part(key) }

  func superEncoder() -> any Encoder { encoder }
}

// One line per type that `KeyedEncodingContainerProtocol` names.
extension EncodedRow {
  func encode(_ value: Bool, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: String, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Double, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Float, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Int, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Int8, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Int16, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Int32, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: Int64, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: UInt, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: UInt8, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: UInt16, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: UInt32, forKey key: Key) throws { try put(value, key) }
  func encode(_ value: UInt64, forKey key: Key) throws { try put(value, key) }

  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try put(value, key) }
}
