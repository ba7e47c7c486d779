/// The decision for the case that a remote's history is not the one a client knows: it was created
/// anew, restored or removed, so there is no common base.
///
/// There is no default. Each decision loses something, and only the application knows what it can
/// afford to lose.
public struct EpochPolicy: Sendable {
  /// The possible decisions.
  public enum Decision: String, Hashable, Sendable, Codable, CaseIterable {
    /// Keep every record that either side has. This loses no version: records that one side deleted
    /// come back, and two versions of a record are a conflict.
    case union
    /// Take the remote's contents in place of the client's. A `DatabaseReplica` keeps the versions of
    /// the client that differ among its conflicts; a ``Synchronizer`` discards them, and fails with
    /// ``SynchronizationError/Code/nothingToAdopt`` if the remote is absent.
    case adoptRemote
    /// Replace the remote's contents with the client's. A `DatabaseReplica` keeps the versions of the
    /// remote that differ among its conflicts.
    case adoptLocal
  }

  /// Makes the decision, by the two epochs.
  @usableFromInline
  package let decide:
    @Sendable (_ knownEpoch: String, _ foundEpoch: String?) async throws -> Decision

  /// Creates a policy that may ask a person. If it throws, the synchronization ends and nothing is
  /// changed.
  ///
  /// - Parameter decide: Makes the decision. Its arguments are the epoch of the history that the
  ///   client knows, and the remote's epoch: `nil` if it has no contents any more, and the same epoch
  ///   if the history went back to before the client's revision and continued differently.
  public init(
    _ decide:
      @escaping @Sendable (
        _ knownEpoch: String, _ foundEpoch: String?
      ) async throws -> Decision
  ) {
    self.decide = decide
  }

  /// Always ``Decision/union``.
  public static var union: EpochPolicy { EpochPolicy { _, _ in .union } }
  /// Always ``Decision/adoptRemote``.
  public static var adoptRemote: EpochPolicy { EpochPolicy { _, _ in .adoptRemote } }
  /// Always ``Decision/adoptLocal``.
  public static var adoptLocal: EpochPolicy { EpochPolicy { _, _ in .adoptLocal } }
}
