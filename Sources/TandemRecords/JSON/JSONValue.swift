/// A value as JSON has it. Numbers keep their digits, so that no integer is rounded.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// A number as a text of its digits; anything else as it is.
  package var asText: JSONValue {
    if case .number(let digits) = self { .string(digits) } else { self }
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON, without white space, names in the order of their bytes.
  package var description: String {
    switch self {
    case .null: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .number(let digits): return digits
    case .string(let text): return Self.quoted(text)
    case .array(let elements):
      return "[" + elements.map(\.description).joined(separator: ",") + "]"
    case .object(let fields):
      let sorted = fields.sorted { $0.key < $1.key }
      return "{" + sorted.map { Self.quoted($0) + ":" + $1.description }.joined(separator: ",")
        + "}"
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

// MARK: - Sizes

extension JSONValue {
  /// How many bytes the value has as JSON: those of ``description``, without writing it.
  package var textByteCount: Int {
    switch self {
    case .null: return 4
    case .bool(let value): return value ? 4 : 5
    case .number(let digits): return digits.utf8.count
    case .string(let text): return Self.quotedByteCount(text)
    case .array(let elements):
      return elements.reduce(max(2, elements.count + 1)) { $0 + $1.textByteCount }
    case .object(let fields):
      return fields.reduce(max(2, fields.count + 1)) {
        $0 + Self.quotedByteCount($1.key) + 1 + $1.value.textByteCount
      }
    }
  }

  private static func quotedByteCount(_ text: String) -> Int {
    text.utf8.reduce(2) { count, byte in
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "\n"): count + 2
      case 0..<0x20: count + 6
      default: count + 1
      }
    }
  }
}
