/// Comparison of JSON arrays and objects by their structure.
package enum JSONStructure {
  /// Returns true if two texts, each one valid JSON array or object, are equal apart from white
  /// space, the order of fields, and the escapes in strings. Numbers are equal if their digits are.
  ///
  /// - Complexity: O(*n* log *n*) in the bytes of both; O(*n*) if the texts are equal.
  package static func areEqual(_ first: String, _ second: String) -> Bool {
    if UTF8Order.areEqual(first, second) { return true }
    guard isNested(first), first.utf8.first == second.utf8.first else { return false }
    guard let canonical = canonicalText(of: first) else { return false }
    return canonical == canonicalText(of: second)
  }

  /// Returns true if a text begins as an array or an object does.
  package static func isNested(_ text: String) -> Bool {
    text.utf8.first == ASCII.openBracket || text.utf8.first == ASCII.openBrace
  }

  /// Returns a text with the fields of each object in the order of their names, and with only the
  /// escapes that a string needs. Returns `nil` if the text is not JSON, or a string has half a
  /// surrogate pair.
  package static func canonicalText(of text: String) -> [UInt8]? {
    UTF8Order.withBytes(of: text) { bytes in
      var cursor = JSONCursor(bytes, maxNestingDepth: RecordLimits().maxNestingDepth)
      guard let canonical = try? cursor.canonicalText(), (try? cursor.requireEnd()) != nil else {
        return nil
      }
      return canonical
    }
  }
}

/// An array or object whose end has not been read.
private struct OpenJSON {
  let isObject: Bool
  /// The name of the field whose value follows.
  var name = ""
  var names: [String] = []
  var values: [[UInt8]] = []

  mutating func add(_ value: [UInt8]) {
    if isObject { names.append(name) }
    values.append(value)
  }

  /// Repeated names keep their order.
  var canonicalText: [UInt8] {
    guard isObject else {
      return [ASCII.openBracket] + values.joined(separator: [ASCII.comma])
        + [ASCII.closeBracket]
    }
    let order = names.indices.sorted { first, second in
      let order = UTF8Order.compare(names[first], names[second])
      return order != 0 ? order < 0 : first < second
    }
    let fields = order.map { position in
      var field: [UInt8] = []
      field.append(quoted: names[position])
      field.append(ASCII.colon)
      return field + values[position]
    }
    return [ASCII.openBrace] + fields.joined(separator: [ASCII.comma]) + [ASCII.closeBrace]
  }
}

extension JSONCursor {
  /// Reads a value of any kind and returns its canonical text. Keeps open arrays and objects in a list
  /// of its own, because deep nesting would overflow the stack.
  fileprivate mutating func canonicalText() throws(TextFault) -> [UInt8] {
    var open: [OpenJSON] = []
    skipSpace()
    while true {
      var value: [UInt8]?
      switch byte {
      case ASCII.openBracket, ASCII.openBrace:
        guard open.count < maxNestingDepth else {
          throw TextFault(.limitExceeded, "nests too deep", at: index)
        }
        var nested = OpenJSON(isObject: byte == ASCII.openBrace)
        if try nested.isObject ? openObject() : openArray() {
          if nested.isObject { nested.name = try fieldName() }
          open.append(nested)
        } else {
          value = nested.canonicalText
        }
      case ASCII.quote:
        var text: [UInt8] = []
        text.append(quoted: try string())
        value = text
      default:
        let start = index
        try skipValue()
        value = Array(bytes[start..<index])
      }
      while let complete = value {
        guard var last = open.popLast() else { return complete }
        last.add(complete)
        value = nil
        if try last.isObject ? hasNextField() : hasNextElement() {
          if last.isObject { last.name = try fieldName() }
          open.append(last)
        } else {
          value = last.canonicalText
        }
      }
    }
  }
}
