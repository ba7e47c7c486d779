/// The lines that mark the conflicts of a text, as git writes them.
enum ConflictMarkers {
  /// The forms of a conflict, by the names of git's setting `merge.conflictStyle`.
  enum Style: String {
    case merge, diff3, zdiff3
  }

  /// The form that git is configured to write where the command runs.
  static func configuredStyle() -> Style {
    guard let pipe = popen("git config --get merge.conflictStyle 2>/dev/null", "r") else {
      return .merge
    }
    defer { pclose(pipe) }
    var line = [CChar](repeating: 0, count: 64)
    guard fgets(&line, Int32(line.count), pipe) != nil else { return .merge }
    let name = line.prefix { $0 > 32 }.map { UInt8(bitPattern: $0) }
    return Style(rawValue: String(decoding: name, as: UTF8.self)) ?? .merge
  }

  /// Some resolutions of a text with conflicts, which together have each version of each conflict. `nil` for a
  /// text without complete conflicts.
  ///
  /// A version may have conflicts itself: git merges three bases in two steps.
  static func resolutions(of bytes: [UInt8]) -> [[UInt8]]? {
    var reader = ConflictReader(bytes)
    guard let texts = reader.readTexts(until: ""), texts.count > 1 else { return nil }
    // The text has no line feed behind its last line.
    return texts.map { Array($0.dropLast()) }
  }
}
