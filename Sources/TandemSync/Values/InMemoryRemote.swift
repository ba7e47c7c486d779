/// A remote in memory, for tests and for copies within one process.
///
/// Epochs and commits count up from 1, so the same calls always make the same revisions.
public actor InMemoryRemote<Element: Sendable>: ConditionalRemote {
  /// The number of accepted pushes whose tokens are remembered.
  package static var rememberedTokenCount: Int { 1_000 }

  /// The current contents.
  public private(set) var contents: RemoteContents<Element> = .absent
  private var epochCount = 0
  private var commitCount = 0
  /// The remembered tokens, the oldest first.
  private var accepted: [(token: PushToken, revision: RemoteRevision)] = []

  /// Creates a remote without contents.
  public init() {}

  /// Returns the current contents.
  public func pull() -> RemoteContents<Element> { contents }

  /// Replaces the contents if the push's condition holds and its token is new.
  public func push(_ push: ConditionalPush<Element>) -> PushReply {
    if let known = accepted.first(where: { $0.token == push.token }) {
      return .accepted(known.revision)
    }
    switch (push.condition, contents) {
    case (.absent, .absent):
      return accept(push, at: nextEpoch())
    case (.revision(let expected), .present(_, let current)) where expected == current:
      return accept(push, at: nextCommit(in: current.epoch))
    case (_, .present(_, let current)): return .rejected(current: current)
    case (_, .absent): return .rejected(current: nil)
    }
  }

  /// Replaces the contents unconditionally and starts a new epoch, as restoring a backup does.
  public func restart(with elements: [Element]) {
    contents = .present(elements, nextEpoch())
  }

  /// Removes the contents.
  public func remove() {
    contents = .absent
  }

  private func accept(_ push: ConditionalPush<Element>, at revision: RemoteRevision) -> PushReply {
    contents = .present(push.contents, revision)
    accepted = Array(accepted.suffix(Self.rememberedTokenCount - 1))
    accepted.append((push.token, revision))
    return .accepted(revision)
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
