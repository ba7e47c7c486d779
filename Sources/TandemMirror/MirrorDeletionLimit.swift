/// How many elements one run may delete before it is refused: a guard against a source that lost its
/// contents, answered with a part, or is the wrong one.
public enum MirrorDeletionLimit: Hashable, Sendable {
  /// At most so many elements.
  case count(Int)
  /// At most this percentage, from 0 to 100, of the elements that are there.
  case percentage(Double)

  /// Half of the elements.
  public static let standard = MirrorDeletionLimit.percentage(50)

  /// A destination of at most this many elements is not guarded by ``standard``: half of a short list
  /// is soon gone for good reasons.
  public static let maxUnguardedCount = 20

  /// The most elements that may be deleted from `existingCount`.
  public func maxDeletionCount(of existingCount: Int) -> Int {
    switch self {
    case .count(let count): return max(0, count)
    case .percentage(let percentage):
      let share = Double(max(0, existingCount)) * min(max(percentage, 0), 100) / 100
      return Int(share.rounded(.down))
    }
  }
}

extension MirrorDeletionLimit: LosslessStringConvertible {
  /// Reads `10` as a count and `50%` as a percentage from 0 to 100; `nil` for anything else.
  public init?(_ description: String) {
    if description.hasSuffix("%") {
      guard let percentage = Double(description.dropLast()), (0...100).contains(percentage) else {
        return nil
      }
      self = .percentage(percentage)
    } else {
      guard let count = Int(description), count >= 0 else { return nil }
      self = .count(count)
    }
  }

  /// The limit as it is read: `10` or `50.0%`.
  public var description: String {
    switch self {
    case .count(let count): return "\(count)"
    case .percentage(let percentage):
      return percentage == percentage.rounded() ? "\(Int(percentage))%" : "\(percentage)%"
    }
  }
}
