/// The statement that created a table, as the database keeps it, and other declarations of its columns.
struct CreateTableStatement {
  private let tokens: SQLTokens

  init(_ sql: String) { tokens = SQLTokens(sql) }

  /// The words that end a column's type.
  static let constraints: Set<String> = [
    "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES",
    "GENERATED", "AS", "ON",
  ]

  /// The words, unless they are quoted, that begin a constraint of the table in place of a column.
  static let tableConstraints: Set<String> = [
    "CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN",
  ]

  /// True if SQLite never gives a number of the key again.
  var hasAutoincrement: Bool { tokens.words.contains("AUTOINCREMENT") }

  /// The statement with another type, or none, for some columns; `nil` if it depends on their types.
  ///
  /// - Parameter notNull: The columns among them that have never been null, and may be without their type.
  func widening(_ columns: [String], type: String?, notNull: [String]) -> String? {
    // AUTOINCREMENT takes an INTEGER.
    guard !hasAutoincrement else { return nil }
    return replacingTypes(of: columns, notNull: notNull) { _ in type.map { " \($0)" } ?? "" }
  }

  /// The statement with texts in some columns; `nil` if it is unusual.
  ///
  /// - Parameters:
  ///   - notNull: The columns among them that have never been null, and may be without their type.
  ///   - defaults: The expressions that compute a new value for columns among them.
  ///   - keepsNumbers: True if none of them is the key that AUTOINCREMENT is for.
  func textual(
    _ columns: [String], notNull: [String], defaults: [String: String], keepsNumbers: Bool
  ) -> String? {
    let all = tokens.tokens
    let words = all.indices.dropFirst().filter { tokens.isWord(all[$0], "AUTOINCREMENT") }
      .map { (range: all[$0 - 1].range.upperBound..<all[$0].range.upperBound, text: "") }
    return replacingTypes(of: columns, notNull: notNull, besides: keepsNumbers ? [] : words) {
      " TEXT" + (defaults[$0].map { " DEFAULT (\($0))" } ?? "")
    }
  }

  /// The statement with AUTOINCREMENT for its primary key; `nil` if it declares none.
  func autoincrementing() -> String? {
    let all = tokens.tokens
    let start = all.indices.dropLast().first { position in
      all[position].depth == 1 && tokens.isWord(all[position], "PRIMARY")
        && tokens.isWord(all[position + 1], "KEY")
    }
    guard let start else { return nil }
    var next = start + 2
    func isNext(_ words: String...) -> Bool {
      next < all.count && words.contains { tokens.isWord(all[next], $0) }
    }
    if next < all.count, tokens.isSymbol(all[next], "(") {
      // A constraint of the table: behind its columns.
      guard let end = all[next...].first(where: { $0.depth == 1 && tokens.isSymbol($0, ")") })
      else { return nil }
      return replacing([(end.range.lowerBound..<end.range.lowerBound, " AUTOINCREMENT")])
    }
    if isNext("ASC", "DESC") { next += 1 }
    if isNext("ON") { next += 3 }
    guard next <= all.count else { return nil }
    let end = all[next - 1].range.upperBound
    return replacing([(end..<end, " AUTOINCREMENT")])
  }
}

// MARK: - Editing

extension CreateTableStatement {
  /// The statement with other bytes in places that do not overlap.
  private func replacing(_ edits: [(range: Range<Int>, text: String)]) -> String {
    var result: [UInt8] = []
    var end = 0
    for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      result += tokens.bytes[end..<edit.range.lowerBound]
      result += edit.text.utf8
      end = edit.range.upperBound
    }
    result += tokens.bytes[end...]
    return String(decoding: result, as: UTF8.self)
  }

  /// The statement with other words in place of the types of columns, each of which it must declare.
  private func replacingTypes(
    of columns: [String], notNull: [String],
    besides edits: [(range: Range<Int>, text: String)] = [],
    _ type: (String) -> String
  ) -> String? {
    var edits = edits
    let count = edits.count
    for (position, token) in tokens.tokens.enumerated() where isStartOfColumn(position) {
      guard let name = tokens.name(token),
        let column = columns.first(where: name.isSameSQLName)
      else { continue }
      let isRequired = notNull.contains(where: name.isSameSQLName) && !isNotNull(position)
      let words = type(column) + (isRequired ? " NOT NULL" : "")
      edits.append((token.range.upperBound..<endOfType(after: position), words))
    }
    return edits.count - count == columns.count ? replacing(edits) : nil
  }

  /// True if a token is the first of those that declare a column.
  private func isStartOfColumn(_ position: Int) -> Bool {
    let token = tokens.tokens[position]
    guard token.depth == 1, position > 0 else { return false }
    let previous = tokens.tokens[position - 1]
    let isStart =
      tokens.isSymbol(previous, "(") && previous.depth == 0
      || tokens.isSymbol(previous, ",") && previous.depth == 1
    return isStart && !Self.tableConstraints.contains { tokens.isWord(token, $0) }
  }

  /// True if the column whose declaration begins at a position is declared NOT NULL.
  private func isNotNull(_ position: Int) -> Bool {
    var previous = ""
    for token in tokens.tokens[(position + 1)...] {
      if token.depth == 0 || token.depth == 1 && tokens.isSymbol(token, ",") { break }
      let word =
        token.depth == 1 && token.kind == .word ? tokens.text(token.range).uppercased() : ""
      if previous == "NOT", word == "NULL" { return true }
      previous = word
    }
    return false
  }

  /// The end of the type that follows a column's name; the end of the name if there is none.
  private func endOfType(after position: Int) -> Int {
    var end = tokens.tokens[position].range.upperBound
    for token in tokens.tokens[(position + 1)...] {
      if token.depth == 0 || token.depth == 1 && tokens.isSymbol(token, ",") { break }
      if token.depth == 1, token.kind == .word,
        Self.constraints.contains(tokens.text(token.range).uppercased())
      {
        break
      }
      end = token.range.upperBound
    }
    return end
  }
}
