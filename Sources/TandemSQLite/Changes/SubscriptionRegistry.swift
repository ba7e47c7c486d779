internal import Synchronization

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
