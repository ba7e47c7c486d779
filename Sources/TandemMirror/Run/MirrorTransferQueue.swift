/// The order of a run's transfers: each item, by number, in each stage.
///
/// A value without items or time. It stores how far the transfers are, not a list of those left.
struct MirrorTransferQueue: Hashable, Sendable {
  /// An attempt to transfer a stage of an item; both are numbered from 0, attempts from 1.
  struct Transfer: Hashable, Sendable {
    var item: Int
    var stage: Int
    var attempt = 1
  }

  let itemCount: Int
  let errorPolicies: [MirrorErrorPolicy]
  let order: MirrorStageOrder
  let maxInFlightCount: Int

  /// The stage in which new items are started.
  private(set) var stage = 0
  private var nextItem = 0
  /// The next transfers of items that have finished a stage; at most ``maxInFlightCount`` of them.
  private var advancing: [Transfer] = []
  /// Items that failed in a stage whose policy is ``MirrorErrorPolicy/skipItem``.
  private var skippedItems: Set<Int> = []
  /// The number of transfers under way, including those that wait for another attempt.
  private(set) var inFlightCount = 0
  /// True if no further transfer is started.
  private(set) var isStopped = false
  private(set) var doneCount = 0
  private(set) var failedCount = 0
  private(set) var totalCount: Int
  /// True if any transfer has failed so far, in any stage.
  private(set) var hasFailures = false
  /// True if a transfer failed or was abandoned after the queue was stopped.
  private(set) var isCutShort = false

  init(
    itemCount: Int, errorPolicies: [MirrorErrorPolicy], order: MirrorStageOrder,
    maxInFlightCount: Int = 1
  ) {
    self.itemCount = itemCount
    self.errorPolicies = errorPolicies
    self.order = order
    self.maxInFlightCount = max(1, maxInFlightCount)
    switch order {
    case .stageByStage: totalCount = errorPolicies.isEmpty ? 0 : itemCount
    case .itemByItem: totalCount = itemCount.multipliedClamped(by: errorPolicies.count)
    }
  }

  /// True if nothing is left to start or to wait for.
  var isFinished: Bool { inFlightCount == 0 && (isStopped || isDone) }

  /// True if all transfers of all stages are done.
  var isDone: Bool {
    guard doneCount == totalCount else { return false }
    switch order {
    case .stageByStage: return totalCount == 0 || stage >= errorPolicies.count - 1
    case .itemByItem: return true
    }
  }

  /// Stops the queue: no further transfer is started.
  mutating func stop() { isStopped = true }

  /// The next transfer to start now, if any.
  mutating func start() -> Transfer? {
    guard !isStopped, inFlightCount < maxInFlightCount, let transfer = next() else { return nil }
    inFlightCount += 1
    return transfer
  }

  private mutating func next() -> Transfer? {
    if !advancing.isEmpty { return advancing.removeFirst() }
    guard stage < errorPolicies.count else { return nil }
    while nextItem < itemCount {
      defer { nextItem += 1 }
      if !skippedItems.contains(nextItem) { return Transfer(item: nextItem, stage: stage) }
    }
    return nil
  }

  /// Takes a transfer that was completed or has failed without a further attempt.
  mutating func finish(_ transfer: Transfer, isFailed: Bool) {
    inFlightCount -= 1
    doneCount += 1
    if isFailed { fail(transfer) }
    guard order == .itemByItem else { return }
    let rest = errorPolicies.count - transfer.stage - 1
    if isFailed, errorPolicies[transfer.stage] == .skipItem {
      totalCount -= rest
    } else if rest > 0 {
      advancing.append(Transfer(item: transfer.item, stage: transfer.stage + 1))
    }
  }

  /// Takes a transfer that was abandoned because the run ends.
  mutating func abandon() {
    inFlightCount -= 1
    isCutShort = true
  }

  private mutating func fail(_ transfer: Transfer) {
    failedCount += 1
    hasFailures = true
    if isStopped { isCutShort = true }
    switch errorPolicies[transfer.stage] {
    case .stop: stop()
    case .skipItem: if order == .stageByStage { skippedItems.insert(transfer.item) }
    case .continue: break
    }
  }

  /// Goes on to the next stage if this one is done and another one follows. Returns true if that
  /// stage has items.
  mutating func endStage() -> Bool {
    guard order == .stageByStage, !isStopped, !isDone, doneCount == totalCount else { return false }
    stage += 1
    (nextItem, doneCount, failedCount) = (0, 0, 0)
    totalCount = itemCount - skippedItems.count
    return totalCount > 0
  }
}

extension Int {
  /// The product, or the nearest number that `Int` can hold.
  fileprivate func multipliedClamped(by other: Int) -> Int {
    let (product, isOverflow) = multipliedReportingOverflow(by: other)
    return isOverflow ? .max : product
  }
}
