/// The steps of a run of a ``MirrorProcessor``: reads both sides page by page and compares their
/// identities; all other steps are the processor's own.
struct MirrorProcessorSteps<Processor: MirrorProcessor>: MirrorSteps {
  typealias Item = Processor.Item

  let processor: Processor

  var maxTransferCount: Int { processor.maxTransferCount }

  func begin() async throws { try await processor.begin() }

  func prepare(_ items: [Item]) async throws -> [Item] { try await processor.prepare(items) }

  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws {
    try await processor.transfer(item, in: stage, progress: progress)
  }

  func remove(_ ids: [Item.ID]) async throws { try await processor.remove(ids) }

  func end(_ report: MirrorReport<Item.ID>) async throws { try await processor.end(report) }
}

// MARK: - Planning

extension MirrorProcessorSteps {
  func plan(listed: @Sendable (_ sourceCount: Int) -> Void) async throws -> MirrorPlan<Item> {
    var planning = MirrorPlanning(processor.comparison)
    var local = try await attempt(.localIDs) { try await $0.localIDs() }.makeAsyncIterator()
    var source: MirrorPages<Item>.Iterator?
    while true {
      switch planning.need {
      case .localIDs:
        try await addLocalIDs(from: &local, to: &planning)
      case .source:
        try await answer(&planning)
        if source == nil {
          source = try await attempt(.list) { try await $0.source() }.makeAsyncIterator()
        }
        try await addSource(from: &source, to: &planning, listed: listed)
      case .nothing:
        if let violation = planning.violation { throw failure(.list, violation) }
        try await answer(&planning)
        return try await withLosses(planning.plan(order: processor.order))
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

  private func addLocalIDs(
    from pages: inout MirrorPages<Item.ID>.Iterator, to planning: inout MirrorPlanning<Item>
  ) async throws {
    do {
      try Task.checkCancellation()
      if let ids = try await pages.next() {
        planning.addLocalIDs(ids)
      } else {
        planning.endLocalIDs()
      }
    } catch {
      throw failure(.localIDs, error)
    }
  }

  private func addSource(
    from pages: inout MirrorPages<Item>.Iterator?, to planning: inout MirrorPlanning<Item>,
    listed: @Sendable (_ sourceCount: Int) -> Void
  ) async throws {
    do {
      try Task.checkCancellation()
      if let items = try await pages?.next() {
        planning.addSource(items)
        listed(planning.sourceCount)
      } else {
        planning.endSource()
      }
    } catch {
      throw failure(.list, error)
    }
  }

  private func answer(_ planning: inout MirrorPlanning<Item>) async throws {
    guard planning.hasQuestions else { return }
    let questions = planning.questions
    planning.answer(try await attempt(.compare) { try await $0.itemsToUpdate(among: questions) })
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

  private func failure(_ step: MirrorStep, _ error: any Error) -> MirrorFailure<Item.ID> {
    error as? MirrorFailure<Item.ID> ?? MirrorFailure(step: step, error: error)
  }
}
