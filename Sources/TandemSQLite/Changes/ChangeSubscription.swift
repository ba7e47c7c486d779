internal import Synchronization

/// What changed for one observer since it last asked, and how it waits for more.
///
/// Changes add up while nobody asks; memory stays bounded, see ``TouchedKeys``.
package final class ChangeSubscription: Sendable {
  private struct State {
    var pending = CommittedChanges()
    var waiter: CheckedContinuation<Void, Never>?
    var isEnded = false

    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
      defer { waiter = nil }
      return waiter
    }
  }

  private let state: Mutex<State>

  /// A subscription to which everything is still new.
  init() {
    var state = State()
    state.pending.isUnknown = true
    self.state = Mutex(state)
  }

  /// Adds changes and wakes who waits for some.
  func publish(_ changes: CommittedChanges) {
    let waiter = state.withLock { state in
      state.pending.formUnion(changes)
      return state.takeWaiter()
    }
    waiter?.resume()
  }

  /// What changed since the last time.
  func take() -> CommittedChanges {
    state.withLock { state in
      defer { state.pending = CommittedChanges() }
      return state.pending
    }
  }

  /// Returns when something changed, or the task is cancelled.
  package func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if !state.pending.isEmpty || state.isEnded { return true }
          state.waiter = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      end()
    }
  }

  /// Wakes who waits, now and from now on.
  private func end() {
    let waiter = state.withLock { state in
      state.isEnded = true
      return state.takeWaiter()
    }
    waiter?.resume()
  }
}
