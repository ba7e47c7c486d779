internal import TandemRecords
internal import TandemSQLite

/// A statement, divided into its body, its last ORDER BY and its LIMIT.
struct QueryClauses {
  /// The number of rows of a LIMIT.
  enum Limit: Hashable {
    /// There is no LIMIT, or a negative one, which has no effect.
    case none
    case count(Int)
    /// A LIMIT whose number is computed, or is not an integer, or which has an OFFSET.
    case other
  }

  /// The whole statement.
  let sql: String
  /// The statement without ORDER BY and LIMIT.
  let body: String
  /// True if it has a LIMIT.
  var hasLimit: Bool { limitStart != nil }
  /// The tokens of each term of the ORDER BY.
  let orderTerms: [[SQLToken]]
  let tokens: SQLTokens
  private let orderStart: Int?
  private let limitStart: Int?

  init(_ sql: String) {
    let tokens = SQLTokens(sql)
    let all = tokens.tokens
    let limit = all.lastIndex { $0.depth == 0 && tokens.isWord($0, "LIMIT") }
    let order = all.indices.dropLast().last {
      all[$0].depth == 0 && tokens.isWord(all[$0], "ORDER") && tokens.isWord(all[$0 + 1], "BY")
    }
    let end = order ?? limit ?? all.count
    let terms = order.map { all[min($0 + 2, limit ?? all.count)..<(limit ?? all.count)] }
    orderTerms =
      terms?.split(omittingEmptySubsequences: false) {
        $0.depth == 0 && tokens.isSymbol($0, ",")
      }.map(Array.init) ?? []
    self.sql = tokens.statement
    body = tokens.text(0..<(end > 0 ? all[end - 1].range.upperBound : 0))
    orderStart = order
    limitStart = limit
    self.tokens = tokens
  }

  /// The LIMIT, given the values of the statement's parameters.
  func limit(_ parameters: [FieldValue]) -> Limit {
    guard let limitStart else { return .none }
    let number = tokens.tokens[(limitStart + 1)...]
    guard number.count == 1, let token = number.first else { return .other }
    let count: Int64?
    switch token.kind {
    case .number: count = Int64(tokens.text(token.range))
    case .parameter: count = lastParameter(parameters)
    case .word, .quotedName, .string, .symbol: count = nil
    }
    guard let count else { return .other }
    return count < 0 ? .none : .count(Int(clamping: count))
  }

  /// The value of the last parameter, if all are written `?` and it is an integer.
  private func lastParameter(_ parameters: [FieldValue]) -> Int64? {
    let marks = tokens.tokens.filter { $0.kind == .parameter }
    guard marks.allSatisfy({ $0.range.count == 1 }), marks.count == parameters.count,
      case .integer(let count)? = parameters.last
    else { return nil }
    return count
  }

  /// The values of the parameters of ``body``, for a statement whose ORDER BY has none.
  func bodyParameters(_ parameters: [FieldValue]) -> [FieldValue] {
    hasLimit && tokens.tokens.last?.kind == .parameter ? parameters.dropLast() : parameters
  }

  /// The statement with rows that are equal by its ORDER BY put in the order of their keys.
  ///
  /// - Parameters:
  ///   - keyOffsets: Where the key is among the columns of the result.
  ///   - limit: A LIMIT instead of the one there is, if any.
  func ordered(byKey keyOffsets: [Int], limit: String?) -> String {
    let terms = orderTerms.compactMap { term in
      term.first.map { tokens.text($0.range.lowerBound..<term[term.count - 1].range.upperBound) }
    }
    let keys = keyOffsets.map { "\($0 + 1) COLLATE BINARY" }
    let order = (terms + keys).joined(separator: ", ")
    return "\(body)\nORDER BY \(order)" + (limit.map { "\n\($0)" } ?? "")
  }

  /// The LIMIT as it is written.
  var limitText: String? {
    limitStart.map { tokens.text(tokens.tokens[$0].range.lowerBound..<sql.utf8.count) }
  }
}
