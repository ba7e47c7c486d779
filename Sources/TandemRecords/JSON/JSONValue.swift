/// Any JSON value. Numbers keep their digits, so no integer is rounded. Objects lose the order of
/// their fields.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// A number as a string of its digits; any other value unchanged.
  package var asText: JSONValue {
    if case .number(let digits) = self { .string(digits) } else { self }
  }
}

// MARK: - Reading

extension JSONValue {
  /// The default maximum depth: the number of arrays and objects that a value may stand in.
  package static let maxNestingDepth = 64

  /// Reads a text (RFC 8259) that consists of one value.
  ///
  /// - Throws: ``TextFault`` if the bytes are not UTF-8 or not one JSON value, if an object has a
  ///   name twice, or if a value nests deeper than `maxNestingDepth`.
  /// - Complexity: O(*n*) in the number of bytes.
  package init(
    parsing text: some Sequence<UInt8>, maxNestingDepth: Int = JSONValue.maxNestingDepth
  ) throws(TextFault) {
    var value = JSONValue.null
    try JSONCursor.read(Array(text), maxNestingDepth: maxNestingDepth) {
      (cursor) throws(TextFault) in value = try cursor.value()
    }
    self = value
  }
}

extension JSONCursor {
  /// Reads a value of any kind.
  package mutating func value() throws(TextFault) -> JSONValue { try value(depth: 0) }

  private mutating func value(depth: Int) throws(TextFault) -> JSONValue {
    guard depth <= maxNestingDepth else {
      throw TextFault(
        .limitExceeded, "arrays and objects nest deeper than \(maxNestingDepth)", at: index)
    }
    switch byte {
    case ASCII.quote: return .string(try string())
    case ASCII.openBracket: return .array(try array(depth: depth))
    case ASCII.openBrace: return .object(try object(depth: depth))
    case ASCII.minus, ASCII.digits?: return .number(try number().text(in: bytes))
    case UInt8(ascii: "t"):
      try skipLiteral("true", "\"true\"")
      return .bool(true)
    case UInt8(ascii: "f"):
      try skipLiteral("false", "\"false\"")
      return .bool(false)
    case UInt8(ascii: "n"):
      try skipLiteral("null", "\"null\"")
      return .null
    default: throw unexpected("a value")
    }
  }

  private mutating func array(depth: Int) throws(TextFault) -> [JSONValue] {
    var elements: [JSONValue] = []
    guard try openArray() else { return elements }
    repeat { elements.append(try value(depth: depth + 1)) } while try hasNextElement()
    return elements
  }

  private mutating func object(depth: Int) throws(TextFault) -> [String: JSONValue] {
    var fields: [String: JSONValue] = [:]
    guard try openObject() else { return fields }
    repeat {
      let start = index
      let name = try fieldName()
      guard fields.updateValue(try value(depth: depth + 1), forKey: name) == nil else {
        throw TextFault(
          .duplicateField, "the object names the field \(FieldValue.text(name)) twice", at: start)
      }
    } while try hasNextField()
    return fields
  }
}

// MARK: - Writing

extension JSONValue: JSONWritable, CustomStringConvertible {
  /// Writes the value, the fields of objects in the order of their names' bytes.
  package func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.writeNull()
    case .bool(let value): json.write(value)
    case .number(let digits): json.scalar { $0.append(contentsOf: digits.utf8) }
    case .string(let text): json.write(text)
    case .array(let elements): json.write(elements)
    case .object(let fields):
      json.object { json in
        for (name, value) in fields.sorted(by: { UTF8Order.precedes($0.key, $1.key) }) {
          json.field(name, value)
        }
      }
    }
  }

  /// The value as JSON, without white space.
  package var description: String {
    var json = JSONWriter()
    json.write(self)
    return String(decoding: json.bytes, as: UTF8.self)
  }

  /// The number of bytes of ``description``, counted without writing it.
  package var textByteCount: Int {
    switch self {
    case .null: return 4
    case .bool(let value): return value ? 4 : 5
    case .number(let digits): return digits.utf8.count
    case .string(let text): return text.quotedByteCount
    case .array(let elements):
      return elements.reduce(max(2, elements.count + 1)) { $0 + $1.textByteCount }
    case .object(let fields):
      return fields.reduce(max(2, fields.count + 1)) {
        $0 + $1.key.quotedByteCount + 1 + $1.value.textByteCount
      }
    }
  }
}
