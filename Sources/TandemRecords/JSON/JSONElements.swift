struct JSONElements: UnkeyedDecodingContainer {
  let elements: [JSONValue]
  let codingPath: [any CodingKey]
  private let coding: RecordCoding?
  private(set) var currentIndex = 0

  init(elements: [JSONValue], codingPath: [any CodingKey], coding: RecordCoding?) {
    self.elements = elements
    self.codingPath = codingPath
    self.coding = coding
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  private mutating func next() throws -> JSONSource {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: codingPath, debugDescription: "the array has ended"))
    }
    defer { currentIndex += 1 }
    return JSONSource(
      value: elements[currentIndex], codingPath: codingPath + [ElementPlace(currentIndex)],
      coding: coding)
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, elements[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try next().decode(type)
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy nested: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try next().container(keyedBy: nested)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { try next() }
}

/// The place of an element in an array, as part of a coding path.
private struct ElementPlace: CodingKey {
  let place: Int

  init(_ place: Int) { self.place = place }

  var stringValue: String { "\(place)" }
  var intValue: Int? { place }

  init?(stringValue: String) { nil }

  init?(intValue: Int) { place = intValue }
}
