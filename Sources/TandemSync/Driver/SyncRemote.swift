/// A space, as a replica reaches it: in a file, or over a network.
///
/// All functions throw ``SyncRequestError`` for a request that the space refuses as a whole. Any other
/// error means that the outcome is unknown, and the same request is sent again.
package protocol SyncRemote: Sendable {
  /// Declares the tables of a replica that attaches; returns those of the space.
  func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable]

  /// Sends a commit, or a part of one. Sending it again returns the same outcome.
  func push(_ commit: SyncCommit) async throws -> SyncOutcome

  /// Asks for a page of changes.
  func pull(_ pull: SyncPull) async throws -> SyncPullAnswer

  /// Follows the commits after a revision.
  func follow(after revision: SpaceRevision) async throws -> any SyncAnnouncements
}

/// The commits of a space, as it announces them.
///
/// One task asks at a time. The value keeps the resources that following takes, such as a connection.
package protocol SyncAnnouncements: Sendable {
  /// Waits until the head of the space is another one than the one that is known.
  ///
  /// - Parameter known: The head that was announced last, or that the announcements began with.
  /// - Throws: An error if the space cannot be followed any more; a pull finds out the reason.
  func next(after known: SpaceRevision) async throws -> SyncEvent
}
