/// The changed lines between two texts with context lines, as `diff -u` prints them.
///
/// `patch` and `git apply` read the ``description``. It ends with a line feed, or is empty if the
/// texts are equal. Lines end at a line feed; carriage returns are part of them.
public struct UnifiedDiff: Sendable {
  /// Changed lines, and unchanged lines near them.
  public struct Hunk: Sendable {
    /// The number of the first old line, counting from 1; of the line before it if there is none.
    public var oldStart: Int
    /// The number of old lines in the hunk.
    public var oldCount: Int
    /// The number of the first new line, counting from 1; of the line before it if there is none.
    public var newStart: Int
    /// The number of new lines in the hunk.
    public var newCount: Int
    /// The lines, in order. Among changed lines, deleted ones come first.
    public var lines: [Line]
  }

  /// One line of a hunk.
  public struct Line: Sendable {
    /// The kind of a line.
    public enum Kind: String, Sendable, Hashable {
      /// Both texts have it.
      case kept = " "
      /// Only the old text has it.
      case deleted = "-"
      /// Only the new text has it.
      case inserted = "+"
    }

    /// The kind of the line.
    public var kind: Kind
    /// The line with its line feed, which only the last line of a text may lack.
    public var text: String
  }

  /// The name of the old text.
  public var oldName: String
  /// The name of the new text.
  public var newName: String
  /// The hunks, in the order of the texts.
  public private(set) var hunks: [Hunk]

  /// Compares two texts by lines; see ``TextDifference/init(from:to:by:)``.
  ///
  /// `git apply` requires names that begin with `a/` and `b/`, or the option `-p0`. A negative
  /// `contextLineCount` counts as zero.
  public init(
    from old: String, to new: String, oldName: String = "old", newName: String = "new",
    contextLineCount: Int = 3
  ) {
    self.oldName = oldName
    self.newName = newName
    hunks = ContiguousText.with(old, new) { old, new in
      let (old, new) = (TextLines(old), TextLines(new))
      let changes = changedBytes(from: old.text, to: new.text, by: .lines).map {
        RangePair(old: old.lines(in: $0.old), new: new.lines(in: $0.new))
      }
      let context = max(0, min(contextLineCount, old.count))
      return changes.grouped(context: context).map {
        Hunk($0, from: old, to: new, context: context)
      }
    }
  }

  /// True if the texts are equal.
  public var isEmpty: Bool { hunks.isEmpty }
}

extension UnifiedDiff.Hunk {
  fileprivate init(
    _ changes: ArraySlice<RangePair>, from old: TextLines, to new: TextLines, context: Int
  ) {
    let (first, last) = (changes[changes.startIndex], changes[changes.endIndex - 1])
    let leading = min(context, first.old.lowerBound)
    let trailing = min(context, old.count - last.old.upperBound)
    let oldRange = first.old.lowerBound - leading..<last.old.upperBound + trailing
    let newRange = first.new.lowerBound - leading..<last.new.upperBound + trailing
    var lines: [UnifiedDiff.Line] = []
    func append(_ kind: UnifiedDiff.Line.Kind, _ text: TextLines, _ range: Range<Int>) {
      lines += range.map { UnifiedDiff.Line(kind: kind, text: text[$0]) }
    }
    var end = oldRange.lowerBound
    for change in changes {
      append(.kept, old, end..<change.old.lowerBound)
      append(.deleted, old, change.old)
      append(.inserted, new, change.new)
      end = change.old.upperBound
    }
    append(.kept, old, end..<oldRange.upperBound)
    self.init(
      oldStart: oldRange.lowerBound + (oldRange.isEmpty ? 0 : 1), oldCount: oldRange.count,
      newStart: newRange.lowerBound + (newRange.isEmpty ? 0 : 1), newCount: newRange.count,
      lines: lines)
  }
}

extension [RangePair] {
  /// Returns groups of changes whose contexts are adjacent or overlap.
  fileprivate func grouped(context: Int) -> [ArraySlice<RangePair>] {
    var groups: [ArraySlice<RangePair>] = []
    var start = 0
    for index in indices {
      let isLast = index == count - 1
      if isLast || self[index + 1].old.lowerBound - self[index].old.upperBound > 2 * context {
        groups.append(self[start...index])
        start = index + 1
      }
    }
    return groups
  }
}

/// A text by lines.
private struct TextLines {
  let text: ContiguousText
  /// The start of each line, and the end of the last one.
  private let starts: [Int]

  init(_ text: ContiguousText) {
    self.text = text
    var starts = [0]
    for (offset, byte) in text.utf8.enumerated() where byte == 0x0A { starts.append(offset + 1) }
    if starts[starts.count - 1] < text.count { starts.append(text.count) }
    self.starts = starts
  }

  var count: Int { starts.count - 1 }

  subscript(line: Int) -> String { text[starts[line]..<starts[line + 1]] }

  /// Returns the lines in a range of bytes that begins and ends between lines.
  func lines(in range: Range<Int>) -> Range<Int> {
    line(at: range.lowerBound)..<line(at: range.upperBound)
  }

  private func line(at offset: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if starts[middle] < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension UnifiedDiff: CustomStringConvertible {
  /// The unified format, with `\ No newline at end of file` where a text lacks its last line feed.
  ///
  /// Names with control characters, quotation marks or backslashes are quoted as in C, as by `diff`
  /// and `git`. Names with spaces end in a tab.
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
  /// The hunk in the unified format.
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
