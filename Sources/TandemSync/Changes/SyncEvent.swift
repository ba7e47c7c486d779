/// An event of the event stream of a space.
///
/// Events save a replica the wait and mostly the request of a pull. They promise nothing that a pull
/// does not: a replica that misses events, or cannot use one, pulls.
package enum SyncEvent: Hashable, Sendable {
  /// The commits after one revision, up to a later one: usually one commit, or those that the space
  /// made together.
  ///
  /// The page is complete (``SyncPage/next`` is `nil`) and names no replica. A replica whose revision
  /// is `from` can apply it as the answer to a pull.
  case commit(from: SpaceRevision, SyncPage)
  /// The head of the space, without the changes: a pull returns them.
  case head(SpaceRevision)

  /// The head of the space after the event.
  package var revision: SpaceRevision {
    switch self {
    case .commit(_, let page): page.revision
    case .head(let revision): revision
    }
  }

  /// The events in their order as one; `nil` for none.
  ///
  /// - Returns: A commit if all are commits and each begins where the one before ends; otherwise the
  ///   last head.
  static func joined(_ events: some Collection<SyncEvent>) -> SyncEvent? {
    guard let first = events.first else { return nil }
    return events.dropFirst().reduce(first) { joined, next in
      guard case .commit(let from, let page) = joined, case .commit(page.revision, let last) = next
      else { return .head(next.revision) }
      return .commit(
        from: from,
        SyncPage(
          revision: last.revision, digest: last.digest, replica: nil,
          changes: page.changes + last.changes, next: nil))
    }
  }

  /// The name of the event in the stream.
  package var name: String {
    switch self {
    case .commit: "commit"
    case .head: "head"
    }
  }
}
