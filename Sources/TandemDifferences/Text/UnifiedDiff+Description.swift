extension UnifiedDiff: CustomStringConvertible {
  /// The unified format, with `\ No newline at end of file` where that is so.
  ///
  /// Names with control characters, quotation marks or backslashes are quoted as in C, as `diff`
  /// and `git` do; names with spaces end in a tab.
  public var description: String {
    if isEmpty { return "" }
    var text = "--- \(Self.quoted(oldName))\n+++ \(Self.quoted(newName))\n"
    for hunk in hunks { text += hunk.description }
    return text
  }

  private static func quoted(_ name: String) -> String {
    let special = name.utf8.contains { $0.isControl || $0 == 0x22 || $0 == 0x5C }
    if !special { return name.utf8.contains(0x20) ? name + "\t" : name }
    var quoted = "\""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\0"..."\u{1F}", "\u{7F}":
        let octal = String(scalar.value, radix: 8)
        quoted += "\\" + String(repeating: "0", count: 3 - octal.count) + octal
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

extension UnifiedDiff.Hunk: CustomStringConvertible {
  /// The hunk as it stands in the unified format.
  public var description: String {
    func range(_ start: Int, _ count: Int) -> String {
      count == 1 ? "\(start)" : "\(start),\(count)"
    }
    var text = "@@ -\(range(oldStart, oldCount)) +\(range(newStart, newCount)) @@\n"
    for line in lines {
      text += line.kind.rawValue + line.text
      if line.text.utf8.last != 0x0A { text += "\n\\ No newline at end of file\n" }
    }
    return text
  }
}
