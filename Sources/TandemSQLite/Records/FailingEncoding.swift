/// Containers for values that a row cannot hold. An `Encoder` must return a container without
/// throwing, so the first use of these throws instead.
struct FailingEncoding: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  private let error: DatabaseError

  init(_ error: DatabaseError) { self.error = error }

  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  func encode(_ value: some Encodable) throws { throw error }

  func encodeNil() throws { throw error }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FailingKeyedEncoding<Key>(error))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }

  func superEncoder() -> any Encoder { FailingEncoder(error: error) }
}

/// The failing container with keys.
struct FailingKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let error: DatabaseError

  init(_ error: DatabaseError) { self.error = error }

  var codingPath: [any CodingKey] { [] }

  func encode(_ value: some Encodable, forKey key: Key) throws { throw error }

  func encodeNil(forKey key: Key) throws { throw error }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(FailingKeyedEncoding<Nested>(error))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    FailingEncoding(error)
  }

  func superEncoder() -> any Encoder { FailingEncoder(error: error) }

  func superEncoder(forKey key: Key) -> any Encoder { FailingEncoder(error: error) }
}

/// The failing encoder.
struct FailingEncoder: Encoder {
  let error: DatabaseError

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(FailingKeyedEncoding<Key>(error))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { FailingEncoding(error) }

  func singleValueContainer() -> any SingleValueEncodingContainer { FailingEncoding(error) }
}
