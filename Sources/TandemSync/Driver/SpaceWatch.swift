/// The wait for commits of others.
struct SpaceWatch {
  /// The revision of the replica.
  var revision: SpaceRevision?
  /// The announcements that are being followed, if any.
  private(set) var announcements: (any SyncAnnouncements)?
  /// The number of waits in a row that failed.
  private(set) var failureCount = 0
  /// The maximum number of announcements that wait for the session. Of more, the last head is kept.
  private static let maxNewsCount = 16
  /// The head that was announced last.
  private var announced: SpaceRevision?
  /// The announcements that the session does not know.
  private var news: [SyncEvent] = []
  /// True while a child task waits.
  private var isWaiting = false

  /// Returns the revision that a child task is to wait after, unless one waits.
  mutating func revisionToFollow() -> SpaceRevision? {
    guard !isWaiting, let known = announced ?? revision else { return nil }
    isWaiting = true
    return known
  }

  /// Takes note of an announcement.
  mutating func note(_ event: SyncEvent, by announcements: any SyncAnnouncements) {
    isWaiting = false
    failureCount = 0
    self.announcements = announcements
    announced = event.revision
    news = news.count < Self.maxNewsCount ? news + [event] : [.head(event.revision)]
  }

  /// Takes note that following failed. It begins anew at the revision of the replica.
  mutating func noteLoss() {
    isWaiting = false
    failureCount += 1
    announcements = nil
    announced = nil
    news = []
  }

  /// Returns, once, the announcements of what the replica does not have.
  mutating func takeNews() -> SyncEvent? {
    guard let revision else { return nil }
    defer { news = [] }
    return SyncEvent.joined(news.filter { $0.revision.isNews(to: revision) })
  }
}
