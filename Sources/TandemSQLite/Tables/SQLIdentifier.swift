extension String {
  /// The name as SQL quotes it: `"a ""quoted"" name"`.
  package var sqlQuoted: String {
    "\"" + replacing("\"", with: "\"\"") + "\""
  }

  /// Whether SQLite takes two names for one: it ignores the case of ASCII letters.
  package func isSameSQLName(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }

  fileprivate func replacing(_ character: Character, with replacement: String) -> String {
    reduce(into: "") { $0 += $1 == character ? replacement : String($1) }
  }
}

extension UInt8 {
  fileprivate var asciiLowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }
}
