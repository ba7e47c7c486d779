/// A plan in the making: pages of both sides go in, questions about items that are on both sides come
/// out, and their answers go in again.
///
/// Add what ``need`` asks for until it asks for nothing. Whenever it asks for no local identities,
/// ``answer(_:)`` the ``questions``, if there are any, before going on. Whoever has everything at hand uses ``MirrorPlan`` instead.
public struct MirrorPlanning<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// What the planning goes on with.
  public enum Need: Hashable, Sendable {
    /// A page of local identities, or their end.
    case localIDs
    /// A page of the source, or its end.
    case source
    /// Nothing: both sides are compared, or cannot be.
    case nothing
  }

  /// An item to transfer, and where the source has it.
  @usableFromInline
  struct Candidate: Sendable {
    @usableFromInline var position: Int
    @usableFromInline var item: Item

    @inlinable
    init(position: Int, item: Item) {
      self.position = position
      self.item = item
    }
  }

  /// Why the sides cannot be compared: they should be sorted, and are not.
  @inlinable public var violation: MirrorError? { failure }

  @usableFromInline var failure: MirrorError?
  @usableFromInline let comparison: MirrorComparison<Item>
  /// The page of the source that is being compared, and how far.
  @usableFromInline var source: [Item] = []
  @usableFromInline var sourceOffset = 0
  @usableFromInline var isSourceEnded = false
  /// The local identities that are being compared: a page if sorted, otherwise all of them.
  @usableFromInline var local: [Item.ID] = []
  @usableFromInline var localOffset = 0
  @usableFromInline var isLocalEnded = false
  /// Unless sorted: where the source has each identity, or ``localOnly``.
  @usableFromInline var positions: [Item.ID: Int] = [:]
  /// If sorted: the last identities before the current pages.
  @usableFromInline var previousSource: Item.ID?
  @usableFromInline var previousLocal: Item.ID?
  /// If sorted: the position of the last item that is no duplicate.
  @usableFromInline var lastPosition = 0
  /// The position of the current page's first item.
  @usableFromInline var pagePosition = 0

  @usableFromInline var asked: [Item] = []
  @usableFromInline var askedPositions: [Int] = []
  @usableFromInline var candidates: [Candidate] = []
  @usableFromInline var unfinished = MirrorPlan<Item>()

  /// A planning that has seen nothing yet.
  @inlinable
  public init(_ comparison: MirrorComparison<Item>) { self.comparison = comparison }

  /// What to go on with.
  public var need: Need {
    if failure != nil { return .nothing }
    if comparison.isSorted {
      if sourceOffset == source.count, !isSourceEnded { return .source }
      return localOffset == local.count && !isLocalEnded ? .localIDs : .nothing
    }
    if !isLocalEnded { return .localIDs }
    return isSourceEnded ? .nothing : .source
  }

  /// How many items of the source have been added.
  @inlinable public var sourceCount: Int { unfinished.sourceCount }

  /// Adds a page of local identities.
  @inlinable
  public mutating func addLocalIDs(_ ids: [Item.ID]) {
    unfinished.localCount += ids.count
    if comparison.isSorted, localOffset == local.count {
      if let last = local.last { previousLocal = last }
      local = ids
      localOffset = 0
    } else {
      local += ids
    }
    comparison.advance(&self)
  }

  /// Says that there are no further local identities.
  @inlinable
  public mutating func endLocalIDs() {
    isLocalEnded = true
    comparison.advance(&self)
  }

  /// Adds a page of the source.
  @inlinable
  public mutating func addSource(_ items: [Item]) {
    unfinished.sourceCount += items.count
    if sourceOffset == source.count {
      if let last = source.last { previousSource = last.id }
      pagePosition += source.count
      source = items
      sourceOffset = 0
    } else {
      source += items
    }
    comparison.advance(&self)
  }

  /// Says that the source has no further items.
  @inlinable
  public mutating func endSource() {
    isSourceEnded = true
    comparison.advance(&self)
  }

  /// The items found on both sides since the last answer, in the order of the source.
  @inlinable public var questions: [Item] { asked }

  /// Answers ``questions``: which of the items need an update.
  @inlinable
  public mutating func answer(_ updates: Set<Item.ID>) {
    var updateCount = 0
    if !updates.isEmpty {
      for (offset, item) in asked.enumerated() where updates.contains(item.id) {
        candidates.append(Candidate(position: askedPositions[offset], item: item))
        updateCount += 1
      }
    }
    unfinished.skippedCount += asked.count - updateCount
    asked.removeAll(keepingCapacity: true)
    askedPositions.removeAll(keepingCapacity: true)
  }

  /// The plan, once ``need`` is nothing and all questions are answered.
  ///
  /// - Parameter order: An item's order value.
  /// - Complexity: O(*t* log *t*) for *t* transfers.
  @inlinable
  public func plan(order: (Item) -> Int) -> MirrorPlan<Item> {
    var plan = unfinished
    let ordered = candidates.map { (order: order($0.item), candidate: $0) }.sorted {
      ($0.order, $0.candidate.position) < ($1.order, $1.candidate.position)
    }
    plan.transfers = ordered.map(\.candidate.item)
    return plan
  }
}
