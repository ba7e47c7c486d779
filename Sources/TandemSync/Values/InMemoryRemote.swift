public import TandemDifferences

/// A remote in memory, for tests and for copies within one process.
///
/// Epochs and commits count up from 1, so the same calls always make the same revisions.
public actor InMemoryRemote<Element: Sendable>: ConditionalRemote {
  /// The number of accepted pushes whose tokens are remembered.
  package static var rememberedTokenCount: Int { 1_000 }

  /// The current contents; `nil` if there are none.
  public private(set) var contents: (elements: [Element], revision: RemoteRevision)?
  private var epochCount = 0
  private var commitCount = 0
  /// The remembered tokens, the oldest first.
  private var accepted: [(token: String, revision: RemoteRevision)] = []

  /// Creates a remote without contents.
  public init() {}

  /// Returns the current contents.
  public func pull() -> (elements: [Element], revision: RemoteRevision)? { contents }

  /// Replaces the contents if they are at the revision and the token is new.
  public func push(
    _ contents: [Element], difference: SetDifference<Element>, at revision: RemoteRevision?,
    token: String
  ) -> RemoteRevision? {
    if let known = accepted.first(where: { $0.token == token }) { return known.revision }
    guard revision == self.contents?.revision else { return nil }
    let new = revision.map { nextCommit(in: $0.epoch) } ?? nextEpoch()
    self.contents = (contents, new)
    accepted = Array(accepted.suffix(Self.rememberedTokenCount - 1))
    accepted.append((token, new))
    return new
  }

  /// Replaces the contents unconditionally and starts a new epoch, as restoring a backup does.
  public func restart(with elements: [Element]) {
    contents = (elements, nextEpoch())
  }

  /// Removes the contents.
  public func remove() {
    contents = nil
  }

  private func nextEpoch() -> RemoteRevision {
    epochCount += 1
    return nextCommit(in: String(epochCount))
  }

  private func nextCommit(in epoch: String) -> RemoteRevision {
    commitCount += 1
    return RemoteRevision(epoch: epoch, commit: String(commitCount))
  }
}
