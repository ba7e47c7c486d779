/// What to do when the remote's history is not the one a client knows: it was recreated, restored
/// or removed, and there is no common ancestor any more.
///
/// There is no default: each choice loses something, and only the application knows what may be lost.
public struct EpochPolicy: Sendable {
  /// What may be done.
  public enum Decision: String, Hashable, Sendable, Codable, CaseIterable {
    /// Keep every record that either side has. Records that one side deleted come back; two versions
    /// of a record are a conflict. This loses nothing.
    case union
    /// Take the remote's contents, and give up what the client has. If the remote is absent there is
    /// nothing to take, and synchronizing fails with ``SynchronizationError/nothingToAdopt``.
    case adoptRemote
    /// Put the client's contents in place of the remote's.
    case adoptLocal
  }

  /// What happened to the remote.
  public struct Change: Hashable, Sendable {
    /// The revision the client last knew.
    public var known: Revision
    /// The revision the remote is at; `nil` if it has no contents any more.
    public var found: Revision?

    /// Puts the two revisions side by side.
    public init(known: Revision, found: Revision?) {
      self.known = known
      self.found = found
    }
  }

  @usableFromInline
  let decide: @Sendable (Change) async throws -> Decision

  /// A policy of one's own; it may ask a person. Throwing ends the synchronization, and nothing is
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
