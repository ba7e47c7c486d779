/// A token of a statement; white space and comments are none.
package struct SQLToken: Hashable {
  package enum Kind: Hashable {
    /// A keyword or an unquoted name.
    case word
    /// A name in double quotes, backticks or brackets.
    case quotedName
    case string
    case number
    case parameter
    /// One byte of anything else.
    case symbol
  }

  package let kind: Kind
  /// The bytes of the statement that it is.
  package let range: Range<Int>
  /// The number of parentheses that are open around it.
  package let depth: Int
}

/// The tokens of a statement, as precise as finding its clauses requires.
package struct SQLTokens {
  package let bytes: [UInt8]
  /// The tokens of the first statement in the text, in order.
  package private(set) var tokens: [SQLToken] = []
  private var depth = 0

  package init(_ sql: String) {
    bytes = Array(sql.utf8)
    var position = 0
    while position < bytes.count {
      let start = position
      guard let kind = scan(&position) else { continue }
      if kind == .symbol, bytes[start] == UInt8(ascii: ";"), depth == 0 { break }
      if kind == .symbol, bytes[start] == UInt8(ascii: ")") { depth -= 1 }
      tokens.append(SQLToken(kind: kind, range: start..<position, depth: depth))
      if kind == .symbol, bytes[start] == UInt8(ascii: "(") { depth += 1 }
    }
  }

  /// The statement without what follows its last token.
  package var statement: String { text(0..<(tokens.last?.range.upperBound ?? 0)) }

  /// The bare words of the statement, in upper case, each once.
  package var words: Set<String> {
    Set(tokens.filter { $0.kind == .word }.map { text($0.range).uppercased() })
  }

  /// True if the statement has a SELECT within another one, or `IN` with a table in place of a list.
  ///
  /// The authorizer is not asked about a subquery that SQLite answers from an index, and the query
  /// plan has no loop for it.
  package var hasSubqueries: Bool {
    let hasTableAsList = tokens.indices.contains { place in
      isWord(tokens[place], "IN")
        && !(place + 1 < tokens.count && isSymbol(tokens[place + 1], "("))
    }
    return hasTableAsList || tokens.count { isWord($0, "SELECT") } > 1
  }

  package func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// True if a token is the given keyword.
  package func isWord(_ token: SQLToken, _ keyword: String) -> Bool {
    token.kind == .word && text(token.range).uppercased() == keyword
  }

  /// True if a token is the given byte.
  package func isSymbol(_ token: SQLToken, _ symbol: Unicode.Scalar) -> Bool {
    token.kind == .symbol && bytes[token.range.lowerBound] == UInt8(ascii: symbol)
  }

  /// The name that a token denotes, if it can be one.
  package func name(_ token: SQLToken) -> String? {
    switch token.kind {
    case .word: return text(token.range)
    case .quotedName:
      let inner = bytes[token.range].dropFirst().dropLast()
      guard let quote = bytes[token.range].last, quote != UInt8(ascii: "]") else {
        return String(decoding: inner, as: UTF8.self)
      }
      return String(decoding: SQLTokens.unescaped(inner, quote), as: UTF8.self)
    case .string, .number, .parameter, .symbol: return nil
    }
  }

  /// A quote within quotes is written twice.
  private static func unescaped(_ bytes: ArraySlice<UInt8>, _ quote: UInt8) -> [UInt8] {
    var result: [UInt8] = []
    var isSecond = false
    for byte in bytes {
      isSecond = byte == quote && !isSecond
      if !isSecond { result.append(byte) }
    }
    return result
  }
}

// MARK: - Scanning

extension SQLTokens {
  /// Moves past one token, or past white space or a comment, which is `nil`.
  private func scan(_ position: inout Int) -> SQLToken.Kind? {
    let byte = bytes[position]
    position += 1
    switch byte {
    case UInt8(ascii: "'"):
      skip(past: [byte], &position)
      return .string
    case UInt8(ascii: "\""), UInt8(ascii: "`"):
      skip(past: [byte], &position)
      return .quotedName
    case UInt8(ascii: "["):
      skip(past: [UInt8(ascii: "]")], &position)
      return .quotedName
    case UInt8(ascii: "-") where position < bytes.count && bytes[position] == byte:
      skip(past: [10], &position)
      return nil
    case UInt8(ascii: "/") where position < bytes.count && bytes[position] == UInt8(ascii: "*"):
      position += 1
      skip(past: Array("*/".utf8), &position)
      return nil
    case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"):
      skipWord(&position)
      return .parameter
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      skipWord(&position)
      return .number
    case UInt8(ascii: " "), 9...13: return nil
    case _ where SQLTokens.isWordByte(byte):
      skipWord(&position)
      return .word
    default: return .symbol
    }
  }

  /// Names in quotes that hold quotes, written twice, go on after them.
  private func skip(past end: [UInt8], _ position: inout Int) {
    let isQuote = end.count == 1 && end != [10] && end != [UInt8(ascii: "]")]
    while position < bytes.count {
      if bytes[position...].starts(with: end) {
        position += end.count
        guard isQuote, position < bytes.count, bytes[position] == end[0] else { return }
      }
      position += 1
    }
  }

  private func skipWord(_ position: inout Int) {
    while position < bytes.count, SQLTokens.isWordByte(bytes[position]) { position += 1 }
  }

  private static func isWordByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
      return true
    default: return false
    }
  }
}

extension SQLTokens {
  /// The expression of a computed column in the statement that creates a table; `nil` if it has no such column.
  package func expression(ofColumn name: String) -> [SQLToken]? {
    let start = tokens.firstIndex {
      $0.depth == 1 && self.name($0)?.isSameSQLName(as: name) ?? false
    }
    guard let start else { return nil }
    // A definition ends at the next comma.
    let definition = tokens[(start + 1)...].prefix {
      $0.depth > 1 || $0.depth == 1 && !isSymbol($0, ",")
    }
    guard let keyword = definition.firstIndex(where: { $0.depth == 1 && isWord($0, "AS") }) else {
      return nil
    }
    return Array(definition[keyword...].dropFirst(2).prefix { $0.depth > 1 })
  }
}
