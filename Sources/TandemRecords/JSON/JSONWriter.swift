public import TandemDifferences

/// Writes JSON (RFC 8259) in UTF-8, without white space and with commas where they belong.
///
/// All JSON that Tandem writes goes through this type: lists of records, output of commands, state
/// in tables, and messages between hubs.
///
/// ```swift
/// var json = JSONWriter()
/// json.object { json in
///   json.field("count", 2)
///   json.field("rows") { json in json.array(of: rows) { $1.write($0) } }
/// }
/// ```
package struct JSONWriter {
  /// The most bytes that a byte of a text takes in JSON: `\u001f`.
  package static let maxByteCountPerByte = 6

  /// The text so far.
  package fileprivate(set) var bytes: [UInt8]
  /// True after a value, which the next value or name must be separated from.
  private var needsComma = false

  /// A writer that continues a text, which is not part of an array or object that is still open.
  package init(_ bytes: consuming [UInt8] = []) {
    self.bytes = bytes
  }

  /// Begins a new text, in the memory of the last one.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Takes back the values that were written since the text had so many bytes. No array or object may
  /// be open, and none may have been then.
  package mutating func remove(after byteCount: Int) {
    bytes.removeLast(bytes.count - byteCount)
    needsComma = byteCount > 0
  }

  /// Writes an array with elements that have been written already, with commas between them.
  package mutating func array(ofWritten elements: [UInt8]) {
    array { $0.bytes += elements }
  }

  /// Writes a value.
  package mutating func write(_ value: some JSONWritable) { value.write(to: &self) }

  /// Writes `null`.
  package mutating func writeNull() { scalar { $0.append("null") } }

  /// Writes an object, whose fields `body` writes.
  package mutating func object(_ body: (inout JSONWriter) -> Void) {
    list(ASCII.openBrace, ASCII.closeBrace, body)
  }

  /// Writes an array, whose elements `body` writes.
  package mutating func array(_ body: (inout JSONWriter) -> Void) {
    list(ASCII.openBracket, ASCII.closeBracket, body)
  }

  /// Writes an array with one value per element, which `body` writes.
  package mutating func array<Element>(
    of elements: some Sequence<Element>, _ body: (Element, inout JSONWriter) -> Void
  ) {
    array { json in for element in elements { body(element, &json) } }
  }

  /// Writes the name of a field and its value.
  package mutating func field(_ name: String, _ value: some JSONWritable) {
    writeName(name)
    value.write(to: &self)
  }

  /// Writes the name of a field and the one value that `body` writes.
  package mutating func field(_ name: String, _ body: (inout JSONWriter) -> Void) {
    writeName(name)
    body(&self)
  }

  /// Writes the name of a field and an array with one object per element, whose fields `body` writes.
  package mutating func objects<Element>(
    _ name: String, of elements: some Sequence<Element>,
    _ body: (Element, inout JSONWriter) -> Void
  ) {
    writeName(name)
    array(of: elements) { element, json in json.object { body(element, &$0) } }
  }

  /// Writes a value that is neither an array nor an object; `append` appends its text.
  @inline(__always)
  package mutating func scalar(_ append: (inout [UInt8]) -> Void) {
    separate()
    append(&bytes)
    needsComma = true
  }

  @inline(__always)
  private mutating func separate() {
    if needsComma { bytes.append(ASCII.comma) }
  }

  private mutating func writeName(_ name: String) {
    separate()
    bytes.append(quoted: name)
    bytes.append(ASCII.colon)
    needsComma = false
  }

  @inline(__always)
  private mutating func list(_ opener: UInt8, _ closer: UInt8, _ body: (inout JSONWriter) -> Void) {
    separate()
    bytes.append(opener)
    needsComma = false
    body(&self)
    bytes.append(closer)
    needsComma = true
  }
}

extension [UInt8] {
  /// Appends the one value that `body` writes.
  package mutating func appendJSON(_ body: (inout JSONWriter) -> Void) {
    var json = JSONWriter()
    swap(&json.bytes, &self)
    body(&json)
    swap(&json.bytes, &self)
  }
}

// MARK: - Values

/// A value that a ``JSONWriter`` writes as one JSON value.
package protocol JSONWritable {
  /// Writes exactly one JSON value.
  func write(to json: inout JSONWriter)
}

extension Bool: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.scalar { $0.append(self ? "true" : "false") }
  }
}

extension Int: JSONWritable {
  package func write(to json: inout JSONWriter) { json.scalar { $0.append(decimal: Int64(self)) } }
}

extension String: JSONWritable {
  package func write(to json: inout JSONWriter) { json.scalar { $0.append(quoted: self) } }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
  /// Writes `nil` as `null`.
  package func write(to json: inout JSONWriter) {
    if let self { self.write(to: &json) } else { json.writeNull() }
  }
}

extension Array: JSONWritable where Element: JSONWritable {
  package func write(to json: inout JSONWriter) { json.array(of: self) { $1.write($0) } }
}

extension FieldValue: JSONWritable {
  package func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.writeNull()
    case .integer(let number): json.scalar { $0.append(decimal: number) }
    case .real(let number) where number.isFinite:
      json.scalar { $0.append(contentsOf: number.description.utf8) }
    case .real(let number):
      json.object { $0.field("real", number.isNaN ? "nan" : number > 0 ? "inf" : "-inf") }
    case .text(let text): json.scalar { $0.append(quoted: text) }
    case .blob(let blob):
      json.scalar { bytes in
        bytes.append("{\"blob\":\"")
        bytes.append(base64: blob)
        bytes.append("\"}")
      }
    }
  }
}

extension Record: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      for offset in values.indices { json.field(layout.names[offset], values[offset]) }
    }
  }
}

extension SetDifference: JSONWritable where Element: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("inserted", inserted)
      json.objects("updated", of: updated) { update, json in
        json.field("old", update.old)
        json.field("new", update.new)
      }
      json.field("deleted", deleted)
    }
  }
}

// MARK: - Text

extension [UInt8] {
  /// Appends a literal text unchanged.
  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Appends an integer in decimal.
  package mutating func append(decimal number: Int64) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = digits.count
      var rest = number.magnitude
      repeat {
        start -= 1
        digits[start] = ASCII.zero + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      } while rest > 0
      if number < 0 {
        start -= 1
        digits[start] = ASCII.minus
      }
      append(contentsOf: UnsafeBufferPointer(rebasing: digits[start...]))
    }
  }

  /// Appends a text as a JSON string: quotes, backslashes and control characters are escaped, and
  /// nothing else.
  package mutating func append(quoted text: String) {
    append(ASCII.quote)
    UTF8Order.withBytes(of: text) { utf8 in
      var start = 0
      while true {
        let stop = WordScan.firstEscapable(in: utf8, from: start, to: utf8.count)
        append(contentsOf: UnsafeRawBufferPointer(rebasing: utf8[start..<stop]))
        guard stop < utf8.count else { break }
        append(escaped: utf8[stop])
        start = stop + 1
      }
    }
    append(ASCII.quote)
  }

  private mutating func append(escaped byte: UInt8) {
    switch byte {
    case ASCII.quote: append("\\\"")
    case ASCII.backslash: append("\\\\")
    case ASCII.lineFeed: append("\\n")
    case ASCII.carriageReturn: append("\\r")
    case ASCII.tab: append("\\t")
    case 0x08: append("\\b")
    case 0x0C: append("\\f")
    default:
      append(byte < 0x10 ? "\\u000" : "\\u001")
      append(contentsOf: String(byte & 0xF, radix: 16).utf8)
    }
  }
}

extension String {
  /// The number of bytes that `append(quoted:)` appends for this text.
  package var quotedByteCount: Int {
    utf8.reduce(2) { count, byte in
      switch byte {
      case ASCII.quote, ASCII.backslash, 0x08, ASCII.tab, ASCII.lineFeed, 0x0C,
        ASCII.carriageReturn:
        count + 2
      case 0..<ASCII.space: count + 6
      default: count + 1
      }
    }
  }
}
