public import TandemRecords
internal import TandemSpace
public import TandemSync

/// The changes of one or several commits of a space, after they are durable.
public struct CommittedChanges: Hashable, Sendable {
  /// The state of a record after the commits.
  public struct Change: Hashable, Sendable {
    /// The name of the table.
    public let table: String
    /// The values of the primary key.
    public let primaryKey: [FieldValue]
    /// The version that changed the record last.
    public let version: Int
    /// The fields beside the key, without those that are null; `nil` if the record was deleted.
    public let record: Record?
  }

  /// The name of the space.
  public let space: String
  /// The revision before the changes. `nil` if these are all records of the space: at the beginning, and if the space
  /// does not know what has changed since, because it was restored or has forgotten that. Records that are missing then
  /// were deleted, or never there.
  public let from: SpaceRevision?
  /// The revision that the changes lead to, with all of the elements up to the one that ``isComplete``.
  public let revision: SpaceRevision
  /// False if there are too many changes for one element: the next one has more of them.
  public let isComplete: Bool
  /// Where to continue after these changes.
  public let position: CommitPosition
  package let states: [SyncRecordState]

  /// The records, in the order of their versions. A record that several of the commits have changed is there once, as it
  /// is now.
  public var changes: [Change] {
    states.map { state in
      Change(
        table: state.key.table, primaryKey: state.key.id, version: state.version,
        record: state.fields)
    }
  }
}

/// A place in the commits of a space, for ``SyncService/commits(in:after:)``.
public struct CommitPosition: Hashable, Sendable {
  /// The revision after which the changes come; `nil` before all records.
  let since: SpaceRevision?
  /// The place in the pages of these changes; `nil` before the first one.
  let cursor: String?

  /// Before all records.
  public static let start = CommitPosition(since: nil, cursor: nil)
}

extension CommitPosition: LosslessStringConvertible {
  /// The position of a ``description``; `nil` for any other text.
  public init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    since = SpaceRevision(parts[0])
    guard since != nil || parts[0] == "-" else { return nil }
    cursor = parts.count == 2 ? String(parts[1]) : nil
  }

  /// The position as a text without spaces, to be kept in a file or a database.
  public var description: String { (since?.description ?? "-") + (cursor.map { "/\($0)" } ?? "") }
}

extension SyncService {
  /// The commits of a space after they are durable, whichever program made them, in their order. It waits for more, until
  /// the task is cancelled.
  ///
  /// <!-- Snippets/ServerRules.swift commits -->
  /// ```swift
  /// @Sendable func follow(_ service: SyncService, after saved: CommitPosition?) async throws {
  ///   for try await commits in service.commits(in: "notes", after: saved) {
  ///     for change in commits.changes { try await notify(change) }
  ///     try save("\(commits.position)")
  ///   }
  /// }
  /// ```
  ///
  /// Commits that follow each other quickly may come as one element; none is missing. Keep the ``CommittedChanges/position``
  /// of an element when its effects are durable, and continue from there: so each commit arrives at least once, also if
  /// the program is killed.
  ///
  /// - Parameters:
  ///   - space: The name of the space.
  ///   - position: Where to begin; `nil` for all records.
  /// - Throws: The iterator throws `CancellationError` if its task is cancelled while it waits;
  ///   ``/TandemSync/SyncRequestError`` with code `unknownSpace` if there is no such space, or
  ///   it was deleted or renamed; errors of the store. It may be begun again from the last position.
  public func commits(
    in space: String, after position: CommitPosition? = nil
  ) -> some AsyncSequence<CommittedChanges, any Error> & Sendable {
    CommitSequence(service: self, space: space, position: position ?? .start)
  }

  /// The position after the last commit of a space.
  ///
  /// - Throws: As the iterator of ``commits(in:after:)``.
  public func position(in space: String) async throws -> CommitPosition {
    CommitPosition(since: try await spaces.with(space) { try await $0.state().head }, cursor: nil)
  }
}

extension CommittedChanges {
  enum Reading: Sendable {
    case changes(CommittedChanges)
    /// Nothing has changed up to this revision.
    case none(at: SpaceRevision)
  }

  /// The maximum number of changes of an element.
  static let maxCount = 1_000

  /// Reads what has changed after a position.
  static func read(
    _ space: String, in store: any SpaceStore, after position: CommitPosition
  ) async throws -> Reading {
    var position = position
    while true {
      let answer: SyncPullAnswer
      do {
        answer = try await store.page(
          SyncPull(
            replica: nil, since: position.since, cursor: position.cursor, maxChangeCount: maxCount))
      } catch let error as SyncRequestError where error.code == .malformed && position.cursor != nil
      {
        // Another version of Tandem has made the cursor.
        position = CommitPosition(since: position.since, cursor: nil)
        continue
      }
      switch answer {
      case .gone: position = .start
      case .page(let page):
        guard !page.changes.isEmpty else { return .none(at: page.revision) }
        let next = CommitPosition(
          since: page.next == nil ? page.revision : position.since, cursor: page.next)
        return .changes(
          CommittedChanges(
            space: space, from: position.since, revision: page.revision,
            isComplete: page.next == nil, position: next, states: page.changes))
      }
    }
  }
}
