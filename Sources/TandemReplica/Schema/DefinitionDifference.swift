internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The definitions of one table here and in the space.
struct DefinitionDifference {
  /// The columns that both define.
  private let columns: [(own: SpaceColumn, other: SpaceColumn)]
  private let own: SpaceTable
  private let other: SpaceTable

  init(_ own: SpaceTable, _ other: SpaceTable) {
    (self.own, self.other) = (own, other)
    columns = (own.definitions ?? []).compactMap { definition in
      let known = other.definitions?.first { $0.name == definition.name }
      return known.map { (definition, $0) }
    }
  }

  /// What to do. The definition in the space may be that of a schema that no copy has any more.
  private var remedy: String {
    "declare it alike in all copies; if they all declare it as this file does, an operator of the space "
      + "forgets how the first one did (`redefine` \(own.name))"
  }

  var notices: [String] {
    if columns.allSatisfy({ $0.own == $0.other }) { return [] }
    let keys = own.keyColumns.map { FieldName($0) }
    return columns.flatMap { column in
      let others = keys.contains(column.own.name) ? [] : [requirement(column), standard(column)]
      return ([type(column)] + others + [policy(column)]).compactMap { $0 }
    } + checks
  }

  private typealias Column = (own: SpaceColumn, other: SpaceColumn)

  private func type(_ column: Column) -> String? {
    guard column.own.kind != column.other.kind else { return nil }
    return
      "the column \(column.own.name) of \(own.name) is \(column.own.typeText) here and \(column.other.typeText) in "
      + "the space: a value that one of them would alter or refuse, such as '01234' in a column of integers, is not "
      + "written there but stays beside the table (`keptEdits(.rejected)`); \(remedy)"
  }

  private func requirement(_ column: Column) -> String? {
    guard column.own.isRequired != column.other.isRequired else { return nil }
    let start = "the column \(column.own.name) of \(own.name) is NOT NULL"
    guard column.own.isRequired else {
      return
        "\(start) in the space and not here: other copies cannot have a row of this file without a value; "
        + remedy
    }
    let consequence =
      column.own.defaultText == nil
      ? "stays beside the table (`keptEdits(.rejected)`)" : "gets the default here"
    return
      "\(start) here and not in the space: a row of another copy without a value \(consequence); \(remedy)"
  }

  private func standard(_ column: Column) -> String? {
    guard column.own.standard != column.other.standard else { return nil }
    func text(_ definition: SpaceColumn) -> String {
      definition.defaultText.map { "the default \($0)" } ?? "no default"
    }
    return
      "the column \(column.own.name) of \(own.name) has \(text(column.own)) here and \(text(column.other)) in the "
      + "space: a row that leaves the column out gets another value in each copy that makes it; \(remedy)"
  }

  /// The policies `local` in one copy and `remote` in the others agree: the value of the first one always stays.
  private func policy(_ column: Column) -> String? {
    let sides = [column.own.policy, column.other.policy]
    let priority = [FieldPolicy.local, .remote].map { Optional($0.rawValue) }
    guard sides[0] != sides[1], !sides.allSatisfy(priority.contains) else { return nil }
    let texts = sides.map { policy in policy.map { "the policy \($0)" } ?? "no policy" }
    let count =
      sides.contains(FieldPolicy.counter.rawValue)
      ? ", and a number that a copy without the policy counter writes replaces the additions of others"
      : ""
    return
      "the column \(column.own.name) of \(own.name) has \(texts[0]) here and \(texts[1]) in the space: what a merge makes "
      + "of edits of two copies depends on the copy that merges them\(count); \(remedy)"
  }

  /// Each `CHECK` that only one side has, if the other side knows all columns that it names.
  private var checks: [String] {
    let here = own.definitions ?? []
    let there = other.definitions ?? []
    return missing(from: there, of: here).map {
      "the CHECK (\($0)) of \(own.name) is not in the space: a row of another copy that breaks it stays beside the "
        + "table (`keptEdits(.rejected)`); \(remedy)"
    }
      + missing(from: here, of: there).map {
        "the CHECK (\($0)) of \(own.name) in the space is not in this file: other copies cannot have a row of this file "
          + "that breaks it; \(remedy)"
      }
  }

  /// The checks of some definitions that others lack, although these have all columns that they name.
  private func missing(
    from others: [SpaceColumn], of definitions: [SpaceColumn]
  ) -> [String] {
    let known = Set(others.flatMap(\.checks).map(SQLTokens.normalized))
    let names = Set(others.map(\.name))
    var found: [String] = []
    for text in definitions.flatMap(\.checks)
    where !found.contains(text) && !known.contains(SQLTokens.normalized(text))
      && definitions.allSatisfy({ !$0.checks.contains(text) || names.contains($0.name) })
    {
      found.append(text)
    }
    return found
  }
}

extension SpaceColumn {
  /// All that decides which values a column has.
  fileprivate var kind: [String] {
    isStrict && type.isSameSQLName(as: "ANY")
      ? [ColumnAffinity.none.rawValue]
      : [ColumnAffinity(declaredType: type).rawValue] + (isStrict ? ["STRICT"] : [])
  }

  fileprivate var typeText: String {
    (type.isEmpty ? "without a type" : type) + (isStrict ? " (STRICT)" : "")
  }

  /// The default as it is compared. No default is one of null.
  fileprivate var standard: [String] { SQLTokens.normalized(defaultText ?? "NULL") }
}

extension SQLTokens {
  /// The tokens of an expression, without regard to the case of words and the quotes of names.
  fileprivate static func normalized(_ sql: String) -> [String] {
    let text = SQLTokens(sql)
    return text.tokens.map { text.name($0)?.lowercased() ?? text.text($0.range) }
  }
}
