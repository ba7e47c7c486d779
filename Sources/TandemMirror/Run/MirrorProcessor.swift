internal import Synchronization

/// The two sides of a mirror: a source, and a destination that ``OneWayMirror`` makes equal to it.
///
/// A run takes these steps, in this order:
/// 1. ``begin()``.
/// 2. ``localIDs()`` and ``source()`` list both sides. ``itemsToUpdate(among:)`` selects from the
///    items on both sides those that need an update, and ``lossCount(among:)`` counts the items to
///    transfer that lose content.
/// 3. ``prepare(_:)`` filters and reorders the items to transfer.
/// 4. ``transfer(_:in:progress:)`` transfers each item in each stage.
/// 5. ``remove(_:)`` removes the items that the source does not have.
/// 6. ``end(_:)``.
///
/// Every step may throw; ``MirrorOptions`` decide what follows. The steps are taken one after the
/// other, except that several transfers run concurrently. Cancelling a run cancels the task of the
/// current step; the step should throw soon, and the run waits for it. A step may call
/// ``OneWayMirror/requestRun()``, but must not wait for another run.
///
/// A source, local identities, a transfer and a removal are required; all other steps have a
/// default.
public protocol MirrorProcessor<Item>: Sendable {
  /// An element of the source. Items are compared by their identities alone.
  associatedtype Item: Identifiable & Sendable where Item.ID: Sendable

  /// The maximum number of transfers that may run at a time, whatever the options allow; read at
  /// the start of each run. Any number by default. Set a bound if each transfer holds files or
  /// connections open.
  var maxTransferCount: Int { get }

  /// The first step of each run. Does nothing by default.
  func begin() async throws

  /// The source's items, in the order of their transfers unless ``order(of:)`` changes it.
  func source() async throws -> MirrorPages<Item>

  /// The identities that the destination has. They are listed before the source, unless both sides
  /// are sorted: then both are listed in step.
  func localIDs() async throws -> MirrorPages<Item.ID>

  /// Returns true if an item that the destination has must be transferred again. False by default.
  func needsUpdate(_ item: Item) async throws -> Bool

  /// Returns the identities of the items that must be transferred again; the destination has all of
  /// the given items. Called once for each page of the source that has any. By default, it calls
  /// ``needsUpdate(_:)`` for each item, in order.
  ///
  /// - Throws: Any error ends the run. A ``MirrorFailure`` may name the item.
  func itemsToUpdate(among items: [Item]) async throws -> Set<Item.ID>

  /// The number of the given items, all of which are transferred, that lose some content by it.
  /// ``MirrorGuard`` counts them as if they were removed. 0 by default.
  func lossCount(among items: [Item]) async throws -> Int

  /// The order value of an item. Items are transferred ascending by it; items of equal value, in
  /// the order of the source. 0 by default.
  func order(of item: Item) -> Int

  /// Takes the items to transfer, in order, even if there are none, and returns the items that are
  /// transferred, in their order. By default, it returns the same items.
  ///
  /// Items that it leaves out count as skipped. Items that it adds are transferred too;
  /// ``MirrorGuard`` does not know them. The run ends if it returns two items of one identity.
  func prepare(_ items: [Item]) async throws -> [Item]

  /// Transfers one stage of an item. Called by several tasks at a time, for different items.
  func transfer(
    _ item: Item, in stage: MirrorStage, progress: MirrorTransferProgress
  ) async throws

  /// Removes the items of these identities, which are in the order of ``localIDs()``. Called at
  /// most once per run, and only with at least one identity.
  func remove(_ ids: [Item.ID]) async throws

  /// The last step: called once for each call of ``begin()``, whatever the outcome of the run, even
  /// if ``begin()`` threw. Cancelling the run does not cancel its task. Does nothing by default.
  ///
  /// - Parameter report: The report of the run: commit or roll back by it.
  /// - Throws: Any error makes the run a failed one.
  func end(_ report: MirrorReport<Item.ID>) async throws
}

extension MirrorProcessor {
  /// Any number.
  public var maxTransferCount: Int { .max }

  /// Does nothing.
  public func begin() async throws {}

  /// Returns false: the item is up to date.
  public func needsUpdate(_ item: Item) async throws -> Bool { false }

  /// Calls ``needsUpdate(_:)`` for one item after the other. Its failure names the item.
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

  /// Returns 0: no item loses content.
  public func lossCount(among items: [Item]) async throws -> Int { 0 }

  /// Returns 0: the order of the source.
  public func order(of item: Item) -> Int { 0 }

  /// Returns all items in order.
  public func prepare(_ items: [Item]) async throws -> [Item] { items }

  /// Does nothing.
  public func end(_ report: MirrorReport<Item.ID>) async throws {}
}

/// The bytes that an attempt at a transfer has received so far.
///
/// Any thread may add bytes, without blocking. They are published with the run's progress and
/// counted in its report.
public final class MirrorTransferProgress: Sendable {
  /// The number of this attempt, counted from 1.
  public let attempt: Int
  private let count = Atomic<Int>(0)
  private let added: @Sendable (Int) -> Void

  /// The progress of an attempt; `added` is called with each number of bytes that is added.
  public init(attempt: Int = 1, added: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.attempt = attempt
    self.added = added
  }

  /// Adds received bytes; ignores a number that is not positive.
  public func add(byteCount: Int) {
    guard byteCount > 0 else { return }
    count.wrappingAdd(byteCount, ordering: .relaxed)
    added(byteCount)
  }

  /// The sum of all bytes added.
  public var byteCount: Int { count.load(ordering: .relaxed) }
}
