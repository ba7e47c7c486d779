/// Reads the lines of a text with conflicts.
struct ConflictReader {
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
