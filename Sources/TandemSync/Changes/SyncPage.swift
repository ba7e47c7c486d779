/// A part of the changes that a space has after a revision.
///
/// Pages follow ``next`` until there is none. The state of the space is then the one at the
/// ``revision`` of the last page. A record that a commit changes between two pages occurs in both;
/// the later one counts.
package struct SyncPage: Hashable, Sendable {
  /// The head of the space when it made the page.
  package let revision: SpaceRevision
  /// The digest of all live records at ``revision``.
  package let digest: RecordDigest
  /// The last commit of the replica that asks; `nil` if the space has none of it.
  package let replica: ReplicaStanding?
  /// The records in the order of their versions, each in its newest state. Within a version they
  /// are in the order of their tables' names and then of the ``RecordEncoding`` of their keys.
  package let changes: [SyncRecordState]
  /// The position of the next page; `nil` for the last page. Only the space can interpret it.
  package let next: String?

  package init(
    revision: SpaceRevision, digest: RecordDigest, replica: ReplicaStanding?,
    changes: [SyncRecordState], next: String?
  ) {
    self.revision = revision
    self.digest = digest
    self.replica = replica
    self.changes = changes
    self.next = next
  }
}

/// A request for a page.
package struct SyncPull: Hashable, Sendable {
  /// The replica that asks; `nil` for a reader that is no replica.
  package let replica: SyncToken?
  /// The revision after which the changes are wanted; `nil` for all live records.
  package let since: SpaceRevision?
  /// The ``SyncPage/next`` of the page before; `nil` for the first page.
  package let cursor: String?
  /// The maximum number of changes; the space may return fewer.
  package let maxChangeCount: Int
  /// The sequence of the replica's last commit that had an outcome when it asked. It is not sent: it
  /// shows whether an answer comes too late.
  package let knownSequence: Int

  package init(
    replica: SyncToken?, since: SpaceRevision?, cursor: String? = nil, maxChangeCount: Int = .max,
    knownSequence: Int = 0
  ) {
    self.replica = replica
    self.since = since
    self.cursor = cursor
    self.maxChangeCount = maxChangeCount
    self.knownSequence = knownSequence
  }

  /// The request with another maximum number of changes.
  package func limited(to maxChangeCount: Int) -> SyncPull {
    SyncPull(
      replica: replica, since: since, cursor: cursor, maxChangeCount: maxChangeCount,
      knownSequence: knownSequence)
  }
}

/// The answer to a ``SyncPull``.
package enum SyncPullAnswer: Hashable, Sendable {
  case page(SyncPage)
  /// The space cannot continue from the revision: the replica starts with all live records.
  case gone(SyncGone)
}

/// The last commit of a replica that a space knows.
package struct ReplicaStanding: Hashable, Sendable {
  /// Its sequence.
  package let sequence: Int
  /// Its identity.
  package let commit: SyncToken
  /// Its outcome.
  package let outcome: SyncOutcome

  package init(sequence: Int, commit: SyncToken, outcome: SyncOutcome) {
    self.sequence = sequence
    self.commit = commit
    self.outcome = outcome
  }
}
