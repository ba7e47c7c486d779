/// Compares the identities of the source and the destination, page by page, and makes the plan of a
/// run.
///
/// Add pages of local identities whenever it ``needsLocalIDs``, then a page of the source, and
/// ``answer(_:)`` the ``questions`` about it, until both sides have ended.
///
/// Sides that both ascend are compared in step: no more than a page of each is in memory. Others are
/// compared by a table of all identities.
///
/// The comparison is inlinable and the planner is made where the type of the identities is known, in
/// the initializers of ``OneWayMirror``: code specialised for that type is many times faster.
@usableFromInline
struct MirrorPlanner<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// An item to transfer and its place in the order of the source.
  @usableFromInline typealias Candidate = (position: Int, item: Item)

  private let isSorted: Bool
  /// Compares as much of both sides as is known.
  private let compare: @Sendable (inout MirrorPlanner) -> Void

  /// The current page of the source, and the number of its items that are compared.
  @usableFromInline var source: [Item] = []
  @usableFromInline var sourceOffset = 0
  @usableFromInline var isSourceEnded = false
  /// The position in the source of the current page's first item.
  @usableFromInline var pagePosition = 0
  /// The local identities: the current page if sides are sorted, otherwise all. Then the number of
  /// these that are compared or, unless sides are sorted, entered into ``positions``.
  @usableFromInline var local: [Item.ID] = []
  @usableFromInline var localOffset = 0
  @usableFromInline var isLocalEnded = false

  /// Unless sides are sorted: the position of each identity in the source, or ``localOnly``.
  @usableFromInline var positions: [Item.ID: Int] = [:]
  /// If sides are sorted: the last identities that were compared, and the position of the former.
  @usableFromInline var lastSourceID: Item.ID?
  @usableFromInline var lastLocalID: Item.ID?
  @usableFromInline var lastPosition = 0

  /// The items of the current page that both sides have, in order, and their positions.
  @usableFromInline var questions: [Item] = []
  @usableFromInline var questionPositions: [Int] = []
  @usableFromInline var candidates: [Candidate] = []
  @usableFromInline var removals: [Item.ID] = []
  @usableFromInline var duplicates: [MirrorDuplicate<Item.ID>] = []
  private var skippedCount = 0
  private var localCount = 0

  /// True if the comparison cannot continue without the next page of local identities.
  @usableFromInline var needsLocalIDs: Bool
  /// The reason why sides that must be sorted cannot be compared.
  @usableFromInline var violation: MirrorError?

  @usableFromInline
  init(isSorted: Bool, compare: @escaping @Sendable (inout MirrorPlanner) -> Void) {
    self.isSorted = isSorted
    self.compare = compare
    needsLocalIDs = !isSorted
  }

  /// A planner of sides in any order.
  @inlinable static var unsorted: MirrorPlanner {
    MirrorPlanner(isSorted: false) { $0.compareByTable() }
  }

  /// The number of items of the source that have been added.
  var sourceCount: Int { pagePosition + source.count }

  /// Adds a page of local identities; `nil` after the last one.
  mutating func addLocalIDs(_ ids: [Item.ID]?) {
    isLocalEnded = ids == nil
    localCount += ids?.count ?? 0
    if let ids { if isSorted { (local, localOffset) = (ids, 0) } else { local += ids } }
    needsLocalIDs = false
    compare(&self)
  }

  /// Adds a page of the source; `nil` after the last one. Questions about the page before that have
  /// no answer count as no updates.
  mutating func addSource(_ items: [Item]?) {
    answer([])
    isSourceEnded = items == nil
    pagePosition = sourceCount
    (source, sourceOffset) = (items ?? [], 0)
    compare(&self)
  }

  /// Takes the offsets of those ``questions`` that need an update; ignores others.
  mutating func answer(_ offsets: [Int]) {
    let updates = Set(offsets).filter { questions.indices.contains($0) }
    candidates += updates.map { (position: questionPositions[$0], item: questions[$0]) }
    skippedCount += questions.count - updates.count
    (questions, questionPositions) = ([], [])
  }

  /// The plan, once both sides have ended.
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

  @inlinable
  mutating func ask(_ item: Item) {
    questions.append(item)
    questionPositions.append(pagePosition + sourceOffset)
  }
}

// MARK: - Sorted sides

extension MirrorPlanner where Item.ID: Comparable {
  /// A planner of sides that both ascend by identity. A side that does not is a ``violation``.
  @inlinable static var sorted: MirrorPlanner {
    MirrorPlanner(isSorted: true) { $0.compareInStep() }
  }

  @inlinable
  mutating func compareInStep() {
    while sourceOffset < source.count {
      let item = source[sourceOffset]
      let (id, position) = (item.id, pagePosition + sourceOffset)
      if let lastSourceID, !(lastSourceID < id) {
        guard lastSourceID == id else { return refuse("item of the source", id) }
        duplicates.append(
          MirrorDuplicate(id: id, position: position, firstPosition: lastPosition))
      } else {
        guard removeLocalIDs(below: id) else { return }
        if localOffset < local.count, local[localOffset] == id {
          lastLocalID = id
          localOffset += 1
          ask(item)
        } else {
          candidates.append((position, item))
        }
        (lastSourceID, lastPosition) = (id, position)
      }
      sourceOffset += 1
    }
    if isSourceEnded { _ = removeLocalIDs(below: nil) }
  }

  /// Plans to remove the next local identities as far as they are below an identity of the source, or
  /// all of them. Returns false if the next page is needed to tell, or if they do not ascend.
  @inlinable
  mutating func removeLocalIDs(below id: Item.ID?) -> Bool {
    while localOffset < local.count {
      let next = local[localOffset]
      if let lastLocalID, !(lastLocalID < next) {
        guard lastLocalID == next else {
          refuse("local identity", next)
          return false
        }
      } else {
        if let id, !(next < id) { return true }
        removals.append(next)
        lastLocalID = next
      }
      localOffset += 1
    }
    needsLocalIDs = !isLocalEnded
    return isLocalEnded
  }

  @inlinable
  mutating func refuse(_ subject: String, _ id: Item.ID) {
    violation = MirrorError(
      .unsortedList,
      "\(subject) \(id) does not ascend; sort both sides in one order, or compare them unsorted")
  }
}

// MARK: - Unsorted sides

extension MirrorPlanner {
  /// In ``positions``, an identity that the source has not listed so far.
  @inlinable static var localOnly: Int { -1 }

  @inlinable
  mutating func compareByTable() {
    if positions.isEmpty { positions.reserveCapacity(local.count) }
    while localOffset < local.count {
      positions[local[localOffset]] = Self.localOnly
      localOffset += 1
    }
    needsLocalIDs = !isLocalEnded
    while sourceOffset < source.count {
      lookUp(source[sourceOffset], position: pagePosition + sourceOffset)
      sourceOffset += 1
    }
    guard isSourceEnded else { return }
    for id in local where positions[id] == Self.localOnly {
      positions[id] = nil  // An identity that was listed twice is removed once.
      removals.append(id)
    }
  }

  @inlinable
  mutating func lookUp(_ item: Item, position: Int) {
    switch positions.updateValue(position, forKey: item.id) {
    case nil: candidates.append((position, item))
    case Self.localOnly: ask(item)
    case let first?:
      positions[item.id] = first
      duplicates.append(MirrorDuplicate(id: item.id, position: position, firstPosition: first))
    }
  }
}
