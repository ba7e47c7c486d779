internal import Synchronization
internal import TandemSync

/// A directory that has copies of the spaces of another server, the leader, and how far behind these are.
///
/// The symbolic link `leader` in the directory has the leader's address. While it is there, requests of replicas are
/// refused. The link `promoted` is made by `tandem promote` and says that the copies follow no more.
package final class Following: Sendable {
  /// Counts of a follower.
  package struct Status: Hashable, Sendable {
    /// The time when all copies were those of the leader, in seconds since 1970; `nil` if they never were since the start.
    package var completion: Double?
    /// The number of spaces that are followed.
    package var spaceCount = 0
    /// The number of spaces that could not be brought in step.
    package var failedCount = 0

    package init() {}
  }

  /// The address of the leader.
  package let leader: String
  private let directory: String
  private let start = WallClock.seconds()
  private let state = Mutex(Status())

  /// - Parameters:
  ///   - directory: The directory of the copies.
  package init(leader: String, in directory: String) {
    self.leader = leader
    self.directory = directory
  }

  /// True as long as the directory's spaces are copies that have not all been promoted.
  package var isFollowing: Bool { Self.leader(of: directory) != nil }

  /// True from when the promotion of the directory was begun.
  package var isPromoted: Bool { Self.isPromoted(directory) }

  /// The counts.
  package var status: Status {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }

  /// The time since all copies were those of the leader, in seconds.
  package var secondsBehind: Int {
    max(0, Int(WallClock.seconds() - (status.completion ?? start)))
  }

  /// Refuses requests for spaces.
  ///
  /// Not only commits: a replica that knows a later state than the copy would take it for a history that was lost.
  func check(_ route: SyncRoute) throws(SyncRequestError) {
    // A client would take the copies in the list for spaces that it can use.
    if route.hasSpace || route.isForFollowers || route == .spaces { try checkServes() }
  }

  /// Refuses what needs the spaces, as long as they are copies.
  func checkServes() throws(SyncRequestError) {
    guard isFollowing else { return }
    throw SyncRequestError(
      .unavailable,
      "this server follows \(leader), and answers for its spaces only when it has been promoted: synchronize with "
        + "\(leader)", retryAfter: .seconds(5))
  }

  static let databaseRefusal = SyncRequestError(
    .unauthorized,
    "the spaces of this server are in a database, which has standbys of its own: no server follows it"
  )
}

// MARK: - The links of a directory

extension Following {
  private static func leaderLink(_ directory: String) -> DurableLink {
    DurableLink("leader", in: directory)
  }

  private static func promotedLink(_ directory: String) -> DurableLink {
    DurableLink("promoted", in: directory)
  }

  /// The address of the leader that a directory follows; `nil` if it follows none.
  package static func leader(of directory: String) -> String? { leaderLink(directory).text }

  /// True if the promotion of a directory was begun.
  package static func isPromoted(_ directory: String) -> Bool {
    promotedLink(directory).text != nil
  }

  /// Makes a directory one that follows a leader, durably. It follows the former leader until then.
  package static func begin(_ directory: String, leader: String) throws(ServerError) {
    guard Self.leader(of: directory) != leader else { return }
    try leaderLink(directory).write(leader)
  }

  /// Notes, durably, that a directory is promoted: its server stops following.
  package static func beginPromotion(of directory: String, leader: String) throws(ServerError) {
    guard !isPromoted(directory) else { return }
    try promotedLink(directory).write(leader)
  }

  /// Ends the promotion of a directory: its server takes commits.
  package static func endPromotion(of directory: String) throws(ServerError) {
    try leaderLink(directory).remove()
  }
}
