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

  /// The two histories.
  public struct Change: Hashable, Sendable {
    /// The epoch of the history that the client knows.
    public var knownEpoch: String
    /// The remote's epoch; `nil` if it has no contents any more. It equals ``knownEpoch`` if the
    /// history went back to before the client's revision and continued differently.
    public var foundEpoch: String?

    /// Creates a change from the two epochs.
    @usableFromInline
    package init(knownEpoch: String, foundEpoch: String?) {
      self.knownEpoch = knownEpoch
      self.foundEpoch = foundEpoch
    }
  }

  @usableFromInline
  let decide: @Sendable (Change) async throws -> Decision

  /// The decision about a change of history.
  package func decision(about change: Change) async throws -> Decision { try await decide(change) }

  /// Creates a policy that may ask a person. If it throws, the synchronization ends and nothing is
  /// changed.
  public init(_ decide: @escaping @Sendable (Change) async throws -> Decision) {
    self.decide = decide
  }

  /// Always ``Decision/union``.
  public static var union: EpochPolicy { EpochPolicy { _ in .union } }
  /// Always ``Decision/adoptRemote``.
  public static var adoptRemote: EpochPolicy { EpochPolicy { _ in .adoptRemote } }
  /// Always ``Decision/adoptLocal``.
  public static var adoptLocal: EpochPolicy { EpochPolicy { _ in .adoptLocal } }
}
