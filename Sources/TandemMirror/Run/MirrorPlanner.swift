/// Makes the plan of a run: lists both sides page by page, compares their identities, and asks the
/// processor which of the items that both sides have need an update.
///
/// Sides that both ascend are compared in step: no more than a page of each is in memory. Others are
/// compared by a table of all identities.
///
/// The comparison is inlinable and the planner is made where the type of the identities is known, in
/// the initializers of ``OneWayMirror``: code specialised for that type is many times faster.
@usableFromInline
struct MirrorPlanner<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// Compares the page of the source. Returns false if it needs the next page of local identities.
  private let compare: @Sendable (inout MirrorPlanner) throws -> Bool

  /// The current page of the source, and the number of its items that are compared.
  @usableFromInline var source: [Item] = []
  @usableFromInline var sourceOffset = 0
  @usableFromInline var isSourceEnded = false
  /// The local identities: all, or the current page and the number of these that are compared.
  @usableFromInline var local: [Item.ID] = []
  @usableFromInline var localOffset = 0
  @usableFromInline var isLocalEnded = false

  /// Unless sides are sorted: the position of each identity in the source, or ``localOnly``.
  @usableFromInline var positions: [Item.ID: Int] = [:]
  /// If sides are sorted: the last identities that were compared.
  @usableFromInline var lastSource: (id: Item.ID, position: Int)?
  @usableFromInline var lastLocalID: Item.ID?

  /// The items of the current page that both sides have, in order.
  @usableFromInline var common: [Item] = []
  /// The position of an item in the source is its offset in ``common`` plus a shift. Each shift holds
  /// from its own offset to that of the next shift.
  @usableFromInline var commonShifts: [(offset: Int, shift: Int)] = []
  /// The items to transfer, and their positions in the source.
  @usableFromInline var candidates: [(position: Int, item: Item)] = []
  /// The plan, but for its transfers.
  @usableFromInline var plan = MirrorPlan<Item>()

  @usableFromInline
  init(compare: @escaping @Sendable (inout MirrorPlanner) throws -> Bool) { self.compare = compare }

  /// The plan for a processor; calls `listed` with the number of items of the source so far.
  ///
  /// - Throws: ``MirrorFailure``, which names the step; other errors are of listing.
  mutating func plan(
    _ processor: MirrorProcessor<Item>, listed: (_ sourceCount: Int) -> Void
  ) async throws -> MirrorPlan<Item> {
    var localPages = try await Self.attempt(.localIDs, processor.local).makeAsyncIterator()
    var sourcePages: MirrorPages<Item>.AsyncIterator?
    while true {
      while try !compare(&self) {
        let page = try await Self.attempt(.localIDs) { try await localPages.next() }
        isLocalEnded = page == nil
        let ids = page ?? []
        plan.localCount += ids.count
        if localOffset < local.count { local += ids } else { (local, localOffset) = (ids, 0) }
      }
      if !common.isEmpty { try await findUpdates(processor) }
      if isSourceEnded { return try await finish(processor) }
      if sourcePages == nil {
        sourcePages = try await Self.attempt(.list, processor.list).makeAsyncIterator()
      }
      let page = try await Self.attempt(.list) { try await sourcePages?.next() }
      isSourceEnded = page == nil
      (source, sourceOffset) = (page ?? [], 0)
      plan.sourceCount += source.count
      listed(plan.sourceCount)
    }
  }

  private mutating func findUpdates(_ processor: MirrorProcessor<Item>) async throws {
    let (items, shifts) = (common, commonShifts)
    var offsets: [Int] = []
    if let itemsToUpdate = processor.itemsToUpdate {
      offsets = try await Self.attempt(.compare) { try await itemsToUpdate(items) }
    } else {
      for (offset, item) in items.enumerated() {
        let needsUpdate = try await Self.attempt(.compare, of: item.id) {
          try await processor.needsUpdate(item)
        }
        if needsUpdate { offsets.append(offset) }
      }
    }
    var current = 0
    for offset in Set(offsets).sorted() where items.indices.contains(offset) {
      while current + 1 < shifts.count, shifts[current + 1].offset <= offset { current += 1 }
      candidates.append((offset + shifts[current].shift, items[offset]))
    }
    (common, commonShifts) = ([], [])
  }

  private mutating func finish(
    _ processor: MirrorProcessor<Item>
  ) async throws -> MirrorPlan<Item> {
    // Numbers alone are sorted: sorting items by code that is not specialised takes ten times longer.
    let transfers = candidates.enumerated()
      .map { (order: processor.order($1.item), position: $1.position, index: $0) }
      .sorted { ($0.order, $0.position) < ($1.order, $1.position) }
      .map { candidates[$0.index].item }
    plan.transfers = transfers
    plan.skippedCount = plan.sourceCount - plan.duplicates.count - transfers.count
    if !transfers.isEmpty {
      plan.lossCount = try await Self.attempt(.compare) { try await processor.lossCount(transfers) }
    }
    return plan
  }

  /// Takes a part of a step. Its failure names the step, unless the processor has named one itself.
  private static func attempt<Result>(
    _ step: MirrorStep, of id: Item.ID? = nil, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      try Task.checkCancellation()
      return try await body()
    } catch {
      throw error as? MirrorFailure<Item.ID> ?? MirrorFailure(step: step, id: id, error: error)
    }
  }

  /// The position in the source of the next item to compare.
  @inlinable var position: Int { plan.sourceCount - source.count + sourceOffset }

  /// Adds this many items of the source, from the next one on, to those that both sides have.
  @inlinable
  mutating func addCommon(count: Int) {
    if common.isEmpty { common.reserveCapacity(source.count) }
    let shift = position - common.count
    if commonShifts.last?.shift != shift { commonShifts.append((common.count, shift)) }
    common += source[sourceOffset..<sourceOffset + count]
  }

  @inlinable
  mutating func addDuplicate(_ id: Item.ID, of firstPosition: Int) {
    plan.duplicates.append(
      MirrorDuplicate(id: id, position: position, firstPosition: firstPosition))
  }
}

// MARK: - Sorted sides

extension MirrorPlanner where Item.ID: Comparable {
  /// A planner of sides that both ascend by identity. A side that does not is an error.
  @inlinable static var sorted: MirrorPlanner { MirrorPlanner { try $0.compareInStep() } }

  @inlinable
  mutating func compareInStep() throws -> Bool {
    while sourceOffset < source.count {
      let id = source[sourceOffset].id
      if let last = lastSource, !(last.id < id) {
        guard last.id == id else { throw Self.violation("item of the source", id) }
        addDuplicate(id, of: last.position)
      } else {
        guard try removeLocalIDs(below: id) else { return false }
        let count = commonCount()
        if count > 0 {
          addCommon(count: count)
          sourceOffset += count - 1
          localOffset += count
          lastLocalID = local[localOffset - 1]
        } else {
          candidates.append((position, source[sourceOffset]))
        }
        lastSource = (source[sourceOffset].id, position)
      }
      sourceOffset += 1
    }
    return try !isSourceEnded || removeLocalIDs(below: nil)
  }

  /// The number of identities that come next on both sides and ascend.
  ///
  /// Most lists hardly change, so this loop is most of the comparison. It only reads: to write the
  /// planner's state to memory for each item would take seven times longer.
  @inlinable
  func commonCount() -> Int {
    source[sourceOffset...].withUnsafeBufferPointer { items in
      local[localOffset...].withUnsafeBufferPointer { ids in
        let maxCount = min(items.count, ids.count)
        var count = 0
        while count < maxCount, items[count].id == ids[count],
          count == 0 || ids[count - 1] < ids[count]
        { count += 1 }
        return count
      }
    }
  }

  /// Plans to remove the next local identities as far as they are below an identity of the source, or
  /// all of them. Returns false if the next page is needed to tell.
  @inlinable
  mutating func removeLocalIDs(below id: Item.ID?) throws -> Bool {
    while localOffset < local.count {
      let next = local[localOffset]
      if let lastLocalID, !(lastLocalID < next) {
        guard lastLocalID == next else { throw Self.violation("local identity", next) }
      } else {
        if let id, !(next < id) { return true }
        plan.removals.append(next)
        lastLocalID = next
      }
      localOffset += 1
    }
    return isLocalEnded
  }

  @usableFromInline
  static func violation(_ subject: String, _ id: Item.ID) -> MirrorError {
    MirrorError(
      .unsortedList,
      "\(subject) \(id) does not ascend; sort both sides in one order, or compare them unsorted")
  }
}

// MARK: - Unsorted sides

extension MirrorPlanner {
  /// A planner of sides in any order.
  @inlinable static var unsorted: MirrorPlanner { MirrorPlanner { $0.compareByTable() } }

  /// In ``positions``, an identity that the source has not listed so far.
  @inlinable static var localOnly: Int { -1 }

  @inlinable
  mutating func compareByTable() -> Bool {
    guard isLocalEnded else { return false }
    if positions.isEmpty {
      positions.reserveCapacity(local.count)
      for id in local { positions[id] = Self.localOnly }
    }
    while sourceOffset < source.count {
      let item = source[sourceOffset]
      switch positions.updateValue(position, forKey: item.id) {
      case nil: candidates.append((position, item))
      case Self.localOnly: addCommon(count: 1)
      case let first?:
        positions[item.id] = first
        addDuplicate(item.id, of: first)
      }
      sourceOffset += 1
    }
    // An identity that was listed twice is removed once.
    if isSourceEnded {
      plan.removals = local.filter { positions.removeValue(forKey: $0) == Self.localOnly }
    }
    return true
  }
}
