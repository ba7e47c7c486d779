import Tandem

/// A value of `--policy`, for `tandem attach` and `tandem alter`.
struct PolicyChoice: Sendable {
  /// A column, or a table and a column.
  let field: String
  /// The policy; `nil` for none.
  let policy: FieldPolicy?

  private static let none = "none"
  /// The names of the policies.
  static let names = FieldPolicy.allCases.map(\.rawValue).joined(separator: ", ")

  /// - Parameter allowsNone: True to accept `COLUMN=none`, which removes a policy.
  init?(_ text: String, allowsNone: Bool) {
    guard let sign = text.lastIndex(of: "="), sign != text.startIndex else { return nil }
    let name = String(text[text.index(after: sign)...])
    field = String(text[..<sign])
    policy = FieldPolicy(rawValue: name)
    if policy == nil, !allowsNone || name != Self.none { return nil }
  }

  /// A suggestion for a text that is not a choice.
  static func hint(_ text: String, allowsNone: Bool = false) -> String {
    guard let sign = text.lastIndex(of: "=") else { return "" }
    return hint(
      to: String(text[text.index(after: sign)...]),
      among: FieldPolicy.allCases.map(\.rawValue) + (allowsNone ? [none] : []))
  }

  private static func hint(to name: String, among names: [String]) -> String {
    Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
  }

  /// The table, by its offset, and the column that the choice is for.
  func place(
    in tables: [(name: String, columns: [String])], _ arguments: ParsedArguments
  ) throws(UsageError) -> (table: Int, column: String) {
    let places = tables.indices.compactMap { offset in
      tables[offset].columns.first { column in
        column.isSameSQLName(as: field)
          || "\(tables[offset].name).\(column)".isSameSQLName(as: field)
      }.map { (offset, $0) }
    }
    guard let place = places.first else {
      let columns = tables.flatMap { table in
        field.contains(".") ? table.columns.map { "\(table.name).\($0)" } : table.columns
      }
      throw arguments.error(
        "--policy: no attached table has a column \(field)\(Self.hint(to: field, among: columns))")
    }
    guard places.count == 1 else {
      let names = places.map { tables[$0.0].name }.joined(separator: " and ")
      throw arguments.error("--policy: \(names) have a column \(field); write TABLE.COLUMN")
    }
    return place
  }
}
