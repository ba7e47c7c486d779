import TandemDifferences

/// The merge of the comment lines of CSV.
///
/// Comment lines belong to the row below them. They are those of the side that changed them.
struct CommentMerge {
  private let base: TextSide?
  private let local: TextSide
  /// `nil` if its comments begin with another character.
  private let remote: TextSide?

  /// The line below comment lines, or the end of the text.
  enum Anchor {
    case header
    case row(ListRecord)
    case end
  }

  /// The version whose comment lines the merged list has.
  enum Decision {
    case local, remote
    /// Both sides changed the lines in different ways. Those of local stay.
    case disputed
    /// One side changed the lines, and the other one deleted the row below them.
    case lost
  }

  init(base: TextSide?, local: TextSide, remote: TextSide) {
    func isLike(_ side: TextSide) -> Bool { side.list.csv.comment == local.list.csv.comment }
    self.base = base.flatMap { isLike($0) ? $0 : nil }
    self.local = local
    self.remote = isLike(remote) ? remote : nil
  }

  /// Returns the decision on the lines above an anchor that the merged list has. Without a character
  /// for comments, there are empty lines only, which do not count.
  private func decision(above anchor: Anchor) -> Decision {
    guard let remote, remote.comments(above: anchor) != nil else { return .local }
    guard local.comments(above: anchor) != nil else { return .remote }
    guard local.list.csv.comment != nil else { return .local }
    let ours = local.commentLines(above: anchor)
    let theirs = remote.commentLines(above: anchor)
    guard ours != theirs else { return .local }
    let former = base?.commentLines(above: anchor) ?? []
    return former == theirs ? .local : former == ours ? .remote : .disputed
  }

  /// Returns the lines above an anchor in the merged list, or in one version. They are as local has
  /// them, or with its line ends.
  func text(above anchor: Anchor, in version: MergeError.Side? = nil) -> [UInt8] {
    let side: TextSide?
    switch version ?? (decision(above: anchor) == .remote ? .remote : .local) {
    case .local: return Array(local.comments(above: anchor) ?? [])
    case .remote: side = remote
    case .base: side = base
    }
    return (side?.commentLines(above: anchor) ?? []).flatMap { $0 + local.list.lineEnd }
  }

  /// Returns the decisions on all comment lines of CSV, for a merged list of these parts.
  func decisions(for parts: [MergedPart]) -> Set<Decision> {
    guard local.list.csv.comment != nil else { return [] }
    let records = parts.compactMap { $0.versions.local ?? $0.versions.remote }
    var decisions = Set(([.header, .end] + records.map { .row($0) }).map(decision))
    let kept = Set(records.map { local.list.key(of: $0, local.key) })
    let hasLost = [local, remote].contains { side in
      side.map { hasLostLines($0, above: $0.positions.filter { !kept.contains($0.key) }) } ?? false
    }
    if hasLost { decisions.insert(.lost) }
    return decisions
  }

  /// True if a version changed comment lines above rows that the merged list lacks.
  private func hasLostLines(_ side: TextSide, above deleted: [RecordKey: Int]) -> Bool {
    deleted.values.contains { position in
      let anchor = Anchor.row(side.list.records[position])
      let lines = side.commentLines(above: anchor) ?? []
      return lines.contains { !$0.isEmpty } && lines != base?.commentLines(above: anchor) ?? []
    }
  }
}

extension TextSide {
  /// The comments and empty lines above an anchor; `nil` if the list does not have it.
  fileprivate func comments(above anchor: CommentMerge.Anchor) -> ArraySlice<UInt8>? {
    guard !list.lines.isEmpty else { return nil }
    switch anchor {
    case .header: return list.comments(beforeRow: 0)
    case .row(let record): return position(of: record).map { list.comments(beforeRow: $0 + 1) }
    case .end:
      // The last row may end in another way than the first.
      let tail = list.bytes[list.lines[list.lines.count - 1].upperBound...]
      return tail.dropFirst(tail.starts(with: [ASCII.carriageReturn, ASCII.lineFeed]) ? 2 : 1)
    }
  }

  /// The same lines without their ends.
  fileprivate func commentLines(above anchor: CommentMerge.Anchor) -> [ArraySlice<UInt8>]? {
    comments(above: anchor).map { comments in
      var lines = comments.split(
        separator: list.lineEnd[list.lineEnd.count - 1], omittingEmptySubsequences: false)
      if lines.last?.isEmpty == true { lines.removeLast() }
      return lines.map { $0.last == ASCII.carriageReturn ? $0.dropLast() : $0 }
    }
  }
}
