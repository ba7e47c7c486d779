/// The two sides of a mirror: a source, and a destination that ``OneWayMirror`` makes equal to it.
///
/// Four closures are required: they list both sides, transfer an item, and remove items.
///
/// A run takes these steps, in this order: ``begin``; ``local`` and ``list``, which list both sides;
/// ``itemsToUpdate`` or ``needsUpdate``, and ``lossCount``; ``prepare``; ``transfer`` for each item in
/// each stage; ``remove``; ``end``.
///
/// Every step may throw; ``MirrorOptions`` decide what follows. The steps are taken one after the
/// other, except that several transfers run concurrently. Cancelling a run cancels the task of the
/// current step; the step should throw soon, and the run waits for it. A step may call
/// ``OneWayMirror/requestRun()``, but must not wait for another run.
public struct MirrorProcessor<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// Lists the source's items, in the order of their transfers unless ``order`` changes it. Items
  /// are compared by their identities alone.
  public var list: @Sendable () async throws -> MirrorPages<Item> = { MirrorPages([]) }
  /// Lists the identities that the destination has: before the source, unless both sides are sorted.
  /// Then both are listed in step.
  public var local: @Sendable () async throws -> MirrorPages<Item.ID> = { MirrorPages([]) }
  /// Transfers one stage of an item. Called by several tasks at a time, for different items.
  public var transfer: @Sendable (Item, MirrorStage, MirrorTransferProgress) async throws -> Void
  /// Removes the items of these identities, which are in the order of ``local``. Called at most once
  /// per run, and only with at least one identity.
  public var remove: @Sendable ([Item.ID]) async throws -> Void

  /// The first step of each run. Does nothing by default.
  public var begin: @Sendable () async throws -> Void = {}
  /// Returns true if an item that the destination has must be transferred again. False by default.
  public var needsUpdate: @Sendable (Item) async throws -> Bool = { _ in false }
  /// Returns the offsets of those given items that must be transferred again; the destination has
  /// all of them. Called once for each page of the source that has any, in place of ``needsUpdate``.
  /// An offset that no given item has is ignored.
  public var itemsToUpdate: (@Sendable ([Item]) async throws -> [Int])?
  /// The number of the given items, all of which are transferred, that lose some content by it.
  /// ``MirrorGuard`` counts them as if they were removed. 0 by default.
  public var lossCount: @Sendable ([Item]) async throws -> Int = { _ in 0 }
  /// The order value of an item. Items are transferred ascending by it; items of equal value, in the
  /// order of the source. 0 by default.
  public var order: @Sendable (Item) -> Int = { _ in 0 }
  /// Takes the items to transfer, in order, even if there are none, and returns the items that are
  /// transferred, in their order: the same ones by default.
  ///
  /// Items that it leaves out count as skipped. Items that it adds are transferred too;
  /// ``MirrorGuard`` does not know them. The run ends if it returns two items of one identity.
  public var prepare: @Sendable ([Item]) async throws -> [Item] = { $0 }
  /// The last step: called with the report once for each call of ``begin``, whatever the outcome of
  /// the run, even if ``begin`` threw. Cancelling the run does not cancel its task. An error makes
  /// the run a failed one. Does nothing by default.
  public var end: @Sendable (MirrorReport<Item.ID>) async throws -> Void = { _ in }
  /// The maximum number of transfers that may run at a time, whatever the options allow: any number
  /// by default. Set a bound if each transfer holds files or connections open.
  public var maxTransferCount = Int.max

  /// A processor with the steps that every mirror needs.
  public init(
    list: @escaping @Sendable () async throws -> MirrorPages<Item>,
    local: @escaping @Sendable () async throws -> MirrorPages<Item.ID>,
    transfer: @escaping @Sendable (Item, MirrorStage, MirrorTransferProgress) async throws -> Void,
    remove: @escaping @Sendable ([Item.ID]) async throws -> Void
  ) {
    self.init(transfer: transfer, remove: remove)
    self.list = list
    self.local = local
  }

  /// A processor without lists, for runs whose plan another comparison makes.
  package init(
    transfer: @escaping @Sendable (Item, MirrorStage, MirrorTransferProgress) async throws -> Void,
    remove: @escaping @Sendable ([Item.ID]) async throws -> Void
  ) {
    self.transfer = transfer
    self.remove = remove
  }

  /// Performs one run and returns its report, however the run ended. Cancelling the task cancels
  /// the run.
  ///
  /// - Parameters:
  ///   - options: The options of the run. Its concurrency is bounded by ``maxTransferCount``.
  ///   - clock: Measures timeouts, the waiting between attempts, and the time transfers take.
  ///   - chance: Draws a number from 0 to 1 for the jitter of each waiting.
  ///   - publish: Called with each phase, in order. It must not block.
  ///   - plan: Lists both sides and compares them, and publishes by `listed` how many items of the
  ///     source have been listed so far. It throws a ``MirrorFailure`` to name the step that failed;
  ///     any other error is one of listing. The run refuses the plan if it has duplicates or deletes
  ///     more than the options allow.
  package func run(
    _ options: MirrorOptions, clock: any Clock<Duration> = ContinuousClock(),
    chance: @escaping @Sendable () async -> Double = { .random(in: 0...1) },
    publish: @escaping @Sendable (MirrorPhase) -> Void = { _ in },
    plan: @escaping @Sendable (_ listed: @Sendable (Int) -> Void) async throws -> MirrorPlan<Item>
  ) async -> MirrorReport<Item.ID> {
    var options = options
    options.concurrency = max(1, min(options.maxTransferCount, maxTransferCount))
    let driver = MirrorRunDriver(
      self, plan, options: options, clock: clock, chance: chance, publish: publish)
    return await driver.run()
  }
}
