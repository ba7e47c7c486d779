extension String {
  /// The name as SQL quotes it: `"a ""quoted"" name"`.
  package var sqlQuoted: String {
    var quoted = "\"".unicodeScalars
    for scalar in unicodeScalars {
      // As a character, a quote followed by a combining accent would not be recognised.
      if scalar == "\"" { quoted.append(scalar) }
      quoted.append(scalar)
    }
    quoted.append("\"")
    return String(quoted)
  }

  /// Whether SQLite takes two names for one: it ignores the case of ASCII letters.
  package func isSameSQLName(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
  }
}

extension UInt8 {
  /// The letter in lower case, if it is an ASCII one.
  var asciiLowercased: UInt8 { (65...90).contains(self) ? self | 0x20 : self }
}
