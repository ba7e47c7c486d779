internal import TandemSQLite

/// The changes of a result that a run has not taken yet.
///
/// With the delivery `latest`, changes that wait become one: it is as large as the rows that differ.
struct Mailbox<Change: LiveChange> {
  /// The most changes that wait with the delivery `everyCommit`.
  static var maxCount: Int { 10_000 }
  /// The number of single changes that wait before they become one for the first time. After that,
  /// their number doubles until the next time.
  static var minComposedCount: Int { 1_024 }

  private let delivery: LiveDelivery
  /// True if the first change leads from no rows to the present ones; false if it is empty.
  let needsStart: Bool
  /// True if the run has got its first change.
  private(set) var hasStarted = false
  /// True if the first change is that one, which is delivered by itself.
  private var holdsStart = false
  private var changes: ArraySlice<Change> = []
  private var singleCount = 0
  private var singleLimit = Mailbox.minComposedCount
  /// The error that follows the changes.
  var failure: (any Error)?
  /// Resumed when there is something to take.
  var waiter: CheckedContinuation<Void, Never>?
  /// True if the run waits no more.
  var isCancelled = false

  init(_ delivery: LiveDelivery, needsStart: Bool = true) {
    self.delivery = delivery
    self.needsStart = needsStart
  }

  var isEmpty: Bool { changes.isEmpty }
  /// The number of changes, which is that of the deliveries if the delivery is `everyCommit`.
  var count: Int { changes.count }

  /// Takes the changes of the next element: some that are composable, or none.
  mutating func take() -> [Change] {
    guard let first = changes.first else { return [] }
    var count = 1
    if delivery == .latest, !holdsStart {
      while count < changes.count,
        first.isComposable(with: changes[changes.startIndex + count])
      {
        count += 1
      }
    }
    holdsStart = false
    let taken = Array(changes.prefix(count))
    changes.removeFirst(count)
    // A slice keeps the elements before it, such as a first change with all rows.
    if changes.isEmpty { changes = [] }
    singleCount = changes.reduce(0) { $0 + $1.count }
    return taken
  }

  /// Adds the first change.
  mutating func start(_ change: Change) {
    hasStarted = true
    holdsStart = true
    changes.append(change)
  }

  /// Adds a later change.
  mutating func append(_ change: Change) {
    changes.append(change)
    guard delivery == .latest else { return }
    singleCount += change.count
    if singleCount > singleLimit { compose() }
  }

  private mutating func compose() {
    var mailbox = self
    var composed: [Change] = []
    while !mailbox.isEmpty { composed.append(.composing(mailbox.take())) }
    changes = composed[...]
    singleCount = composed.reduce(0) { $0 + $1.count }
    singleLimit = max(Mailbox.minComposedCount, 2 * singleCount)
  }

  mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
    defer { waiter = nil }
    return waiter
  }
}
