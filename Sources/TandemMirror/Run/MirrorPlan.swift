/// What a run is to do, found by comparing identities: a pure function of the source, the local
/// identities, and the answers which items need an update.
public struct MirrorPlan<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// The items to transfer: those that are not there yet and those that need an update, ascending by
  /// their order value, then in the order of the source.
  public var transfers: [Item] = []
  /// The identities to remove, in the order they were listed.
  public var removals: [Item.ID] = []
  /// How many of the items to transfer lose by it some content that they have.
  public var lossCount = 0
  /// How many items are there already and need no update.
  public var skippedCount = 0
  /// The items that are refused because an earlier one has their identity.
  public var duplicates: [MirrorDuplicate<Item.ID>] = []
  /// How many items the source has, duplicates included.
  public var sourceCount = 0
  /// How many local identities there are, each counted as often as it was listed.
  public var localCount = 0

  /// A plan to do nothing.
  @inlinable
  public init() {}

  /// The plan for a source and local identities that are all at hand.
  ///
  /// - Parameters:
  ///   - source: The source's items, in its order.
  ///   - localIDs: The identities that are there.
  ///   - comparison: ``MirrorComparison/sorted`` if both lists ascend by identity.
  ///   - order: An item's order value.
  ///   - needsUpdate: Whether an item that is there must be transferred again. It is asked once for
  ///     each such item, in the order of the source.
  /// - Throws: ``MirrorError`` of the code ``MirrorError/Code/unsortedList`` if the comparison needs
  ///   sorted lists and these are not.
  /// - Complexity: O(*n* + *m*) for *n* items and *m* identities, expected for the unsorted
  ///   comparison, and O(*t* log *t*) for *t* transfers.
  @inlinable
  public init(
    source: [Item], localIDs: [Item.ID], comparison: MirrorComparison<Item> = .unsorted,
    order: (Item) -> Int = { _ in 0 }, needsUpdate: (Item) throws -> Bool
  ) throws {
    var planning = MirrorPlanning(comparison)
    planning.addLocalIDs(localIDs)
    planning.endLocalIDs()
    planning.addSource(source)
    planning.endSource()
    if let violation = planning.violation { throw violation }
    var updates = Set<Item.ID>()
    for item in planning.questions where try needsUpdate(item) { updates.insert(item.id) }
    planning.answer(updates)
    self = planning.plan(order: order)
  }
}

extension MirrorPlan: Equatable where Item: Equatable {}
extension MirrorPlan: Hashable where Item: Hashable {}
