import Tandem

/// A file merged by lines, as git merges it.
struct MergedText {
  /// The conflicts of columns, if the file is CSV and cannot be merged by records because of them.
  var columns: [ConflictReport<String, String>] = []
  private let merge: TextMerge
  private let base: String
  private let local: String
  private let remote: String
  /// True if the text is UTF-8; otherwise each byte is taken for a character.
  private let isUTF8: Bool

  /// Merges the versions of a file by lines.
  ///
  /// - Throws: ``FileError`` if one of them has a NUL, so that it is no text.
  init(_ versions: MergeCommand.Versions, path: String) throws(FileError) {
    let all = [versions.base ?? [], versions.local, versions.remote]
    guard !all.contains(where: { $0.contains(0) }) else {
      throw FileError(path: path, action: "merged", reason: "it is neither a list nor a text")
    }
    let texts = all.compactMap { String(validating: $0, as: UTF8.self) }
    isUTF8 = texts.count == all.count
    let lines =
      isUTF8 ? texts : all.map { String(String.UnicodeScalarView($0.map(UnicodeScalar.init))) }
    (base, local, remote) = (lines[0], lines[1], lines[2])
    merge = TextMerge(base: lines[0], local: local, remote: remote, by: .lines)
  }

  /// The lines that both sides changed.
  var conflicts: [TextMerge.Conflict] { merge.conflicts }

  /// True if no line and no column is in conflict.
  var isResolved: Bool { conflicts.isEmpty && columns.isEmpty }

  /// The merged text, with the local version of each conflict, or with both versions between the
  /// markers of git.
  ///
  /// - Parameter style: The form of the markers; `nil` for the local version.
  func bytes(_ style: ConflictMarkers.Style?) -> [UInt8] {
    var text = merge.resolved { conflict in
      style.map { marked(conflict.base, conflict.local, conflict.remote, $0) } ?? conflict.local
    }
    if let style, conflicts.isEmpty, !isResolved { text = marked(base, local, remote, style) }
    return isUTF8 ? Array(text.utf8) : text.unicodeScalars.map { UInt8($0.value) }
  }

  /// The versions between the markers of git, in lines that end as those of the file.
  private func marked(
    _ base: String, _ local: String, _ remote: String, _ style: ConflictMarkers.Style
  ) -> String {
    let end = self.local.lineEnd ?? self.remote.lineEnd ?? "\n"
    func ended(_ text: String) -> String {
      text.isEmpty || text.utf8.last == UInt8(ascii: "\n") ? text : text + end
    }
    var (start, rest): ([String], [String]) = ([], [])
    var (local, remote) = (local.lines, remote.lines)
    if style == .zdiff3 {
      // Equal lines at both ends are no part of the conflict.
      while let first = local.first, let other = remote.first, UTF8Order.areEqual(first, other) {
        start.append(first)
        (local, remote) = (local.dropFirst(), remote.dropFirst())
      }
      while let last = local.last, let other = remote.last, UTF8Order.areEqual(last, other) {
        rest.append(last)
        (local, remote) = (local.dropLast(), remote.dropLast())
      }
    }
    let former = style == .merge ? "" : "||||||| base\(end)\(ended(base))"
    return start.joined() + "<<<<<<< local\(end)\(ended(local.joined()))\(former)=======\(end)"
      + "\(ended(remote.joined()))>>>>>>> remote\(end)" + rest.reversed().joined()
  }
}

extension String {
  /// The lines, each with its end.
  fileprivate var lines: ArraySlice<String> {
    var lines: [String] = []
    var start = utf8.startIndex
    while let feed = utf8[start...].firstIndex(of: UInt8(ascii: "\n")) {
      let next = utf8.index(after: feed)
      lines.append(String(decoding: utf8[start..<next], as: UTF8.self))
      start = next
    }
    if start < utf8.endIndex { lines.append(String(decoding: utf8[start...], as: UTF8.self)) }
    return lines[...]
  }

  /// The end of the first line; `nil` if there is none.
  fileprivate var lineEnd: String? {
    guard let feed = utf8.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    return utf8[..<feed].last == UInt8(ascii: "\r") ? "\r\n" : "\n"
  }
}
