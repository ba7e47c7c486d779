/// How a run went: what it did, item by item.
///
/// Each list is in the order in which things happened.
public struct MirrorReport<ID: Hashable & Sendable>: Sendable {
  /// How many items the source has, those refused as duplicates included.
  public var sourceCount = 0
  /// How many items were there before, as far as they were listed.
  public var localCount = 0
  /// What was removed.
  public var removed: [ID] = []
  /// What was to be removed, but was not, because a transfer failed or the run ended early.
  public var unremoved: [ID] = []
  /// The transfers that were completed.
  public var transferred: [MirrorTransferReport<ID>] = []
  /// The items that were to be transferred but were not, or not in all their stages, because the run
  /// ended early; not those whose transfer failed.
  public var untransferred: [ID] = []
  /// How many items of the source were not to be transferred: they are up to date, or were left out
  /// in ``MirrorProcessor/prepare(_:)``.
  public var skippedCount = 0
  /// The items that were refused because an earlier one has their identity.
  public var duplicates: [MirrorDuplicate<ID>] = []
  /// What failed, transfers as well as other steps.
  public var failures: [MirrorFailure<ID>] = []
  /// What ended the run early; `nil` if it went through all its steps.
  public var interruption: MirrorFailure<ID>?

  /// The report of a run that has done nothing yet.
  public init() {}

  /// Whether the run was cancelled before it was done.
  public var isCancelled: Bool { interruption?.isCancellation == true }

  /// Whether the destination now has all that the source has and, unless nothing was to be removed,
  /// nothing else: nothing failed, and nothing was left undone.
  public var isComplete: Bool {
    interruption == nil && failures.isEmpty && unremoved.isEmpty && untransferred.isEmpty
  }

  /// How many bytes were received, failed attempts included.
  public var byteCount: Int {
    transferred.reduce(0) { $0 &+ $1.byteCount } &+ failures.reduce(0) { $0 &+ $1.byteCount }
  }
}

/// A transfer that was completed.
public struct MirrorTransferReport<ID: Hashable & Sendable>: Hashable, Sendable {
  /// The item.
  public var id: ID
  /// What of it was transferred.
  public var stage: MirrorStage
  /// How many attempts it took.
  public var attemptCount: Int
  /// How many bytes were received in all attempts.
  public var byteCount: Int

  /// A transfer of a stage of an item.
  public init(id: ID, stage: MirrorStage, attemptCount: Int = 1, byteCount: Int = 0) {
    self.id = id
    self.stage = stage
    self.attemptCount = attemptCount
    self.byteCount = byteCount
  }
}

/// An item whose identity an earlier one of the source has.
public struct MirrorDuplicate<ID: Hashable & Sendable>: Hashable, Sendable {
  /// The identity.
  public var id: ID
  /// The position in the source of the item that was refused, counted from 0.
  public var position: Int
  /// The position of the first item of that identity.
  public var firstPosition: Int

  /// A duplicate at a position.
  public init(id: ID, position: Int, firstPosition: Int) {
    self.id = id
    self.position = position
    self.firstPosition = firstPosition
  }
}
