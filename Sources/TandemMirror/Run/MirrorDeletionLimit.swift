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

  /// The most elements that may be deleted from `existingCount`: none for a negative count or a
  /// percentage that is no number. A share that is not whole is rounded down.
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
  /// Reads `10` as a count and `50%` or `2.5%` as a percentage from 0 to 100; `nil` for anything
  /// else, signs and spaces included.
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

  /// The limit as it is read: `10` or `50%`.
  public var description: String {
    switch self {
    case .count(let count): return "\(count)"
    case .percentage(let percentage):
      return Int(exactly: percentage).map { "\($0)%" } ?? "\(percentage)%"
    }
  }
}
