/// Decides whether a run may go ahead, knowing how much it would delete.
public struct MirrorGuard: Hashable, Sendable {
  /// The limit, or `nil` for ``MirrorDeletionLimit/standard`` on destinations of more than
  /// ``MirrorDeletionLimit/maxUnguardedCount`` elements.
  public var deletionLimit: MirrorDeletionLimit?
  /// Whether an empty source is taken at its word: it then empties the destination.
  public var allowsEmptySource: Bool

  /// A guard with the given exceptions; without any, the careful one.
  public init(deletionLimit: MirrorDeletionLimit? = nil, allowsEmptySource: Bool = false) {
    self.deletionLimit = deletionLimit
    self.allowsEmptySource = allowsEmptySource
  }

  /// Why a run may not go ahead, or `nil` if it may.
  ///
  /// An empty source is refused, whatever the destination holds, unless it is allowed or an explicit
  /// limit covers every element that is there.
  ///
  /// - Parameters:
  ///   - sourceCount: How many elements the source has.
  ///   - existingCount: How many the destination has.
  ///   - deletionCount: How many the run would delete.
  ///   - lossCount: How many more would stay, but lose some content; they count as if deleted.
  public func refusal(
    sourceCount: Int, existingCount: Int, deletionCount: Int, lossCount: Int = 0
  ) -> MirrorError? {
    if sourceCount == 0 {
      let isCovered = deletionLimit.map { $0.maxDeletionCount(of: existingCount) >= existingCount }
      if allowsEmptySource || (isCovered == true && existingCount > 0) { return nil }
      let consequence =
        existingCount > 0 ? ", and mirroring it would delete all \(existingCount) rows" : ""
      return MirrorError(
        .emptySource,
        "the source is empty\(consequence); if that is right, allow an empty source",
        deletionCount: existingCount)
    }
    if deletionLimit == nil, existingCount <= MirrorDeletionLimit.maxUnguardedCount { return nil }
    let limit = deletionLimit ?? .standard
    let count = deletionCount + lossCount
    guard count > limit.maxDeletionCount(of: existingCount) else { return nil }
    let losses = lossCount > 0 ? ", and the contents of \(lossCount) others" : ""
    return MirrorError(
      .tooManyDeletions,
      "mirroring would delete \(deletionCount) of \(existingCount) rows\(losses), more than the "
        + "limit of \(limit); if that is right, allow \(count)", deletionCount: count)
  }
}
