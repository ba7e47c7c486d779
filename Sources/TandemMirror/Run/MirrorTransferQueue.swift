/// Which transfer is next: items, by number, in each of the stages.
///
/// A value that knows neither items nor time. It holds no list of what is left, only how far it is.
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

  /// The stage that new items are started in.
  private(set) var stage = 0
  private var nextItem = 0
  /// Items that were started and may now go on to a further stage: at most as many as are in flight.
  private var advancing: [Transfer] = []
  /// Items that failed in a stage that leaves out the further ones.
  private var skippedItems: Set<Int> = []
  /// How many transfers are under way, those that wait for another attempt included.
  private(set) var inFlightCount = 0
  /// Whether no further transfer is started.
  private(set) var isStopped = false
  private(set) var doneCount = 0
  private(set) var failedCount = 0
  private(set) var totalCount: Int
  /// Whether any transfer failed so far, in whichever stage.
  private(set) var hasFailures = false
  /// Whether a transfer failed or was given up after the queue was stopped.
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

  /// Whether nothing is left to start or to wait for.
  var isFinished: Bool { inFlightCount == 0 && (isStopped || isDone) }

  /// Whether all transfers of all stages are done.
  var isDone: Bool {
    guard doneCount == totalCount else { return false }
    switch order {
    case .stageByStage: return totalCount == 0 || stage >= errorPolicies.count - 1
    case .itemByItem: return true
    }
  }

  /// Starts nothing any more.
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

  /// Takes a transfer that was completed or has failed for good.
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

  /// Takes a transfer that was given up because the run ends.
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

  /// Goes on to the next stage if this one is done and has a successor with items; returns whether
  /// it did.
  mutating func endStage() -> Bool {
    guard order == .stageByStage, !isStopped, !isDone, doneCount == totalCount else { return false }
    stage += 1
    (nextItem, doneCount, failedCount) = (0, 0, 0)
    totalCount = itemCount - skippedItems.count
    return totalCount > 0
  }
}

extension Int {
  /// The product, or the nearest number there is.
  fileprivate func multipliedClamped(by other: Int) -> Int {
    let (product, isOverflow) = multipliedReportingOverflow(by: other)
    return isOverflow ? .max : product
  }
}
