/// The work of a run: the result of comparing the identities of the source and the destination.
@usableFromInline
package struct MirrorPlan<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// The items to transfer: those that are new and those that need an update, ascending by
  /// ``MirrorProcessor/order``, then in the order of the source.
  package var transfers: [Item] = []
  /// The identities to remove, in the order they were listed.
  @usableFromInline package var removals: [Item.ID] = []
  /// A remark on the removals, for the message of a guard that refuses them; empty if there is none.
  package var removalRemark = ""
  /// The number of items to transfer that lose some content of theirs by it.
  package var lossCount = 0
  /// The number of items that the destination has and that need no update.
  package var skippedCount = 0
  /// The items that are refused because an earlier one has their identity.
  @usableFromInline package var duplicates: [MirrorDuplicate<Item.ID>] = []
  /// The number of items of the source, including duplicates.
  @usableFromInline package var sourceCount = 0
  /// The number of identities of the destination, each counted as often as it was listed.
  package var localCount = 0

  /// A plan without any work.
  package init() {}
}

extension MirrorPlan: Equatable where Item: Equatable {}
extension MirrorPlan: Hashable where Item: Hashable {}
