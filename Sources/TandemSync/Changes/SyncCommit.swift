/// The part of a commit that distinguishes it from all others.
package struct SyncCommitIdentity: Hashable, Sendable {
  /// The replica that made the commit.
  package let replica: SyncToken
  /// The number of the commit among those of the replica.
  package let sequence: Int
  /// The identity of the commit.
  package let id: SyncToken
}

/// Changes of records that become visible together, as one new version of a space.
///
/// A commit changes a record at most once, with one exception: an ``SyncChange/Verb/update(_:)`` and
/// an ``SyncChange/Verb/add(_:)`` of the same record may stand in one commit if they name different
/// fields.
///
/// A commit that is too long for one message is sent in parts, in any order. Each has the identity and the base of the
/// commit, and some of its changes; the commit is all of them, in the order of the parts.
package struct SyncCommit: Hashable, Sendable {
  /// The replica that made the commit.
  package let replica: SyncToken
  /// The number of the commit among those of the replica, from 1, without gaps. A commit that
  /// conflicted or was refused has consumed its number.
  package let sequence: Int
  /// The identity of the commit. It distinguishes a repeated commit from another one with the same
  /// sequence, which a restored or copied file would send.
  package let id: SyncToken
  /// The revision of the space that the changes were made to.
  package let base: SpaceRevision
  /// The number of this part, from 1.
  package var part: Int
  /// The number of parts.
  package var of: Int
  /// The changes.
  package let changes: [SyncChange]
  /// The versions of records that merges of the replica overruled since its last commit, so that
  /// they outlive the replica. The ``SyncRecordState/version`` of a local edit is that of the
  /// revision that it was made to.
  package let overruled: [SyncRecordState]

  /// What distinguishes it from all others.
  package var identity: SyncCommitIdentity {
    SyncCommitIdentity(replica: replica, sequence: sequence, id: id)
  }

  package init(
    replica: SyncToken, sequence: Int, id: SyncToken, base: SpaceRevision, part: Int = 1,
    of: Int = 1,
    changes: [SyncChange], overruled: [SyncRecordState] = []
  ) {
    self.replica = replica
    self.sequence = sequence
    self.id = id
    self.base = base
    self.part = part
    self.of = of
    self.changes = changes
    self.overruled = overruled
  }
}
