internal import Synchronization

/// The changes for one observer since its last snapshot, and its wait for more.
///
/// Changes accumulate until they are taken; memory stays bounded, see ``TouchedKeys``.
package final class ChangeSubscription: Sendable {
  /// Called after each commit of this process that concerns the subscription, on the writer's
  /// connection, before its next transaction.
  package typealias CommitAction = @Sendable (DatabaseConnection) -> Void

  private struct State {
    var pending: CommittedChanges
    var waiter: CheckedContinuation<Void, Never>?
    /// True if the next wait is to end at once.
    var isWoken = false
    var isEnded = false

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      defer { waiter = nil }
      return waiter
    }
  }

  private let state: Mutex<State>

  let onCommit: CommitAction?

  /// A subscription for which everything is new.
  init(onCommit: CommitAction? = nil) {
    state = Mutex(State(pending: .unknown))
    self.onCommit = onCommit
  }

  /// True if there are changes that have not been taken.
  package var hasChanges: Bool { state.withLock { !$0.pending.isEmpty } }

  /// True if anything may have changed, as by another process.
  package var hasUnknownChanges: Bool { state.withLock { $0.pending.isUnknown } }

  /// Adds changes and ends the wait.
  func publish(_ changes: CommittedChanges) {
    let waiter = state.withLock { state in
      state.pending.formUnion(changes)
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Returns the changes since the last call.
  func take() -> CommittedChanges {
    state.withLock { state in
      defer { state.pending = CommittedChanges() }
      return state.pending
    }
  }

  /// Takes the changes since the last call, unless anything may have changed; `false` then.
  func takeKnown() -> Bool {
    state.withLock { state in
      guard !state.pending.isUnknown else { return false }
      state.pending = CommittedChanges()
      return true
    }
  }

  /// Ends the wait, or the next one, though there may be no changes.
  package func wake() {
    let waiter = state.withLock { state in
      state.isWoken = true
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// Returns when there are changes, after ``wake()``, or when the task is cancelled.
  package func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          defer { state.isWoken = false }
          if !state.pending.isEmpty || state.isWoken || state.isEnded { return true }
          state.waiter = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      end()
    }
  }

  /// Ends this wait and all later ones.
  private func end() {
    let waiter = state.withLock { state in
      state.isEnded = true
      return state.takeWaiter()
    }
    waiter?.resume()
  }
}
