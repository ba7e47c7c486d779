package import TandemRecords

extension String {
  /// The name as SQL quotes it: `"a ""quoted"" name"`.
  package var sqlQuoted: String {
    guard utf8.contains(UInt8(ascii: "\"")) else { return "\"" + self + "\"" }
    var quoted = "\"".unicodeScalars
    for scalar in unicodeScalars {
      // As a character, a quote followed by a combining accent would not be recognised.
      if scalar == "\"" { quoted.append(scalar) }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }

  /// The text as an SQL literal: `'it''s'`. A quote may carry a combining mark, so it is looked for among
  /// the scalars and not among the characters.
  package var sqlLiteral: String {
    let scalars = unicodeScalars.flatMap { $0 == "'" ? [$0, $0] : [$0] }
    return "'\(String(String.UnicodeScalarView(scalars)))'"
  }

  /// True if SQLite treats two names as the same: it ignores the case of ASCII letters.
  package func isSameSQLName(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && (UTF8Order.compare(self, other) == 0
        || zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased })
  }
}

extension [String] {
  /// The names, quoted, with commas between them.
  package var sqlList: String { map(\.sqlQuoted).joined(separator: ", ") }

  /// The columns of the table with an alias.
  package func sqlList(of alias: String) -> String {
    map { "\(alias).\($0.sqlQuoted)" }.joined(separator: ", ")
  }
}

extension UInt8 {
  /// The letter in lower case, if it is an ASCII one.
  package var asciiLowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }
}

/// The condition that a row has a given key, byte by byte.
///
/// Each column is compared twice: once as it is declared, so that an index can be used whatever its
/// collation, and once by BINARY, which distinguishes keys.
package struct KeyCondition {
  /// The condition, with two parameters for each column.
  package let sql: String

  /// A condition on the given columns.
  package init(columns: [String]) {
    sql = columns.map { "\($0.sqlQuoted) = ? AND \($0.sqlQuoted) = ? COLLATE BINARY" }
      .joined(separator: " AND ")
  }

  /// The values of the parameters, for a key.
  package func parameters(_ key: some Sequence<FieldValue>) -> [FieldValue] {
    key.flatMap { [$0, $0] }
  }
}
