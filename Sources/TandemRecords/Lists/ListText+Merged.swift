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
  /// - Complexity: O(*n*) in the bytes of the texts.
  func text(of parts: [MergedPart], by writer: MergedTextWriter) -> [UInt8] {
    if hasOriginalColumns, isSame(as: parts),
      !writer.comments.decisions(for: parts).contains(.remote)
    {
      return bytes
    }
    switch format {
    case .json: return writer.array(of: parts)
    case .ndjson:
      return mark
        + writer.lines(of: parts, lineEnd: lineEnd) { record, _ in writer.object(of: record) }
    case .csv, .tsv: return mark + writer.csv(of: parts)
    }
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
