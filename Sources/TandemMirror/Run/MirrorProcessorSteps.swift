/// The steps of a run of a ``MirrorProcessor``: plans by listing both sides page by page; all other
/// steps are the processor's own.
@usableFromInline
struct MirrorProcessorSteps<Processor: MirrorProcessor>: MirrorSteps {
  @usableFromInline typealias Item = Processor.Item

  let processor: Processor
  private let planner: @Sendable () -> MirrorPlanner<Item>

  @usableFromInline
  init(_ processor: Processor, planner: @escaping @Sendable () -> MirrorPlanner<Item>) {
    self.processor = processor
    self.planner = planner
  }

  var maxTransferCount: Int { processor.maxTransferCount }

  func begin() async throws { try await processor.begin() }

  func prepare(_ items: [Item]) async throws -> [Item] {
    try await processor.prepare(items)
  }

  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    try await processor.transfer(item, in: stage, progress: progress)
  }

  func remove(_ ids: [Item.ID]) async throws { try await processor.remove(ids) }

  func end(_ report: MirrorReport<Item.ID>) async throws {
    try await processor.end(report)
  }
}

// MARK: - Planning

extension MirrorProcessorSteps {
  /// Lists both sides, page by page, and asks the processor which items need an update.
  ///
  /// - Throws: ``MirrorFailure``, which names the step.
  func plan(
    listed: @Sendable (_ sourceCount: Int) -> Void
  ) async throws -> MirrorPlan<Item> {
    var planner = planner()
    var local = try await attempt(.localIDs) { try await $0.localIDs() }.makeAsyncIterator()
    var source: MirrorPages<Item>.Iterator?
    while true {
      switch planner.need {
      case .localIDs:
        let ids = try await next(&local, .localIDs)
        if let ids { planner.addLocalIDs(ids) } else { planner.endLocalIDs() }
      case .source:
        try await answer(&planner)
        var pages =
          if let source { source } else {
            try await attempt(.list) { try await $0.source() }.makeAsyncIterator()
          }
        let items = try await next(&pages, .list)
        source = pages
        if let items {
          planner.addSource(items)
          listed(planner.sourceCount)
        } else {
          planner.endSource()
        }
      case .nothing:
        if let violation = planner.violation { throw failure(.list, violation) }
        try await answer(&planner)
        return try await withLosses(planner.plan(order: processor.order))
      }
    }
  }

  private func withLosses(_ plan: MirrorPlan<Item>) async throws -> MirrorPlan<Item> {
    guard !plan.transfers.isEmpty else { return plan }
    var plan = plan
    let items = plan.transfers
    plan.lossCount = try await attempt(.compare) { try await $0.lossCount(among: items) }
    return plan
  }

  private func answer(_ planner: inout MirrorPlanner<Item>) async throws {
    let questions = planner.questions
    guard !questions.isEmpty else { return }
    planner.answer(try await attempt(.compare) { try await $0.itemsToUpdate(among: questions) })
  }

  private func next<Element>(
    _ pages: inout MirrorPages<Element>.Iterator, _ step: MirrorStep
  ) async throws -> [Element]? {
    do {
      try Task.checkCancellation()
      return try await pages.next()
    } catch {
      throw failure(step, error)
    }
  }

  private func attempt<Result: Sendable>(
    _ step: MirrorStep, _ body: @Sendable (Processor) async throws -> Result
  ) async throws -> Result {
    do {
      try Task.checkCancellation()
      return try await body(processor)
    } catch {
      throw failure(step, error)
    }
  }

  /// The failure of a step; a processor may name the step and the item itself.
  private func failure(_ step: MirrorStep, _ error: any Error) -> MirrorFailure<Item.ID> {
    error as? MirrorFailure<Item.ID> ?? MirrorFailure(step: step, error: error)
  }
}
