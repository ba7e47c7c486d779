/// The elements of a list without a partner so far, found by identity in the order of their
/// offsets.
@usableFromInline
struct UnpairedOccurrences: ~Copyable {
  /// The offsets, ascending.
  @usableFromInline let offsets: [Int]
  /// Finds, by identity, the position in `offsets` of the last with that identity.
  @usableFromInline let index: IdentityIndex
  /// For each position, the number of its pair, or -1.
  @usableFromInline var pairNumbers: [Int]
  /// Empty if no identity occurs twice. Otherwise, for each position, the next position with the
  /// same identity that has no pair. After the last one comes the first one.
  @usableFromInline var successors: [Int] = []

  @usableFromInline static var none: Int { -1 }

  /// - Complexity: O(*n*) expected time for *n* offsets, however often an identity occurs.
  @inlinable @inline(__always)
  init<Element, ID: Hashable>(
    of elements: UnsafeBufferPointer<Element>, at offsets: [Int], id: (Element) -> ID
  ) {
    self.offsets = offsets
    let index = IdentityIndex(capacity: offsets.count)
    var successors: [Int] = []
    // Backwards, so that the index has the last of an identity.
    index.forEachBatch(of: elements, at: offsets, positions: offsets.indices.reversed(), id: id) {
      position, hash in
      let identity = id(elements[offsets[position]])
      // An identity that does not equal itself, as NaN, can have no partner, and many of them would
      // fill the table.
      guard identity == identity else { return }
      let last = index.insert(
        position, hash: hash, unless: { id(elements[offsets[$0]]) == identity })
      guard let last else { return }
      if successors.isEmpty { successors = Array(offsets.indices) }
      successors[position] = successors[last]
      successors[last] = position
    }
    self.index = index
    self.successors = successors
    pairNumbers = Array(repeating: Self.none, count: offsets.count)
  }

  /// Calls `body` for each of `others`, with the offset of the first element of its identity that
  /// has no partner yet, or with `nil` if there is none. Such elements are pairs from then on, and
  /// numbered in this order.
  @inlinable @inline(__always)
  mutating func forEachPartner<Element, ID: Hashable>(
    of others: UnsafeBufferPointer<Element>, at otherOffsets: [Int],
    among elements: UnsafeBufferPointer<Element>, id: (Element) -> ID,
    body: (_ partner: Int?, _ other: Int) -> Void
  ) {
    var pairCount = 0
    index.forEachBatch(
      of: others, at: otherOffsets, positions: otherOffsets.indices, id: id
    ) { position, hash in
      let other = otherOffsets[position]
      let identity = id(others[other])
      let last = index.offset(hash: hash, where: { id(elements[offsets[$0]]) == identity })
      guard let last, pairNumbers[last] == Self.none else {
        body(nil, other)
        return
      }
      var first = last
      if !successors.isEmpty {
        first = successors[last]
        successors[last] = successors[first]
      }
      pairNumbers[first] = pairCount
      pairCount += 1
      body(offsets[first], other)
    }
  }

  /// The offsets without a partner, ascending.
  @inlinable
  var remaining: [Int] {
    offsets.indices.filter { pairNumbers[$0] == Self.none }.map { offsets[$0] }
  }
}
