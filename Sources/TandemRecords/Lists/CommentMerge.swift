/// The merge of the comment lines of CSV.
///
/// Comment lines belong to the row below them. They are those of the side that changed them.
struct CommentMerge {
  private let base: TextSide?
  private let local: TextSide
  /// `nil` if its comments begin with another character.
  private let remote: TextSide?

  enum Place {
    case header
    case row(ListRecord)
    case end
  }

  enum Choice {
    case local, remote
    /// Both sides changed the lines in different ways. Those of local stay.
    case disputed
  }

  init(base: TextSide?, local: TextSide, remote: TextSide) {
    func isLike(_ side: TextSide) -> Bool { side.list.csv.comment == local.list.csv.comment }
    self.base = base.flatMap { isLike($0) ? $0 : nil }
    self.local = local
    self.remote = isLike(remote) ? remote : nil
  }

  /// Returns the side whose lines the merged list has at a place. Without a character for comments,
  /// there are empty lines only, which do not count.
  func choice(at place: Place) -> Choice {
    guard let remote, remote.comments(at: place) != nil else { return .local }
    guard local.comments(at: place) != nil else { return .remote }
    guard local.list.csv.comment != nil else { return .local }
    let (ours, theirs) = (local.commentLines(at: place), remote.commentLines(at: place))
    guard ours != theirs else { return .local }
    let former = base?.commentLines(at: place) ?? []
    return former == theirs ? .local : former == ours ? .remote : .disputed
  }

  /// Returns the lines at a place, as local has them or with its line ends.
  func text(at place: Place) -> [UInt8] {
    guard choice(at: place) == .remote else { return Array(local.comments(at: place) ?? []) }
    return (remote?.commentLines(at: place) ?? []).flatMap { $0 + local.list.lineEnd }
  }

  /// Returns the choices at all places of a merged list.
  func choices(for parts: [MergedPart]) -> Set<Choice> {
    let records = parts.compactMap { $0.versions.local ?? $0.versions.remote }
    return Set(([.header, .end] + records.map { .row($0) }).map(choice))
  }
}

extension TextSide {
  /// The comments and empty lines at a place; `nil` if the list does not have it.
  fileprivate func comments(at place: CommentMerge.Place) -> ArraySlice<UInt8>? {
    guard !list.lines.isEmpty else { return nil }
    switch place {
    case .header: return list.comments(beforeRow: 0)
    case .row(let record):
      // A base of several ancestors has records that its text lacks.
      guard let position = position(of: record), position + 1 < list.lines.count else { return nil }
      return list.comments(beforeRow: position + 1)
    case .end:
      let tail = list.bytes[list.lines[list.lines.count - 1].upperBound...]
      return tail.starts(with: list.lineEnd) ? tail.dropFirst(list.lineEnd.count) : []
    }
  }

  /// The same lines without their ends.
  fileprivate func commentLines(at place: CommentMerge.Place) -> [ArraySlice<UInt8>]? {
    comments(at: place).map { comments in
      var lines = comments.split(
        separator: list.lineEnd[list.lineEnd.count - 1], omittingEmptySubsequences: false)
      if lines.last?.isEmpty == true { lines.removeLast() }
      guard list.lineEnd.count > 1 else { return lines }
      return lines.map { $0.last == ASCII.carriageReturn ? $0.dropLast() : $0 }
    }
  }
}
