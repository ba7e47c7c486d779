extension JSONValue {
  /// Decodes a value of the given type.
  ///
  /// - Throws: `DecodingError` if the value has another structure or is out of range.
  package func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    try JSONSource(value: self, codingPath: []).decode(type)
  }
}
