/// The bytes of a blob as an unkeyed container: what `Data` decodes itself from.
struct DecodedBytes: UnkeyedDecodingContainer {
  private let bytes: [UInt8]
  private(set) var currentIndex = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var codingPath: [any CodingKey] { [] }
  var count: Int? { bytes.count }
  var isAtEnd: Bool { currentIndex == bytes.count }

  mutating func decodeNil() throws -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard !isAtEnd, let value = bytes[currentIndex] as? Value else { throw notABlob(type) }
    currentIndex += 1
    return value
  }

  mutating func decode(_ type: UInt8.Type) throws -> UInt8 {
    guard !isAtEnd else { throw notABlob(type) }
    defer { currentIndex += 1 }
    return bytes[currentIndex]
  }

  mutating func nestedContainer<Key: CodingKey>(
    keyedBy type: Key.Type
  ) throws -> KeyedDecodingContainer<Key> {
    throw notABlob(type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw notABlob([Any].self)
  }

  mutating func superDecoder() throws -> any Decoder { throw notABlob(Any.self) }

  private func notABlob(_ type: Any.Type) -> DecodingError {
    .typeMismatch(
      type,
      .init(codingPath: [], debugDescription: "a blob of \(bytes.count) bytes has no such element"))
  }
}
