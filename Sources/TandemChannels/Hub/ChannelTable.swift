/// The channels of a hub by their addresses: open addressing with linear probing.
///
/// An address has its hash stored, so a look-up computes none, and a place costs one pointer. The places are
/// allocated memory with manual reference counts instead of an array: this saves each send the checks of
/// exclusive access and the counting of references.
final class ChannelTable {
  /// The number of channels.
  private(set) var count = 0
  /// A power of two, of which a quarter at least is empty.
  private var placeCount: Int
  private var places: UnsafeMutablePointer<Unmanaged<ChannelNode>?>

  private static let minPlaceCount = 8

  init() {
    placeCount = Self.minPlaceCount
    places = Self.emptyPlaces(placeCount)
  }

  deinit {
    for place in 0..<placeCount { places[place]?.release() }
    places.deallocate()
  }

  private static func emptyPlaces(_ count: Int) -> UnsafeMutablePointer<Unmanaged<ChannelNode>?> {
    let places = UnsafeMutablePointer<Unmanaged<ChannelNode>?>.allocate(capacity: count)
    places.initialize(repeating: nil, count: count)
    return places
  }

  /// All channels, in no order.
  var nodes: [ChannelNode] {
    (0..<placeCount).compactMap { places[$0]?.takeUnretainedValue() }
  }

  /// The channel at an address.
  ///
  /// - Complexity: O(1) on average.
  func node(at address: ChannelAddress) -> ChannelNode? {
    guard let node = find(address) else { return nil }
    return node.takeUnretainedValue()
  }

  /// The bindings of the channel at an address, without counting a reference to the channel.
  ///
  /// - Complexity: O(1) on average.
  @inline(__always)
  func listeners(at address: ChannelAddress) -> ChannelListeners? {
    guard let node = find(address) else { return nil }
    return node._withUnsafeGuaranteedRef { $0.listeners }
  }

  @inline(__always)
  private func find(_ address: ChannelAddress) -> Unmanaged<ChannelNode>? {
    var place = home(of: address)
    while let found = places[place] {
      let isIt = found._withUnsafeGuaranteedRef { $0.address === address || $0.address == address }
      if isIt { return found }
      place = next(place)
    }
    return nil
  }

  /// Adds a channel whose address has none.
  func insert(_ node: ChannelNode) {
    if (count + 1) * 4 > placeCount * 3 { resize(to: placeCount * 2) }
    put(.passRetained(node))
    count += 1
  }

  /// Removes a channel, if it is there, and moves the channels behind it to the places where a look-up finds them.
  func remove(_ node: ChannelNode) {
    guard var hole = place(of: node) else { return }
    places[hole]?.release()
    places[hole] = nil
    count -= 1
    var place = next(hole)
    while let follower = places[place] {
      let home = home(of: follower.takeUnretainedValue().address)
      if distance(from: home, to: place) >= distance(from: hole, to: place) {
        places[hole] = follower
        places[place] = nil
        hole = place
      }
      place = next(place)
    }
    if placeCount > Self.minPlaceCount, count * 8 < placeCount { resize(to: placeCount / 2) }
  }

  private func home(of address: ChannelAddress) -> Int { address.hash & (placeCount - 1) }

  private func next(_ place: Int) -> Int { (place + 1) & (placeCount - 1) }

  private func distance(from first: Int, to second: Int) -> Int {
    (second &- first) & (placeCount - 1)
  }

  private func place(of node: ChannelNode) -> Int? {
    var place = home(of: node.address)
    while let other = places[place] {
      if other.toOpaque() == Unmanaged.passUnretained(node).toOpaque() { return place }
      place = next(place)
    }
    return nil
  }

  private func put(_ node: Unmanaged<ChannelNode>) {
    var place = home(of: node.takeUnretainedValue().address)
    while places[place] != nil { place = next(place) }
    places[place] = node
  }

  private func resize(to count: Int) {
    let (old, oldCount) = (places, placeCount)
    (places, placeCount) = (Self.emptyPlaces(count), count)
    for place in 0..<oldCount {
      if let node = old[place] { put(node) }
    }
    old.deallocate()
  }
}
