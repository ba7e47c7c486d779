internal import TandemRecords

/// What the statement that created a table declares besides the names and types of its columns:
/// constraints, defaults, collations, generated values and the options of the table.
///
/// Declarations are compared by their tokens, without white space, comments, the case of words and the
/// quotes of names. From the first expression of a definition on, case and quotes count: SQLite reads
/// `"Yes"` as a text if no column has this name. They also count in the declaration of a virtual table.
struct TableDeclaration {
  /// In bytes, because texts of other bytes are equal for `String` if they look alike.
  private typealias Tokens = [[UInt8]]

  /// The words before an expression.
  fileprivate static let expressions: Set<String> = ["AS", "CHECK", "DEFAULT"]

  /// The constraints of each column, by its name in lower case.
  private var columns: [[UInt8]: Tokens] = [:]
  /// The constraints of the table, and what stands before and behind its columns.
  private var others: [Tokens] = []

  init(_ sql: String) {
    let sql = SQLTokens(sql)
    if sql.tokens.count > 1, sql.isWord(sql.tokens[1], "VIRTUAL") {
      others = [sql.tokens.map { Array(sql.text($0.range).utf8) }]
      return
    }
    let start = sql.tokens.firstIndex { $0.depth == 0 && sql.isSymbol($0, "(") }
    guard let start,
      let end = sql.tokens.lastIndex(where: { $0.depth == 0 && sql.isSymbol($0, ")") })
    else {
      others = [sql.folded(sql.tokens[...])]
      return
    }
    let options = sql.tokens[(end + 1)...].split { sql.isSymbol($0, ",") }
    others = ([sql.tokens[..<start]] + options).map(sql.folded)
    let definitions = sql.tokens[(start + 1)..<end].split {
      $0.depth == 1 && sql.isSymbol($0, ",")
    }
    for definition in definitions {
      if let first = definition.first,
        !sql.isWord(first, in: CreateTableStatement.tableConstraints),
        let name = sql.name(first)
      {
        // The type ends where the first constraint begins.
        let constraints = definition.dropFirst().drop {
          !sql.isWord($0, in: CreateTableStatement.constraints)
        }
        columns[name.asciiLowercased] = sql.folded(constraints)
      } else {
        others.append(sql.folded(definition))
      }
    }
    others.sort { $0.joined().lexicographicallyPrecedes($1.joined()) }
  }

  /// True if a column of both tables, or the tables themselves, are declared in different ways.
  func differs(from other: TableDeclaration) -> Bool {
    others != other.others
      || columns.contains { name, constraints in
        other.columns[name].map { $0 != constraints } ?? false
      }
  }
}

extension SQLTokens {
  fileprivate func isWord(_ token: SQLToken, in words: Set<String>) -> Bool {
    token.depth == 1 && token.kind == .word && words.contains(text(token.range).uppercased())
  }

  /// The texts of tokens, up to the first expression with names and words in lower case and without quotes.
  fileprivate func folded(_ tokens: ArraySlice<SQLToken>) -> [[UInt8]] {
    let end = tokens.firstIndex { isWord($0, in: TableDeclaration.expressions) } ?? tokens.endIndex
    return tokens.indices.map { index in
      let text = text(tokens[index].range)
      if index <= end, let name = name(tokens[index]) { return name.asciiLowercased }
      return tokens[index].kind == .number ? text.asciiLowercased : Array(text.utf8)
    }
  }
}

extension String {
  /// The text with the case that SQLite ignores in names.
  fileprivate var asciiLowercased: [UInt8] { utf8.map(\.asciiLowercased) }
}
