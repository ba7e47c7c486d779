internal import Dispatch
internal import Synchronization

extension Database {
  /// The one feed of this database, created at the first call. It becomes the observer of the
  /// writer's commits, and waits for the writer to do so; it reads nothing.
  package func changeFeed() async throws -> ChangeFeed {
    let feed = currentFeed.withLock { current in
      if let feed = current.feed { return feed }
      let feed = ChangeFeed(file)
      current.feed = feed
      return feed
    }
    if configuration.access != .readOnly, !feed.isAttached {
      try await withWriter { connection in
        if !feed.isAttached { try connection.observe(by: feed.publisher) }
      }
    }
    return feed
  }

  /// Makes the feed close the file, if there is a feed; closing may move the log into the file.
  func stopChangeFeed() { currentFeed.withLock { $0.feed }?.stopWatching() }

  /// Makes the feed close the file, without blocking this thread.
  func stopChangeFeed() async {
    guard let feed = currentFeed.withLock({ $0.feed }) else { return }
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        feed.stopWatching()
        continuation.resume()
      }
    }
  }
}

/// The feed of a database, which is in use as long as a writer publishes to it or somebody
/// subscribes.
struct WeakChangeFeed {
  weak var feed: ChangeFeed?
}
