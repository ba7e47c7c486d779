/// Who wants to know of which changes.
struct SubscriptionRegistry {
  private struct Entry {
    var subscription: ChangeSubscription
    /// `nil` for all changes.
    var interests: [TableInterest]?
    /// The version of the registry since which it has them.
    var version: Int
  }

  /// Grows with every change of interests.
  private(set) var version = 0
  private var entries: [ObjectIdentifier: Entry] = [:]
  private var byInterest: [TableInterest: [ObjectIdentifier]] = [:]
  private var ofEverything: [ObjectIdentifier] = []
  /// Entries of the last versions, for transactions that began before.
  private var recent: [(version: Int, id: ObjectIdentifier)] = []

  var isEmpty: Bool { entries.isEmpty }

  /// Everything that somebody wants to know.
  var interests: [TableInterest] { Array(byInterest.keys) }

  /// Sets what a subscription wants to know; `nil` for all changes.
  mutating func set(_ interests: [TableInterest]?, for subscription: ChangeSubscription) {
    let id = ObjectIdentifier(subscription)
    let former = entries[id]?.interests
    remove(subscription)
    entries[id] = Entry(subscription: subscription, interests: interests, version: version)
    recent.append((version, id))
    guard let interests else { return ofEverything.append(id) }
    for interest in Set(interests) { byInterest[interest, default: []].append(id) }
    // What was committed since it made up its mind was told by what it wanted to know before.
    if let former, former != interests { publishUnknown(to: [id]) }
  }

  mutating func remove(_ subscription: ChangeSubscription) {
    version += 1
    let id = ObjectIdentifier(subscription)
    recent.removeAll { $0.id == id }
    guard let entry = entries.removeValue(forKey: id) else { return }
    ofEverything.removeAll { $0 == id }
    for interest in Set(entry.interests ?? []) {
      byInterest[interest]?.removeAll { $0 == id }
      if byInterest[interest]?.isEmpty == true { byInterest[interest] = nil }
    }
  }

  /// Tells those concerned what was committed by a transaction that noted the interests of an earlier
  /// `version`; those who came later cannot know what it changed.
  mutating func publish(_ touched: [TableInterest: TouchedKeys], noted version: Int) {
    for (interest, keys) in touched {
      var changes = CommittedChanges()
      changes.touched[interest] = keys
      for id in byInterest[interest] ?? [] { entries[id]?.subscription.publish(changes) }
    }
    publishUnknown(to: ofEverything)
    publishUnknown(to: recent.filter { $0.version > version }.map(\.id))
    recent.removeAll { $0.version <= version }
  }

  /// Tells everyone that anything may have changed.
  func publishUnknown() { publishUnknown(to: entries.keys) }

  private func publishUnknown(to ids: some Sequence<ObjectIdentifier>) {
    var changes = CommittedChanges()
    changes.isUnknown = true
    for id in ids { entries[id]?.subscription.publish(changes) }
  }
}
