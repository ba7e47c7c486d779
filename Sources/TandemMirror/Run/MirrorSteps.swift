/// The steps of a run, which ``run(_:clock:chance:publish:)`` takes in order.
///
/// ``begin()`` comes first, then ``plan(listed:)``, ``prepare(_:)``, the transfers and
/// ``remove(_:)``, and ``end(_:)`` last, once for each ``begin()``. Steps are taken one after the
/// other; transfers run several at a time. When the run is cancelled, so is the task of the step
/// under way, and the run waits for the step to return or throw. ``end(_:)`` alone is not
/// cancelled.
package protocol MirrorSteps<Item>: Sendable {
  /// An element of the source.
  associatedtype Item: Identifiable & Sendable where Item.ID: Sendable

  /// The maximum number of transfers that may run at a time, whatever the options allow. Any number
  /// by default.
  var maxTransferCount: Int { get }

  /// The first step.
  func begin() async throws

  /// Lists both sides and compares them. The run refuses the plan if it has duplicates or deletes
  /// more than ``MirrorOptions`` allow.
  ///
  /// - Parameter listed: Publishes how many items of the source have been listed so far.
  /// - Throws: A ``MirrorFailure`` to name the step that failed; any other error is one of listing.
  func plan(listed: @Sendable (_ sourceCount: Int) -> Void) async throws -> MirrorPlan<Item>

  /// Takes the items to transfer, in order, even if there are none, and returns those that are
  /// transferred, in their order.
  func prepare(_ items: [Item]) async throws -> [Item]

  /// Transfers one stage of an item. Called by several tasks at a time, for different items.
  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws

  /// Removes the items of these identities. Called at most once per run, and only with at least
  /// one.
  func remove(_ ids: [Item.ID]) async throws

  /// The last step, whatever the outcome of the others.
  func end(_ report: MirrorReport<Item.ID>) async throws
}

extension MirrorSteps {
  /// Any number.
  package var maxTransferCount: Int { .max }

  /// Takes all items in order.
  package func prepare(_ items: [Item]) async throws -> [Item] { items }

  /// Performs one run and returns its report, however the run ended. Cancelling the task cancels
  /// the run.
  ///
  /// - Parameters:
  ///   - options: The options of the run. Its concurrency is bounded by ``maxTransferCount``.
  ///   - clock: Measures timeouts, the waiting between attempts, and the time transfers take.
  ///   - chance: Draws a number from 0 to 1 for the jitter of each waiting.
  ///   - publish: Called with each phase, in order. It must not block.
  package func run(
    _ options: MirrorOptions, clock: any Clock<Duration> = ContinuousClock(),
    chance: @escaping @Sendable () async -> Double = { .random(in: 0...1) },
    publish: @escaping @Sendable (MirrorPhase) -> Void = { _ in }
  ) async -> MirrorReport<Item.ID> {
    var options = options
    options.concurrency = max(1, min(options.maxTransferCount, maxTransferCount))
    let driver = MirrorRunDriver(
      self, options: options, clock: clock, chance: chance, publish: publish)
    return await driver.run()
  }
}
