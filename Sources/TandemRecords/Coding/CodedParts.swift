/// A container by keys, each of which has a decoder for values with containers of their own.
package protocol DecodedParts: KeyedDecodingContainerProtocol {
  associatedtype Part: Decoder
  /// The decoder of the value of a key.
  func part(_ key: Key) throws -> Part
}

extension DecodedParts {
  package func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try part(key).container(keyedBy: type)
  }

  package func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try part(key).unkeyedContainer()
  }

  package func superDecoder(forKey key: Key) throws -> any Decoder { try part(key) }
}

/// A container by keys, each of which has an encoder for values with containers of their own.
package protocol EncodedParts: KeyedEncodingContainerProtocol {
  associatedtype Part: Encoder
  /// The encoder of the value of a key.
  func part(_ key: Key) -> Part
}

extension EncodedParts {
  package func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    part(key).container(keyedBy: type)
  }

  package func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    part(key).unkeyedContainer()
  }

  package func superEncoder(forKey key: Key) -> any Encoder { part(key) }
}
