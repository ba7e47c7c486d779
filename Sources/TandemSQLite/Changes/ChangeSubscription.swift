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

/// The subscriptions of a feed, by their interests.
struct SubscriptionRegistry {
  private struct Entry {
    var subscription: ChangeSubscription
    /// `nil` for all changes.
    var interests: [TableInterest]?
    /// The registry's version when the interests were set.
    var version: Int
  }

  /// Grows with every change of interests.
  private(set) var version = 0
  private var entries: [ObjectIdentifier: Entry] = [:]
  private var byInterest: [TableInterest: [ObjectIdentifier]] = [:]
  private var ofEverything: [ObjectIdentifier] = []
  /// Those with an action, in no order.
  private(set) var withAction: [ChangeSubscription] = []
  /// The entries of the last versions, for transactions that began before.
  private var recent: [(version: Int, id: ObjectIdentifier)] = []

  var isEmpty: Bool { entries.isEmpty }

  /// The interests of all subscriptions.
  var interests: [TableInterest] { Array(byInterest.keys) }

  /// Sets the interests of a subscription; `nil` for all changes.
  mutating func set(_ interests: [TableInterest]?, for subscription: ChangeSubscription) {
    let id = ObjectIdentifier(subscription)
    let former = entries[id]?.interests
    remove(subscription)
    entries[id] = Entry(subscription: subscription, interests: interests, version: version)
    if subscription.onCommit != nil { withAction.append(subscription) }
    recent.append((version, id))
    guard let interests else { return ofEverything.append(id) }
    for interest in Set(interests) { byInterest[interest, default: []].append(id) }
    // The changes so far were published by the former interests.
    if let former, former != interests { publishUnknown(to: [id]) }
  }

  mutating func remove(_ subscription: ChangeSubscription) {
    version += 1
    let id = ObjectIdentifier(subscription)
    recent.removeAll { $0.id == id }
    guard let entry = entries.removeValue(forKey: id) else { return }
    ofEverything.removeAll { $0 == id }
    if subscription.onCommit != nil { withAction.removeAll { $0 === subscription } }
    for interest in Set(entry.interests ?? []) {
      byInterest[interest]?.removeAll { $0 == id }
      if byInterest[interest]?.isEmpty == true { byInterest[interest] = nil }
    }
  }

  /// Publishes a transaction that recorded keys for the interests of a version of the registry. For
  /// subscriptions that came later, the changes are unknown.
  mutating func publish(_ touched: [TableInterest: TouchedKeys], recordedFor version: Int?) {
    let version = version ?? -1
    for (interest, keys) in touched {
      var changes = CommittedChanges()
      changes.touched[interest] = keys
      for id in byInterest[interest] ?? [] { entries[id]?.subscription.publish(changes) }
    }
    publishUnknown(to: ofEverything)
    publishUnknown(to: recent.filter { $0.version > version }.map(\.id))
    recent.removeAll { $0.version <= version }
  }

  /// Publishes changes of unknown extent to all subscriptions.
  func publishUnknown() { publishUnknown(to: entries.keys) }

  private func publishUnknown(to ids: some Sequence<ObjectIdentifier>) {
    for id in ids { entries[id]?.subscription.publish(.unknown) }
  }
}
