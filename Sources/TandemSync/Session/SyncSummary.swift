/// The state of a replica's file, as far as the next step of a synchronization depends on it.
package struct SyncSummary: Hashable, Sendable {
  /// The commit that waits for its outcome.
  package struct Outbox: Hashable, Sendable {
    /// Its identity.
    package let commit: SyncToken
    /// The number of its changes.
    package let changeCount: Int
    /// The number of its parts.
    package let partCount: Int
    /// True if the step before made the commit, so that no attempt to send it can be under way.
    package var isNew: Bool

    /// A commit that waits.
    package init(commit: SyncToken, changeCount: Int, partCount: Int = 1, isNew: Bool = false) {
      self.commit = commit
      self.changeCount = changeCount
      self.partCount = partCount
      self.isNew = isNew
    }
  }

  /// The pull that has to come before the next commit.
  package enum Pull: Hashable, Sendable {
    /// None.
    case none
    /// This page is missing next.
    case page(SyncPull)
    /// All pages are there and wait to be applied.
    case staged
  }

  /// The revision of the base; `nil` before the first pull.
  package var revision: SpaceRevision?
  /// The commit that waits for its outcome; `nil` if none does.
  package var outbox: Outbox?
  /// The pull that has to come before the next commit.
  package var pull: Pull
  /// True if rows may differ from the base.
  package var hasChanges: Bool
  /// True if the base has the digest of the space at the revision.
  package var hasEqualDigests: Bool

  package init(
    revision: SpaceRevision?, outbox: Outbox?, pull: Pull, hasChanges: Bool, hasEqualDigests: Bool
  ) {
    self.revision = revision
    self.outbox = outbox
    self.pull = pull
    self.hasChanges = hasChanges
    self.hasEqualDigests = hasEqualDigests
  }
}

/// A step on a replica's file: one transaction.
///
/// Each step looks at the file anew and does nothing if it does not apply any more, because another
/// process may synchronize the same file. So a crash between two steps changes nothing.
package enum SyncStep: Hashable, Sendable {
  /// Reads the state.
  case look
  /// Demands a pull of the changes since the revision.
  case requirePull
  /// Makes a commit of the local changes and stores it as outbox, unless a pull has to come first.
  case freeze
  /// Takes note of the outcome of a commit.
  case settle(SyncOutcome, of: SyncToken)
  /// Makes the changes of a commit, which the space certainly did not process, local edits again.
  case takeBack(SyncToken)
  /// Takes a page that answers a request: stores it if more follow, otherwise applies all. Where the
  /// application has to decide first, it stores the last page as well.
  case stage(SyncPage, for: SyncPull)
  /// Forgets the pages of a pull that starts again.
  case discardStaged
  /// Applies the staged pages, the last of which is there.
  case apply
  /// Applies the page of an event as the answer to a pull of the changes after a revision, if the
  /// replica is exactly there and no commit waits for its outcome. Otherwise it demands a pull.
  case receive(SyncPage, after: SpaceRevision)
  /// Takes note that the space cannot continue from the revision of a request.
  case lose(SyncGone, for: SyncPull)
  /// Compares the base with the digest of the space, and demands a pull of everything if they
  /// differ.
  case verify
}
