/// The file of a replica, as a synchronization uses it.
package protocol SyncReplica: Sendable {
  /// Performs a step in one transaction.
  ///
  /// - Returns: The state of the file after it.
  /// - Throws: ``SyncUndecided`` if the application has to decide and has not; any other error ends
  ///   the synchronization.
  func perform(_ step: SyncStep) async throws -> SyncSummary

  /// A part of the commit that waits for its outcome; `nil` if none does, or it has fewer parts.
  func outbox(part number: Int) async throws -> SyncCommit?

  /// Waits until rows may have changed since the last call, by whichever program.
  func waitForChange() async throws
}

/// The space has another history than the one that the replica knows, and the application has not
/// decided which records to keep.
package struct SyncUndecided: Error, Hashable {
  package init() {}
}
