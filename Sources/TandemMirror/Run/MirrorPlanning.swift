/// A plan in the making: pages of both sides go in, questions about items that are on both sides come
/// out, and their answers go in again.
///
/// Add what ``need`` asks for until it asks for nothing. Whenever it asks for no local identities,
/// ``answer(_:)`` the ``questions``, if it ``hasQuestions``, before going on. Whoever has everything at hand uses ``MirrorPlan`` instead.
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

  /// Where the current page has items that are on both sides and have not been answered yet.
  @usableFromInline var askedRuns: [Range<Int>] = []
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
      if !askedRuns.isEmpty { answer([]) }
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

  /// Whether items were found on both sides since the last answer.
  @inlinable public var hasQuestions: Bool { !askedRuns.isEmpty }

  /// The items of the current page of the source found on both sides since the last answer, in order.
  ///
  /// - Complexity: O(*k*) for *k* items, unless they are the whole page.
  public var questions: [Item] { comparison.pick(self) }

  @inlinable
  func pickQuestions() -> [Item] {
    if askedRuns.count == 1, askedRuns[0] == source.indices { return source }
    var questions: [Item] = []
    questions.reserveCapacity(askedRuns.reduce(0) { $0 + $1.count })
    for run in askedRuns { questions += source[run] }
    return questions
  }

  /// Answers ``questions``: which of the items need an update. Without an answer, none does.
  ///
  /// - Complexity: O(*u* log *k*) for *u* updates among *k* items.
  public mutating func answer(_ updates: Set<Item.ID>) {
    unfinished.skippedCount += askedRuns.reduce(0) { $0 + $1.count }
    for id in updates {
      guard let offset = comparison.offset(self, id), isAsked(offset) else { continue }
      candidates.append(Candidate(position: pagePosition + offset, item: source[offset]))
      unfinished.skippedCount -= 1
    }
    askedRuns.removeAll(keepingCapacity: true)
  }

  private func isAsked(_ offset: Int) -> Bool {
    var (low, high) = (0, askedRuns.count)
    while low < high {
      let middle = (low + high) / 2
      if askedRuns[middle].upperBound <= offset { low = middle + 1 } else { high = middle }
    }
    return low < askedRuns.count && askedRuns[low].contains(offset)
  }

  /// Asks about items of the current page that follow those asked about so far.
  @inlinable
  mutating func ask(_ run: Range<Int>) {
    if let last = askedRuns.last, last.upperBound == run.lowerBound {
      askedRuns[askedRuns.count - 1] = last.lowerBound..<run.upperBound
    } else {
      askedRuns.append(run)
    }
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
