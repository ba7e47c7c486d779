import Tandem

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

/// Reads the lines of a text with conflicts.
private struct ConflictReader {
  /// The maximum number of conflicts inside each other, and of their versions.
  private static let maxDepth = 16, maxVersionCount = 64

  private let lines: [ArraySlice<UInt8>]
  private var position = 0
  private var depth = 0

  init(_ bytes: [UInt8]) {
    lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }

  /// Reads lines up to a marker, or to the end; returns the resolutions of the conflicts in them. `nil` if a
  /// conflict is incomplete.
  mutating func readTexts(until ends: String) -> [[UInt8]]? {
    var texts: [[UInt8]] = [[]]
    while position < lines.count {
      let line = lines[position]
      let marker = Self.marker(line)
      if let marker, ends.utf8.contains(marker) { return texts }
      position += 1
      guard marker == UInt8(ascii: "<") else {
        for place in texts.indices { texts[place] += Array(line) + [UInt8(ascii: "\n")] }
        continue
      }
      guard let versions = readConflict() else { return nil }
      texts = (0..<max(texts.count, versions.count)).map { place in
        texts[min(place, texts.count - 1)] + versions[min(place, versions.count - 1)]
      }
    }
    return ends.isEmpty ? texts : nil
  }

  /// Reads the rest of a conflict; returns its versions.
  private mutating func readConflict() -> [[UInt8]]? {
    guard depth < Self.maxDepth else { return nil }
    depth += 1
    defer { depth -= 1 }
    guard let local = readTexts(until: "|=") else { return nil }
    if Self.marker(lines[position]) == UInt8(ascii: "|") {
      position += 1
      guard readTexts(until: "=") != nil else { return nil }
    }
    position += 1
    guard let remote = readTexts(until: ">") else { return nil }
    position += 1
    return local.count + remote.count > Self.maxVersionCount ? nil : local + remote
  }

  /// The character of a marker: seven or more of it, then a space or the end of the line.
  private static func marker(_ line: ArraySlice<UInt8>) -> UInt8? {
    guard let first = line.first, "<|=>".utf8.contains(first) else { return nil }
    let length = line.prefix { $0 == first }.count
    let next = line.dropFirst(length).first
    return length >= 7 && (next == nil || next == UInt8(ascii: " ") || next == UInt8(ascii: "\r"))
      ? first : nil
  }
}
