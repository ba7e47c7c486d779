internal import Synchronization

/// How a transfer tells what it has received so far.
///
/// Any thread may add; nothing waits. What is added is published with the run's progress, and ends up
/// in its report.
public final class MirrorTransferProgress: Sendable {
  /// Which attempt this is, counted from 1.
  public let attempt: Int
  private let count = Atomic<Int>(0)
  private let added: @Sendable (Int) -> Void

  /// The progress of an attempt; `added` is called with each number of bytes that is added.
  public init(attempt: Int = 1, added: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.attempt = attempt
    self.added = added
  }

  /// Says that `byteCount` more bytes have been received; ignored unless positive.
  public func add(byteCount: Int) {
    guard byteCount > 0 else { return }
    count.wrappingAdd(byteCount, ordering: .relaxed)
    added(byteCount)
  }

  /// The sum of all that was added.
  public var byteCount: Int { count.load(ordering: .relaxed) }
}
