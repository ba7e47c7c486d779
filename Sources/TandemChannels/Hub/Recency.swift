/// Remembered values in the order in which they were last sent: a doubly linked list in an array, in
/// which each step costs O(1).
struct Recency {
  struct Entry {
    var node: ChannelNode
    var property: AnyKeyPath
  }

  private struct Link {
    var entry: Entry?
    var older: Int
    var newer: Int
  }

  /// Link 0 stands before the oldest and after the newest.
  private var links = [Link(entry: nil, older: 0, newer: 0)]
  private var free: [Int] = []
  private(set) var count = 0

  /// Adds an entry as the newest; returns its place.
  mutating func append(_ entry: Entry) -> Int {
    let place = free.popLast() ?? links.count
    let link = Link(entry: entry, older: 0, newer: 0)
    if place == links.count { links.append(link) } else { links[place] = link }
    insertNewest(place)
    count += 1
    return place
  }

  /// Makes an entry the newest.
  mutating func touch(_ place: Int) {
    unlink(place)
    insertNewest(place)
  }

  mutating func remove(_ place: Int) {
    unlink(place)
    links[place].entry = nil
    free.append(place)
    count -= 1
  }

  mutating func removeOldest() -> Entry? {
    let place = links[0].newer
    guard let entry = links[place].entry else { return nil }
    remove(place)
    return entry
  }

  /// The entries, oldest first.
  var entries: [Entry] {
    sequence(first: links[0].newer) { links[$0].newer }.prefix { $0 != 0 }
      .compactMap { links[$0].entry }
  }

  private mutating func insertNewest(_ place: Int) {
    let newest = links[0].older
    links[place].older = newest
    links[place].newer = 0
    links[newest].newer = place
    links[0].older = place
  }

  private mutating func unlink(_ place: Int) {
    let link = links[place]
    links[link.older].newer = link.newer
    links[link.newer].older = link.older
  }
}
