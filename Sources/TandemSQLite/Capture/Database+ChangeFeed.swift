internal import Synchronization

extension Database {
  /// The one feed of this database, created when first asked for. It becomes the writer's observer,
  /// and waits for the writer to do so.
  package func changeFeed() async throws -> ChangeFeed {
    let feed = try FeedRegistry.shared.feed(of: self)
    if configuration.access != .readOnly, !feed.isAttached { try await setCommitObserver(feed) }
    return feed
  }
}

/// Finds the feed of a database. It holds neither.
private final class FeedRegistry: Sendable {
  static let shared = FeedRegistry()

  private struct Entry {
    weak var database: Database?
    weak var feed: ChangeFeed?
  }

  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  func feed(of database: Database) throws(DatabaseError) -> ChangeFeed {
    let id = ObjectIdentifier(database)
    return try entries.withLock { entries throws(DatabaseError) in
      if let entry = entries[id], entry.database === database, let feed = entry.feed {
        return feed
      }
      entries = entries.filter { $0.value.database != nil && $0.value.feed != nil }
      let feed = try ChangeFeed(path: database.path)
      entries[id] = Entry(database: database, feed: feed)
      return feed
    }
  }
}
