/// The rule by which a run is refused before it deletes too much.
public struct MirrorGuard: Hashable, Sendable {
  /// The limit, or `nil` for ``MirrorDeletionLimit/standard`` on destinations of more than
  /// ``MirrorDeletionLimit/maxUnguardedCount`` elements.
  public var deletionLimit: MirrorDeletionLimit?
  /// True if an empty source may empty the destination. An explicit limit holds all the same.
  public var allowsEmptySource: Bool

  /// A guard with the given exceptions; without any, the strictest one.
  public init(deletionLimit: MirrorDeletionLimit? = nil, allowsEmptySource: Bool = false) {
    self.deletionLimit = deletionLimit
    self.allowsEmptySource = allowsEmptySource
  }

  /// The reason to refuse a run, or `nil` if it may proceed.
  ///
  /// A destination without elements has nothing to lose: no run is refused. An empty source is
  /// refused unless it is allowed, or an explicit limit covers every element of the destination. An
  /// explicit limit holds in every case.
  ///
  /// - Parameters:
  ///   - sourceCount: The number of elements of the source.
  ///   - existingCount: The number of elements of the destination.
  ///   - deletionCount: The number of elements the run would delete.
  ///   - lossCount: The number of further elements that stay, but lose some content. They count as
  ///     if they were deleted.
  ///   - remark: A remark on the deletions for the message, which begins with a space.
  package func refusal(
    sourceCount: Int, existingCount: Int, deletionCount: Int, lossCount: Int = 0,
    remark: String = ""
  ) -> MirrorError? {
    guard existingCount > 0 else { return nil }
    if sourceCount == 0 {
      guard deletionLimit != nil || !allowsEmptySource else { return nil }
      let maxCount = deletionLimit?.maxDeletionCount(of: existingCount) ?? 0
      guard allowsEmptySource || maxCount >= existingCount else {
        let rows = existingCount == 1 ? "the only row" : "all \(existingCount) rows"
        return MirrorError(
          .emptySource,
          "the source is empty, and mirroring it would delete \(rows); "
            + "if that is right, allow it with `allowsEmptySource`", deletionCount: existingCount)
      }
    }
    if deletionLimit == nil, existingCount <= MirrorDeletionLimit.maxUnguardedCount { return nil }
    let limit = deletionLimit ?? .standard
    let count = deletionCount + lossCount
    guard count > limit.maxDeletionCount(of: existingCount) else { return nil }
    let losses = lossCount > 0 ? ", and the contents of \(lossCount) others" : ""
    return MirrorError(
      .tooManyDeletions,
      "mirroring would delete \(deletionCount) of \(existingCount) rows\(remark)\(losses), more than the "
        + "limit of \(limit); if that is right, allow them with `deletionLimit` \(count)",
      deletionCount: count)
  }
}

/// The maximum number of elements that one run may delete: a guard against a source that lost its
/// contents, that returned only a part of them, or that is the wrong one.
public enum MirrorDeletionLimit: Hashable, Sendable {
  /// At most so many elements.
  case count(Int)
  /// At most this percentage, from 0 to 100, of the elements that are there.
  case percentage(Double)

  /// Half of the elements.
  public static let standard = MirrorDeletionLimit.percentage(50)

  /// The size up to which a destination is not guarded by ``standard``: a short list often loses
  /// half of its elements for good reasons.
  public static let maxUnguardedCount = 20

  /// The maximum number of elements that may be deleted of `existingCount`, rounded down; 0 for a
  /// negative count and for a percentage that is not a number.
  public func maxDeletionCount(of existingCount: Int) -> Int {
    switch self {
    case .count(let count): return max(0, count)
    case .percentage(let percentage):
      // In this order, a NaN becomes 0.
      let share = Double(max(0, existingCount)) * min(100, max(0, percentage)) / 100
      return Int(exactly: share.rounded(.down)) ?? existingCount
    }
  }
}

extension MirrorDeletionLimit: LosslessStringConvertible {
  /// Reads `10` as a count and `50%` or `2.5%` as a percentage from 0 to 100. Any other text,
  /// including one with signs or spaces, gives `nil`.
  public init?(_ description: String) {
    // Numbers may also begin with signs, and Swift's with "0x", "nan" or "inf".
    guard let first = description.utf8.first, (48...57).contains(first),
      !description.utf8.contains(UInt8(ascii: "x"))
    else { return nil }
    if description.hasSuffix("%") {
      guard let percentage = Double(description.dropLast()), percentage <= 100 else { return nil }
      self = .percentage(percentage)
    } else {
      guard let count = Int(description) else { return nil }
      self = .count(count)
    }
  }

  /// The limit in the form that ``init(_:)`` reads: `10` or `50%`.
  public var description: String {
    switch self {
    case .count(let count): return "\(count)"
    case .percentage(let percentage):
      return Int(exactly: percentage).map { "\($0)%" } ?? "\(percentage)%"
    }
  }
}
