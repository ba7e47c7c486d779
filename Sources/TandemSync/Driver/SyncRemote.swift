/// A space, as a replica reaches it: in a file, or over a network.
///
/// All functions throw ``SyncRefusal`` for a request that the space refuses as a whole. Any other
/// error means that the outcome is unknown, and the same request is sent again.
package protocol SyncRemote: Sendable {
  /// Declares the tables of a replica that attaches; returns those of the space.
  func declare(_ tables: [SpaceTable]) async throws -> [SpaceTable]

  /// Sends a commit. Sending it again returns the same outcome.
  func push(_ commit: SyncCommit) async throws -> SyncOutcome

  /// Asks for a page of changes.
  func pull(_ pull: SyncPull) async throws -> SyncPullAnswer

  /// Waits until the head of the space is not this revision.
  func waitForCommit(after revision: SpaceRevision) async throws
}
