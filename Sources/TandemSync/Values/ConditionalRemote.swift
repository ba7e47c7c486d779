public import TandemDifferences

/// A store of shared contents that accepts a push only if the contents did not change since a given
/// revision.
///
/// A web service with entity tags, an object store with conditional writes, and a row with a version
/// column can all be one. A conforming type promises:
///
/// - A push is applied in full or not at all, and only if its condition holds at that moment.
/// - Every accepted push makes a revision that never existed before, and every creation a new epoch.
/// - If the token of a push was accepted before, as far back as the remote remembers, the result is
///   the revision made then, and the push is not applied again.
/// - Contents that cannot be read or decoded are an error, never reported as absent or empty.
public protocol ConditionalRemote<Element>: Sendable {
  /// The type of the elements that the contents consist of.
  associatedtype Element: Sendable

  /// Returns the current contents, possibly none, and the revision of this state; `nil` if the
  /// contents were never created, or were removed. This differs from empty contents.
  func pull() async throws -> (elements: [Element], revision: RemoteRevision)?

  /// Replaces the contents if they are at exactly the given revision. After an error it is unknown if
  /// the push was applied.
  ///
  /// - Parameters:
  ///   - contents: The new contents in full, for remotes that replace them.
  ///   - difference: The difference from the contents at the revision, or from empty contents, for
  ///     remotes that keep single records.
  ///   - revision: The condition; `nil` if there must be no contents, so that the push creates them.
  ///   - token: The identifier of this push, by which a remote recognises its repetition.
  /// - Returns: The revision that the push made, now or when it first arrived; `nil` if the condition
  ///   did not hold.
  func push(
    _ contents: [Element], difference: SetDifference<Element>, at revision: RemoteRevision?,
    token: String
  ) async throws -> RemoteRevision?
}

/// An identifier of one state of a remote's contents.
///
/// Two revisions identify the same state exactly if they are equal. They have no order, because an
/// entity tag or a version column of any service can be a commit. A condition on a revision covers
/// both parts.
///
/// Revisions of a space that Tandem itself serves are another type: they count their commits, so
/// they are ordered within an epoch. The two share ``EpochPolicy``, which needs the epochs alone.
public struct RemoteRevision: Hashable, Sendable, Codable {
  /// The identifier of a history. A remote draws a new one whenever its contents are created or
  /// restored, so commits of different epochs have no common base.
  public var epoch: String
  /// The identifier of one accepted push within that history.
  public var commit: String

  /// Creates a revision from its two parts.
  public init(epoch: String, commit: String) {
    self.epoch = epoch
    self.commit = commit
  }
}

extension RemoteRevision: CustomStringConvertible {
  /// The epoch and the commit, separated by a full stop.
  public var description: String { "\(epoch).\(commit)" }
}
