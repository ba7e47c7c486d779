/// Compares the identities of the source and the destination, page by page, and makes the plan of a
/// run.
///
/// Add the pages that ``need`` asks for until it asks for nothing. Whenever it does not ask for
/// local identities, ``answer(_:)`` the ``questions`` first.
///
/// Sides that both ascend are compared by the walk of `SetDifference`, one run of each page at a
/// time; no more than a page of each side is in memory. Unordered sides are compared by a hash
/// table of all identities instead. It takes the source page by page and finds duplicates in the
/// same look-up; a set difference would need the whole source in memory, without duplicates.
///
/// The comparison is inlinable and the planner is made where the type of the identities is known,
/// in the initializers of ``OneWayMirror``: code specialised for that type is many times faster.
@usableFromInline
struct MirrorPlanner<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// The next input of a planner.
  enum Need: Hashable, Sendable {
    /// A page of local identities, or their end.
    case localIDs
    /// A page of the source, or its end.
    case source
    /// Nothing: both sides are compared, or cannot be.
    case nothing
  }

  /// An item to transfer and its place in the order of the source.
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

  private let isSorted: Bool
  /// Compares as much of both sides as is known.
  private let compare: @Sendable (inout MirrorPlanner) -> Void
  /// The offset in the current page of an item of the source that the destination has.
  private let offset: @Sendable (MirrorPlanner, Item.ID) -> Int?

  /// The current page of the source.
  @usableFromInline var source: [Item] = []
  /// The number of items of the current page that are compared.
  @usableFromInline var sourceOffset = 0
  @usableFromInline var isSourceEnded = false
  /// The position in the source of the current page's first item.
  @usableFromInline var pagePosition = 0

  /// The local identities: the current page if sides are sorted, otherwise all.
  @usableFromInline var local: [Item.ID] = []
  /// The number of these that are compared or, unless sides are sorted, entered into ``positions``.
  @usableFromInline var localOffset = 0
  @usableFromInline var isLocalEnded = false

  /// Unless sides are sorted: the position of each identity in the source, or ``localOnly``.
  @usableFromInline var positions: [Item.ID: Int] = [:]
  /// If sides are sorted: the last identities of the pages before the current ones.
  @usableFromInline var previousSourceID: Item.ID?
  @usableFromInline var previousLocalID: Item.ID?
  /// If sides are sorted: the position of the last item that is no duplicate, as of the last page
  /// or, once the current page's duplicates are dropped, of that page.
  @usableFromInline var lastPosition = -1
  @usableFromInline var hasDroppedDuplicates = false

  /// The items of the current page that both sides have and that are not answered yet, in order.
  @usableFromInline var questions: [Item] = []
  /// The offsets of the ``questions`` in the current page.
  @usableFromInline var askedRuns: [Range<Int>] = []
  @usableFromInline var candidates: [Candidate] = []
  @usableFromInline var removals: [Item.ID] = []
  @usableFromInline var duplicates: [MirrorDuplicate<Item.ID>] = []
  private var skippedCount = 0
  private var localCount = 0

  /// The number of items of the source that have been added.
  private(set) var sourceCount = 0
  /// The reason why sides that must be sorted cannot be compared.
  @usableFromInline var violation: MirrorError?

  @usableFromInline
  init(
    isSorted: Bool, compare: @escaping @Sendable (inout MirrorPlanner) -> Void,
    offset: @escaping @Sendable (MirrorPlanner, Item.ID) -> Int?
  ) {
    self.isSorted = isSorted
    self.compare = compare
    self.offset = offset
  }

  /// A planner of sides in any order. It holds all local identities, those of new items, and no
  /// others.
  @inlinable
  static var unsorted: MirrorPlanner {
    MirrorPlanner(
      isSorted: false, compare: { $0.lookUp() }, offset: { $0.offsetByTable(of: $1) })
  }
}

// MARK: - Pages

extension MirrorPlanner {
  /// The input to add next.
  var need: Need {
    if violation != nil { return .nothing }
    if isSorted {
      if sourceOffset == source.count, !isSourceEnded { return .source }
      return localOffset == local.count && !isLocalEnded ? .localIDs : .nothing
    }
    if !isLocalEnded { return .localIDs }
    return isSourceEnded ? .nothing : .source
  }

  /// Adds a page of local identities.
  mutating func addLocalIDs(_ ids: [Item.ID]) {
    localCount += ids.count
    if isSorted {
      precondition(localOffset == local.count, "The page before is compared first")
      if let last = local.last { previousLocalID = last }
      local = ids
      localOffset = 0
    } else {
      local += ids
    }
    compare(&self)
  }

  /// Takes the end of the local identities.
  mutating func endLocalIDs() {
    isLocalEnded = true
    compare(&self)
  }

  /// Adds a page of the source. Questions about the page before that have no answer count as no
  /// updates.
  mutating func addSource(_ items: [Item]) {
    precondition(sourceOffset == source.count, "The page before is compared first")
    answer([])
    if let last = source.last { previousSourceID = last.id }
    if !hasDroppedDuplicates, !source.isEmpty { lastPosition = sourceCount - 1 }
    pagePosition = sourceCount
    sourceCount += items.count
    source = items
    sourceOffset = 0
    hasDroppedDuplicates = false
    compare(&self)
  }

  /// Takes the end of the source.
  mutating func endSource() {
    isSourceEnded = true
    compare(&self)
  }
}

// MARK: - Questions

extension MirrorPlanner {
  /// Takes the identities of those ``questions`` that need an update; ignores other identities.
  ///
  /// - Complexity: O(*u* log *k*) for *u* updates among *k* items.
  mutating func answer(_ updates: Set<Item.ID>) {
    skippedCount += questions.count
    for id in updates {
      guard let offset = offset(self, id), isAsked(offset) else { continue }
      candidates.append(Candidate(position: pagePosition + offset, item: source[offset]))
      skippedCount -= 1
    }
    questions = []
    askedRuns.removeAll(keepingCapacity: true)
  }

  private func isAsked(_ offset: Int) -> Bool {
    let index = askedRuns.indices.partitionPoint { askedRuns[$0].upperBound <= offset }
    return index < askedRuns.count && askedRuns[index].contains(offset)
  }

  /// Asks about items of the current page that follow those asked about so far.
  @inlinable
  mutating func ask(_ run: Range<Int>) {
    if run.isEmpty { return }
    if run == source.indices {
      questions = source
    } else {
      if questions.isEmpty { questions.reserveCapacity(source.count) }
      questions += source[run]
    }
    if let last = askedRuns.last, last.upperBound == run.lowerBound {
      askedRuns[askedRuns.count - 1] = last.lowerBound..<run.upperBound
    } else {
      askedRuns.append(run)
    }
  }

  /// The plan, once ``need`` is nothing and all questions are answered.
  ///
  /// - Parameter order: The order value of an item.
  /// - Complexity: O(*t* log *t*) for *t* transfers.
  func plan(order: (Item) -> Int) -> MirrorPlan<Item> {
    var plan = MirrorPlan<Item>()
    // Numbers alone are sorted: sorting items by code that is not specialised takes ten times longer.
    plan.transfers = candidates.enumerated()
      .map { (order: order($1.item), position: $1.position, index: $0) }
      .sorted { ($0.order, $0.position) < ($1.order, $1.position) }
      .map { candidates[$0.index].item }
    plan.removals = removals
    plan.skippedCount = skippedCount
    plan.duplicates = duplicates
    plan.sourceCount = sourceCount
    plan.localCount = localCount
    return plan
  }
}

// MARK: - Unsorted sides

extension MirrorPlanner {
  /// In ``positions``, an identity that the source has not listed so far.
  @inlinable static var localOnly: Int { -1 }

  /// Enters new local identities into the table; once all are there, looks up the items of the
  /// page.
  @inlinable
  mutating func lookUp() {
    if positions.isEmpty { positions.reserveCapacity(local.count) }
    while localOffset < local.count {
      positions[local[localOffset]] = Self.localOnly
      localOffset += 1
    }
    guard isLocalEnded else { return }
    while sourceOffset < source.count {
      lookUp(source[sourceOffset], position: pagePosition + sourceOffset)
      sourceOffset += 1
    }
    if isSourceEnded { removeRest() }
  }

  @inlinable
  mutating func lookUp(_ item: Item, position: Int) {
    let known = positions.updateValue(position, forKey: item.id)
    guard let known else {
      candidates.append(Candidate(position: position, item: item))
      return
    }
    if known == Self.localOnly {
      ask(sourceOffset..<sourceOffset + 1)
    } else {
      positions[item.id] = known
      duplicates.append(MirrorDuplicate(id: item.id, position: position, firstPosition: known))
    }
  }

  /// Plans to remove the identities that the source has not listed, each once.
  @inlinable
  mutating func removeRest() {
    for id in local where positions[id] == Self.localOnly {
      positions[id] = nil
      removals.append(id)
    }
  }

  @inlinable
  func offsetByTable(of id: Item.ID) -> Int? {
    guard let position = positions[id], position >= pagePosition else { return nil }
    return position - pagePosition
  }
}
