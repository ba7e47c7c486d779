/// The two sides of a mirror: a source, and a destination that ``OneWayMirror`` makes equal to it.
///
/// Four closures are required: they list both sides, transfer an item, and remove items. The others
/// are the steps that a mirror may have besides.
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
  public var list: @Sendable () async throws -> MirrorPages<Item>
  /// Lists the identities that the destination has: before the source, unless both sides are sorted.
  /// Then both are listed in step.
  public var local: @Sendable () async throws -> MirrorPages<Item.ID>
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
    self.list = list
    self.local = local
    self.transfer = transfer
    self.remove = remove
  }
}

/// The steps of a run of a ``MirrorProcessor``, which plans by listing both sides page by page.
struct MirrorProcessorSteps<Item: Identifiable & Sendable>: MirrorSteps where Item.ID: Sendable {
  let processor: MirrorProcessor<Item>
  let planner: MirrorPlanner<Item>

  var maxTransferCount: Int { processor.maxTransferCount }

  func begin() async throws { try await processor.begin() }

  func prepare(_ items: [Item]) async throws -> [Item] { try await processor.prepare(items) }

  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    try await processor.transfer(item, stage, progress)
  }

  func remove(_ ids: [Item.ID]) async throws { try await processor.remove(ids) }

  func end(_ report: MirrorReport<Item.ID>) async throws { try await processor.end(report) }

  /// Lists both sides, page by page, and asks the processor which items need an update.
  ///
  /// - Throws: ``MirrorFailure``, which names the step.
  func plan(listed: @Sendable (_ sourceCount: Int) -> Void) async throws -> MirrorPlan<Item> {
    var planner = planner
    var ids = try await attempt(.localIDs, processor.local).makeAsyncIterator()
    func addLocalIDs() async throws {
      while planner.needsLocalIDs {
        planner.addLocalIDs(try await attempt(.localIDs) { try await ids.next() })
      }
      if let violation = planner.violation {
        throw MirrorFailure<Item.ID>(step: .list, error: violation)
      }
    }
    try await addLocalIDs()
    var pages = try await attempt(.list, processor.list).makeAsyncIterator()
    while let page = try await attempt(.list, { try await pages.next() }) {
      planner.addSource(page)
      listed(planner.sourceCount)
      try await addLocalIDs()
      let questions = planner.questions
      if questions.isEmpty { continue }
      planner.answer(try await attempt(.compare) { try await itemsToUpdate(among: questions) })
    }
    planner.addSource(nil)
    try await addLocalIDs()
    var plan = planner.plan(order: processor.order)
    let transfers = plan.transfers
    if !transfers.isEmpty {
      plan.lossCount = try await attempt(.compare) { try await processor.lossCount(transfers) }
    }
    return plan
  }

  private func itemsToUpdate(among items: [Item]) async throws -> [Int] {
    if let itemsToUpdate = processor.itemsToUpdate { return try await itemsToUpdate(items) }
    var offsets: [Int] = []
    for (offset, item) in items.enumerated() {
      do {
        if try await processor.needsUpdate(item) { offsets.append(offset) }
      } catch {
        throw MirrorFailure(step: .compare, id: item.id, error: error)
      }
    }
    return offsets
  }

  /// Takes a part of a step. Its failure names the step, unless the processor has named one itself.
  private func attempt<Result>(
    _ step: MirrorStep, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      try Task.checkCancellation()
      return try await body()
    } catch {
      throw error as? MirrorFailure<Item.ID> ?? MirrorFailure(step: step, error: error)
    }
  }
}
