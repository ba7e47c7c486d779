extension MirrorRunDriver {
  /// Lists both sides, page by page, and asks which items need an update.
  ///
  /// - Throws: ``MirrorFailure``, which names the step.
  func plan() async throws -> MirrorPlan<Item> {
    var planning = MirrorPlanning(processor.comparison)
    var local = try await attempt(.list) { try await $0.localIDs() }.makeAsyncIterator()
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
        try await addSource(from: &source, to: &planning)
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
      throw failure(.list, error)
    }
  }

  private func addSource(
    from pages: inout MirrorPages<Item>.Iterator?, to planning: inout MirrorPlanning<Item>
  ) async throws {
    do {
      try Task.checkCancellation()
      if let items = try await pages?.next() {
        planning.addSource(items)
        publish(.comparing(sourceCount: planning.sourceCount))
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
    MirrorFailure(step: step, error: error)
  }

  /// Why the run must not go on with this plan, or `nil` if it may.
  func refusal(of plan: MirrorPlan<Item>) -> MirrorError? {
    if options.duplicates == .refuse, let first = plan.duplicates.first {
      let others = plan.duplicates.count > 1 ? ", and \(plan.duplicates.count - 1) more" : ""
      return MirrorError(
        .duplicateElement,
        "item \(first.position) of the source has the identity \(first.id) of item "
          + "\(first.firstPosition)\(others); remove the duplicates, or keep the first of each")
    }
    return options.mirrorGuard.refusal(
      sourceCount: plan.sourceCount, existingCount: plan.localCount,
      deletionCount: plan.removals.count, lossCount: plan.lossCount)
  }
}
