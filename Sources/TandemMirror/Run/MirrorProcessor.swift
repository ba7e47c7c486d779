/// What a mirror makes equal to what: the steps that ``OneWayMirror`` puts in order.
///
/// A run calls ``begin()``, then reads ``localIDs()`` and ``source()``, asks
/// ``itemsToUpdate(among:)`` about the items that are on both sides and ``lossCount(among:)`` about
/// those to transfer, which it lets ``prepare(_:)`` filter and reorder, transfers each of them in each stage, removes what the source no longer
/// has, and calls ``end(_:)``. Every step may throw; what happens then is said in ``MirrorOptions``.
///
/// Steps are called one after the other, but for transfers, of which as many run at a time as the
/// options allow. When a run is cancelled, the task of the step is, and the step is expected to throw
/// soon; the run waits for it. A step may ask for another run by ``OneWayMirror/requestRun()``, but must
/// not wait for one.
///
/// A processor needs a source, local identities, a transfer and a removal; all else has a default.
public protocol MirrorProcessor<Item>: Sendable {
  /// An element of the source. Its identity is all that is compared.
  associatedtype Item: Identifiable & Sendable where Item.ID: Sendable

  /// How identities are compared: ``MirrorComparison/unsorted`` by default, which takes them in any
  /// order and holds all local ones in memory.
  var comparison: MirrorComparison<Item> { get }

  /// How many transfers may run at a time, whatever the options allow; asked at the start of each run.
  /// Any number by default. Transfers that each hold files or connections open have a bound, such as
  /// that of the store they fill.
  var maxTransferCount: Int { get }

  /// Called once per run, before anything else. Does nothing by default.
  func begin() async throws

  /// The source's items, in whatever order they are to be transferred unless ``order(of:)`` says
  /// otherwise.
  func source() async throws -> MirrorPages<Item>

  /// The identities of the items that are there already. Read before the source, unless the
  /// comparison is sorted: then both are read in step.
  func localIDs() async throws -> MirrorPages<Item.ID>

  /// Whether an item that is there already must be transferred again. `false` by default.
  func needsUpdate(_ item: Item) async throws -> Bool

  /// Which of the items, all of them there already, must be transferred again. Called once for each
  /// page of the source that has any; by default it asks ``needsUpdate(_:)`` about each.
  func itemsToUpdate(among items: [Item]) async throws -> Set<Item.ID>

  /// How many of the items, which are those to be transferred, lose by it some content that they have.
  /// ``MirrorGuard`` counts them as if they were removed. 0 by default.
  func lossCount(among items: [Item]) async throws -> Int

  /// Items are transferred ascending by this value, and those of equal value in the order of the
  /// source. 0 by default.
  func order(of item: Item) -> Int

  /// Called once with the items to transfer, in order, even if there are none; answers those that
  /// are transferred, in their order: the same ones by default. What it leaves out counts as skipped;
  /// an item it was not given, or one twice, ends the run.
  func prepare(_ items: [Item]) async throws -> [Item]

  /// Transfers one stage of an item. Called by several tasks at a time, for different items.
  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws

  /// Removes what the source does not have, in the order of ``localIDs()``. Called at most once per
  /// run, and only with something to remove.
  func remove(_ ids: [Item.ID]) async throws

  /// Called once for each call of ``begin()``, after everything else, however the run went, even if
  /// ``begin()`` threw; its task is not cancelled when the run is. Does nothing by default.
  ///
  /// - Parameter report: How the run went: this is the place to commit or roll back.
  /// - Throws: Whatever kept the run from being completed, which then has failed.
  func end(_ report: MirrorReport<Item.ID>) async throws
}

extension MirrorProcessor {
  /// In any order.
  @inlinable public var comparison: MirrorComparison<Item> { .unsorted }

  /// Any number.
  public var maxTransferCount: Int { .max }

  /// Does nothing.
  public func begin() async throws {}

  /// Says that the item is up to date.
  public func needsUpdate(_ item: Item) async throws -> Bool { false }

  /// Asks ``needsUpdate(_:)`` about one item after the other.
  public func itemsToUpdate(among items: [Item]) async throws -> Set<Item.ID> {
    var ids = Set<Item.ID>()
    for item in items {
      do {
        if try await needsUpdate(item) { ids.insert(item.id) }
      } catch {
        throw MirrorFailure(step: .compare, id: item.id, error: error)
      }
    }
    return ids
  }

  /// Says that none does.
  public func lossCount(among items: [Item]) async throws -> Int { 0 }

  /// Leaves the order to the source.
  public func order(of item: Item) -> Int { 0 }

  /// Transfers all items in order.
  public func prepare(_ items: [Item]) async throws -> [Item] { items }

  /// Does nothing.
  public func end(_ report: MirrorReport<Item.ID>) async throws {}
}
