internal import TandemDifferences

/// The bytes of a blob, by which `Data` decodes itself.
struct DecodedBytes: UnkeyedDecodingContainer {
  private let bytes: [UInt8]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(_ bytes: [UInt8], codingPath: [any CodingKey]) {
    self.bytes = bytes
    self.codingPath = codingPath
  }

  var count: Int? { bytes.count }
  var isAtEnd: Bool { currentIndex == bytes.count }

  mutating func decodeNil() throws -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard let value = try decode(UInt8.self) as? Value else { throw mismatch(type) }
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    guard !isAtEnd else { throw mismatch(type) }
    defer { currentIndex += 1 }
    return bytes[currentIndex]
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    throw mismatch(type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw mismatch([Any].self)
  }

  mutating func superDecoder() throws -> any Decoder { throw mismatch(Any.self) }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(
      type,
      .init(
        codingPath: codingPath,
        debugDescription: "a blob of \(bytes.count) bytes has no element \(type)"))
  }
}
