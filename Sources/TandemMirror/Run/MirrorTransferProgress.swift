internal import Synchronization

/// The bytes that an attempt at a transfer has received so far.
///
/// Any thread may add bytes, without blocking. They are published with the run's progress and
/// counted in its report.
public final class MirrorTransferProgress: Sendable {
  /// The number of this attempt, counted from 1.
  public let attempt: Int
  private let count = Atomic<Int>(0)
  private let added: @Sendable (Int) -> Void

  /// The progress of an attempt; `added` is called with each number of bytes that is added.
  public init(attempt: Int = 1, added: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.attempt = attempt
    self.added = added
  }

  /// Adds received bytes; ignores a number that is not positive.
  public func add(byteCount: Int) {
    guard byteCount > 0 else { return }
    count.wrappingAdd(byteCount, ordering: .relaxed)
    added(byteCount)
  }

  /// The sum of all bytes added.
  public var byteCount: Int { count.load(ordering: .relaxed) }
}
