/// Why a text is not the JSON that was expected.
package struct JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong.
  package var message: String
  /// The byte at which it is.
  package var offset: Int

  package var description: String { "\(message), at byte \(offset)" }
}

extension JSONValue {
  /// How deep arrays and objects may nest.
  package static let maxNestingDepth = 64

  /// The value that a text (RFC 8259) stands for.
  ///
  /// - Parameter maxNestingDepth: how deep arrays and objects may nest.
  package init(
    parsing text: some Sequence<UInt8>, maxNestingDepth: Int = JSONValue.maxNestingDepth
  ) throws(JSONFault) {
    var parser = JSONParser(bytes: Array(text), maxNestingDepth: maxNestingDepth)
    self = try parser.document()
  }
}

private struct JSONParser {
  let bytes: [UInt8]
  let maxNestingDepth: Int
  var index = 0

  mutating func document() throws(JSONFault) -> JSONValue {
    skipSpace()
    let value = try value(depth: 0)
    skipSpace()
    guard index == bytes.count else { throw fault("there is more than one value") }
    return value
  }

  private func fault(_ message: String) -> JSONFault { JSONFault(message: message, offset: index) }

  private var byte: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { index += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard byte == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func value(depth: Int) throws(JSONFault) -> JSONValue {
    guard depth <= maxNestingDepth else { throw fault("values nest too deep") }
    switch byte {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func literal(
    _ name: String, _ value: JSONValue
  ) throws(JSONFault) -> JSONValue {
    guard bytes[index...].starts(with: name.utf8) else { throw fault("expected a value") }
    index += name.utf8.count
    return value
  }

  private mutating func array(depth: Int) throws(JSONFault) -> JSONValue {
    var elements: [JSONValue] = []
    index += 1
    skipSpace()
    if take("]") { return .array([]) }
    repeat {
      skipSpace()
      elements.append(try value(depth: depth + 1))
      skipSpace()
    } while take(",")
    guard take("]") else { throw fault("expected \",\" or \"]\"") }
    return .array(elements)
  }

  private mutating func object(depth: Int) throws(JSONFault) -> JSONValue {
    var fields: [String: JSONValue] = [:]
    index += 1
    skipSpace()
    if take("}") { return .object([:]) }
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw fault("expected a name in quotes") }
      let name = try string()
      skipSpace()
      guard take(":") else { throw fault("expected \":\"") }
      skipSpace()
      let value = try value(depth: depth + 1)
      guard fields.updateValue(value, forKey: name) == nil else {
        throw fault("the name \(name) stands twice")
      }
      skipSpace()
    } while take(",")
    guard take("}") else { throw fault("expected \",\" or \"}\"") }
    return .object(fields)
  }

  private mutating func number() throws(JSONFault) -> JSONValue {
    let start = index
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    return .number(String(decoding: bytes[start..<index], as: UTF8.self))
  }

  private mutating func digits() throws(JSONFault) {
    let start = index
    while let byte, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte { index += 1 }
    guard index > start else { throw fault("expected a value") }
  }
}

// MARK: - Strings

extension JSONParser {
  private mutating func string() throws(JSONFault) -> String {
    index += 1
    var text: [UInt8] = []
    while let byte, byte != UInt8(ascii: "\"") {
      guard byte >= 0x20 else { throw fault("a string holds a bare control character") }
      index += 1
      if byte == UInt8(ascii: "\\") {
        text.append(contentsOf: try escape())
      } else {
        text.append(byte)
      }
    }
    guard take("\"") else { throw fault("a string has no end") }
    guard let string = String(validating: text, as: UTF8.self) else {
      throw fault("a string is not UTF-8")
    }
    return string
  }

  private mutating func escape() throws(JSONFault) -> [UInt8] {
    guard let byte else { throw fault("a string has no end") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return try unicodeEscape()
    default: throw fault("a backslash stands before what it may not")
    }
  }

  private mutating func unicodeEscape() throws(JSONFault) -> [UInt8] {
    var units = [try codeUnit()]
    if UTF16.isLeadSurrogate(units[0]), take("\\"), take("u") { units.append(try codeUnit()) }
    guard let text = String(validating: units, as: UTF16.self) else {
      throw fault("half a surrogate pair is no character")
    }
    return Array(text.utf8)
  }

  private mutating func codeUnit() throws(JSONFault) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw fault("expected a hexadecimal digit")
      }
      unit = unit << 4 | UInt16(digit)
      index += 1
    }
    return unit
  }
}
