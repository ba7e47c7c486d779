/// Values that wait, the latest of each key, in the order in which they were put.
///
/// Each step costs O(1) on average, except those that say otherwise.
struct LatestQueue<Key: Hashable, Value> {
  private struct Place {
    var key: Key
    var number: UInt64
  }

  private struct Entry {
    var value: Value
    var number: UInt64
  }

  /// A place whose number is not the one that its key has now is an earlier one.
  private var order: [Place] = []
  private var first = 0
  private var entries: [Key: Entry] = [:]
  private var lastNumber: UInt64 = 0

  /// How many places may be outdated beside as many as there are keys.
  private static var spareCount: Int { 32 }

  var count: Int { entries.count }
  var isEmpty: Bool { entries.isEmpty }

  /// The value that waits for a key.
  subscript(key: Key) -> Value? { entries[key]?.value }

  /// Puts a value behind all others, after `merge` has made it one with that of its key, if there is one.
  mutating func append(
    _ value: Value, for key: Key, merging merge: (inout Value, Value) -> Void = { $0 = $1 }
  ) {
    lastNumber += 1
    if let index = entries.index(forKey: key) {
      merge(&entries.values[index].value, value)
      entries.values[index].number = lastNumber
    } else {
      entries[key] = Entry(value: value, number: lastNumber)
    }
    order.append(Place(key: key, number: lastNumber))
    // A key may be put without end while nothing is taken.
    guard order.count > 2 * entries.count + Self.spareCount else { return }
    order = order[first...].filter(isCurrent)
    first = 0
  }

  /// Puts values before all others, in their order; of keys that have none. O(places).
  mutating func prepend(_ values: [(key: Key, value: Value)]) {
    let rest = order[first...]
    order = []
    first = 0
    for (key, value) in values {
      lastNumber += 1
      entries[key] = Entry(value: value, number: lastNumber)
      order.append(Place(key: key, number: lastNumber))
    }
    order += rest
  }

  /// Changes the value of a key where it is, if there is one; removes it if `change` returns `false`.
  mutating func update(_ key: Key, _ change: (inout Value) -> Bool) {
    guard let index = entries.index(forKey: key) else { return }
    if !change(&entries.values[index].value) { entries.remove(at: index) }
  }

  /// Takes the value that has waited longest, if `isWanted` says so.
  mutating func removeFirst(if isWanted: (Value) -> Bool = { _ in true }) -> Value? {
    while first < order.count, !isCurrent(order[first]) { first += 1 }
    guard first < order.count, let value = entries[order[first].key]?.value, isWanted(value) else {
      return nil
    }
    entries[order[first].key] = nil
    first += 1
    if first * 2 > order.count {
      order.removeFirst(first)
      first = 0
    }
    return value
  }

  /// Takes all values, in order. O(places).
  mutating func removeAll() -> [Value] {
    defer { self = LatestQueue() }
    return order[first...].compactMap { isCurrent($0) ? entries[$0.key]?.value : nil }
  }

  private func isCurrent(_ place: Place) -> Bool { entries[place.key]?.number == place.number }
}
