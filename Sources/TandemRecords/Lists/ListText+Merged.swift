/// A part of a merged list.
enum MergedPart {
  /// A record on which the merge decided.
  case record(ListRecord)
  /// A record in conflict, in all versions; `nil` for a version without it.
  case conflict(base: ListRecord?, local: ListRecord?, remote: ListRecord?)

  /// The record in each version of the list; `nil` for a version without it.
  var versions: (base: ListRecord?, local: ListRecord?, remote: ListRecord?) {
    switch self {
    case .record(let record): return (record, record, record)
    case .conflict(let base, let local, let remote): return (base, local, remote)
    }
  }

  var isConflict: Bool { if case .conflict = self { true } else { false } }

  /// True if every resolution of the list has the record.
  var isCertain: Bool { versions.local != nil && versions.remote != nil }
}

extension ListText {
  /// Writes the parts of a list that was merged from this list and another one, in this list's format
  /// and layout.
  ///
  /// The text of a record or field is copied from this list if the record of the same key has an
  /// equal value there, or else from the other list. Other values are written anew. This list's own
  /// records yield its text unchanged, unless the other list changed comments. A conflict is written in
  /// both versions, between lines with the markers of git.
  ///
  /// - Parameter showsBase: True to write the base of each conflict too, as git does with `diff3`.
  /// - Complexity: O(*n*) in the bytes of the texts.
  func text(
    of parts: [MergedPart], key: [String], base: ListText?, other: ListText, showsBase: Bool
  ) -> [UInt8] {
    let isSame = hasOriginalColumns && isSame(as: parts)
    if isSame, csv.comment == nil { return bytes }
    let (local, remote) = (TextSide(self, key: key), TextSide(other, key: key))
    let comments = CommentMerge(
      base: base.map { TextSide($0, key: key) }, local: local, remote: remote)
    if isSame, !comments.choices(for: parts).contains(.remote) { return bytes }
    let writer = MergedTextWriter(
      local: local, remote: remote, comments: comments, showsBase: showsBase)
    switch format {
    case .json: return writer.array(of: parts)
    case .ndjson: return mark + writer.lines(of: parts, lineEnd: lineEnd, writer.object)
    case .csv, .tsv: return mark + writer.csv(of: parts)
    }
  }

  /// True if this list and another one changed comments of CSV at the same place of a merged list, in
  /// different ways.
  func hasDisputedComments(
    of parts: [MergedPart], key: [String], base: ListText?, other: ListText
  ) -> Bool {
    guard format.isCSV, csv.comment != nil else { return false }
    let comments = CommentMerge(
      base: base.map { TextSide($0, key: key) }, local: TextSide(self, key: key),
      remote: TextSide(other, key: key))
    return comments.choices(for: parts).contains(.disputed)
  }

  /// The byte order mark of the text; empty if there is none.
  private var mark: [UInt8] { bytes.starts(with: ASCII.byteOrderMark) ? ASCII.byteOrderMark : [] }

  private func isSame(as parts: [MergedPart]) -> Bool {
    parts.count == records.count
      && zip(parts, records).allSatisfy { part, record in
        if case .record(let merged) = part { merged == record } else { false }
      }
  }

  /// The line end of the first line, which is the header of CSV.
  var lineEnd: [UInt8] {
    let start = lines.first?.upperBound ?? 0
    if format.isCSV, start + 1 < bytes.count, bytes[start] == ASCII.carriageReturn,
      bytes[start + 1] != ASCII.lineFeed
    {
      return [ASCII.carriageReturn]
    }
    let lineFeed = bytes[start...].firstIndex(of: ASCII.lineFeed) ?? 0
    let hasReturn = lineFeed > 0 && bytes[lineFeed - 1] == ASCII.carriageReturn
    return hasReturn ? [ASCII.carriageReturn, ASCII.lineFeed] : [ASCII.lineFeed]
  }
}
