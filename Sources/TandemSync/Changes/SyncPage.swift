package import TandemRecords

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
  /// The highest number that the space has ever given in each table whose keys are numbers that SQLite chooses;
  /// `nil` if the request does not ask for them.
  package let numbers: [FieldName: Int64]?

  package init(
    revision: SpaceRevision, digest: RecordDigest, replica: ReplicaStanding?,
    changes: [SyncRecordState], next: String?, numbers: [FieldName: Int64]? = nil
  ) {
    self.revision = revision
    self.digest = digest
    self.replica = replica
    self.changes = changes
    self.next = next
    self.numbers = numbers
  }
}

/// The error of a page that no space makes: a server of another kind has made it, or one that is out of
/// order. Nothing of the page is used.
package struct ForeignPage: Error, Hashable, CustomStringConvertible {
  /// What is wrong with the page.
  package let reason: String

  package init(_ reason: String) { self.reason = reason }

  package var description: String {
    "the answer is not that of a Tandem server (\(reason)); check the address, and the proxy if there is one"
  }
}

extension SyncPage {
  /// Throws if no space answers a request by this page: pages in the order of versions come to an end. It does
  /// not look at keys.
  ///
  /// - Parameter version: The version of the last record of the page before; `nil` if it is not known.
  package func checkOrder(asAnswerTo pull: SyncPull, after version: Int?) throws(ForeignPage) {
    if let next, next == pull.cursor || changes.isEmpty {
      throw ForeignPage("its pages do not end")
    }
    var least = version ?? pull.since.map { $0.version + 1 } ?? 0
    for change in changes {
      guard (least...max(least, revision.version)).contains(change.version) else {
        throw ForeignPage("the version \(change.version) of a record is out of order")
      }
      least = change.version
    }
  }

  /// Throws if a key has a null, or if the page names a record twice.
  ///
  /// - Parameter isEvent: True for the page of an event, which may have several commits: each of them names a
  ///   record once.
  /// - Complexity: O(*n*) in the number of changes.
  package func checkKeys(isEvent: Bool) throws(ForeignPage) {
    var keys = Set<SyncKey>(minimumCapacity: changes.count)
    var version = 0
    for change in changes {
      if isEvent, change.version > version { keys.removeAll(keepingCapacity: true) }
      version = change.version
      let table = FieldValue.text(change.key.table)
      guard !change.key.id.contains(where: \.isNull) else {
        throw ForeignPage("a key of the table \(table) has a null")
      }
      guard keys.insert(change.key).inserted else {
        throw ForeignPage("a page names a record of the table \(table) twice")
      }
    }
  }
}

/// A request for a page.
package struct SyncPull: Hashable, Sendable {
  /// The replica that asks; `nil` for a reader that is no replica.
  package let replica: SyncToken?
  /// The revision after which the changes are wanted; `nil` for all live records.
  package let since: SpaceRevision?
  /// A revision that the replica knows although it wants all live records. If it is not of the space's history, the
  /// answer is ``SyncPullAnswer/gone(_:)``.
  package let known: SpaceRevision?
  /// The ``SyncPage/next`` of the page before; `nil` for the first page.
  package let cursor: String?
  /// The maximum number of changes; the space may return fewer.
  package let maxChangeCount: Int
  /// The sequence of the replica's last commit that had an outcome when it asked. It is not sent: it
  /// shows whether an answer comes too late.
  package let knownSequence: Int
  /// True to get ``SyncPage/numbers`` too. A client of an earlier version does not know them.
  package let asksForNumbers: Bool

  package init(
    replica: SyncToken?, since: SpaceRevision?, known: SpaceRevision? = nil, cursor: String? = nil,
    maxChangeCount: Int = .max, knownSequence: Int = 0, asksForNumbers: Bool = false
  ) {
    self.replica = replica
    self.since = since
    self.known = known
    self.cursor = cursor
    self.maxChangeCount = maxChangeCount
    self.knownSequence = knownSequence
    self.asksForNumbers = asksForNumbers
  }

  /// The request with another maximum number of changes.
  package func limited(to maxChangeCount: Int) -> SyncPull {
    SyncPull(
      replica: replica, since: since, known: known, cursor: cursor,
      maxChangeCount: maxChangeCount, knownSequence: knownSequence, asksForNumbers: asksForNumbers)
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
