internal import Dispatch
internal import Synchronization

extension Database {
  /// The one feed of this database, created when first asked for. It becomes the writer's observer,
  /// and waits for the writer to do so; it reads nothing.
  package func changeFeed() async throws -> ChangeFeed {
    let feed = FeedRegistry.shared.feed(of: self)
    if configuration.access != .readOnly, !feed.isAttached { try await setCommitObserver(feed) }
    return feed
  }

  /// Has the feed let go of the file, if there is one; closing may move the log into the file.
  func stopChangeFeed() { FeedRegistry.shared.knownFeed(of: self)?.stopWatching() }

  /// The same, without blocking this thread.
  func stopChangeFeed() async {
    guard let feed = FeedRegistry.shared.knownFeed(of: self) else { return }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        feed.stopWatching()
        continuation.resume()
      }
    }
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

  func feed(of database: Database) -> ChangeFeed {
    entries.withLock { entries in
      if let feed = FeedRegistry.feed(of: database, in: entries) { return feed }
      entries = entries.filter { $0.value.database != nil && $0.value.feed != nil }
      let feed = ChangeFeed(database.file)
      entries[ObjectIdentifier(database)] = Entry(database: database, feed: feed)
      return feed
    }
  }

  /// The feed, if somebody has asked for it and still uses it.
  func knownFeed(of database: Database) -> ChangeFeed? {
    entries.withLock { FeedRegistry.feed(of: database, in: $0) }
  }

  private static func feed(
    of database: Database, in entries: [ObjectIdentifier: Entry]
  ) -> ChangeFeed? {
    guard let entry = entries[ObjectIdentifier(database)], entry.database === database else {
      return nil
    }
    return entry.feed
  }
}
