/// The result of a run, item by item.
///
/// Each list is in the order of events.
public struct MirrorReport<ID: Hashable & Sendable>: Sendable {
  /// The number of items of the source, including refused duplicates.
  public var sourceCount = 0
  /// The number of items of the destination before the run, as far as they were listed.
  public var localCount = 0
  /// The removed identities.
  public var removed: [ID] = []
  /// The identities that were planned to be removed but were not, because a transfer failed or the
  /// run ended early.
  public var unremoved: [ID] = []
  /// The completed transfers.
  public var transferred: [MirrorTransferReport<ID>] = []
  /// The items that were planned to be transferred but were not, or not in all stages, because the
  /// run ended early. Items whose transfer failed are not among them.
  public var untransferred: [ID] = []
  /// The number of items of the source that were not planned to be transferred: they are up to
  /// date, or ``MirrorProcessor/prepare`` left them out.
  public var skippedCount = 0
  /// The items that were refused because an earlier one has their identity.
  public var duplicates: [MirrorDuplicate<ID>] = []
  /// The failures of transfers and other steps.
  public var failures: [MirrorFailure<ID>] = []
  /// The failure or cancellation that ended the run early; `nil` if the run took all its steps.
  public var interruption: MirrorFailure<ID>?

  /// The report of a run that has not begun.
  public init() {}

  /// True if the run was cancelled before it was complete.
  public var isCancelled: Bool { interruption?.isCancellation == true }

  /// True if the destination now equals the source: nothing failed, and no planned transfer or
  /// removal is left.
  public var isComplete: Bool {
    interruption == nil && failures.isEmpty && unremoved.isEmpty && untransferred.isEmpty
  }

  /// The number of bytes received, including failed attempts.
  public var byteCount: Int {
    transferred.reduce(0) { $0 &+ $1.byteCount } &+ failures.reduce(0) { $0 &+ $1.byteCount }
  }
}

/// A completed transfer.
public struct MirrorTransferReport<ID: Hashable & Sendable>: Hashable, Sendable {
  /// The item.
  public var id: ID
  /// The transferred part of the item.
  public var stage: MirrorStage
  /// The number of attempts.
  public var attemptCount = 1
  /// The number of bytes received in all attempts.
  public var byteCount = 0
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
