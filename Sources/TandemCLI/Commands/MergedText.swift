import Tandem

/// A file merged by lines, as git merges it.
struct MergedText {
  /// The conflicts of columns, if the file is CSV and cannot be merged by records because of them.
  var columns: [ConflictReport<String, String>] = []
  private let merge: TextMerge
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
    (local, remote) = (lines[1], lines[2])
    merge = TextMerge(base: lines[0], local: local, remote: remote, by: .lines)
  }

  /// The lines that both sides changed.
  var conflicts: [TextMerge.Conflict] { merge.conflicts }

  /// True if no line and no column is in conflict.
  var isResolved: Bool { conflicts.isEmpty && columns.isEmpty }

  /// The merged text, with the local version of each conflict, or with both versions between the
  /// markers of git.
  func bytes(marksConflicts: Bool) -> [UInt8] {
    var text = merge.resolved { conflict in
      marksConflicts ? Self.marked(conflict.local, conflict.remote) : conflict.local
    }
    if marksConflicts, conflicts.isEmpty, !isResolved { text = Self.marked(local, remote) }
    return isUTF8 ? Array(text.utf8) : text.unicodeScalars.map { UInt8($0.value) }
  }

  private static func marked(_ local: String, _ remote: String) -> String {
    "<<<<<<< local\n\(local.endingLine)=======\n\(remote.endingLine)>>>>>>> remote\n"
  }
}

extension String {
  /// The text with a line feed at its end, unless it is empty.
  fileprivate var endingLine: String {
    isEmpty || utf8.last == UInt8(ascii: "\n") ? self : self + "\n"
  }
}
