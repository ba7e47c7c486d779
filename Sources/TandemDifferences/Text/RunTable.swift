/// The offsets of runs by hash: linear probing over a bounded number of places.
struct RunTable {
  private struct Entry {
    var hash: UInt64
    var old: Int32
    var new: Int32
  }

  private static let none: Int32 = -1
  private static let many: Int32 = -2
  private static let maxProbeCount = 8

  private var entries: [Entry]
  private let shift: UInt64

  init(expectedCount: Int) {
    let bitCount = max(4, Int.bitWidth - (2 * expectedCount).leadingZeroBitCount)
    let empty = Entry(hash: 0, old: Self.none, new: Self.none)
    entries = Array(repeating: empty, count: 1 << bitCount)
    shift = UInt64(64 - bitCount)
  }

  mutating func recordOld(_ hash: UInt64, at offset: Int) {
    guard let index = place(of: hash) else { return }
    let isNew = entries[index].old == Self.none
    entries[index].hash = hash
    entries[index].old = isNew ? Int32(truncatingIfNeeded: offset) : Self.many
  }

  mutating func recordNew(_ hash: UInt64, at offset: Int) {
    guard let index = place(of: hash), entries[index].old >= 0 else { return }
    let isNew = entries[index].new == Self.none
    entries[index].new = isNew ? Int32(truncatingIfNeeded: offset) : Self.many
  }

  func counterpart(of hash: UInt64) -> Int? {
    guard let index = place(of: hash), entries[index].old >= 0, entries[index].new >= 0 else {
      return nil
    }
    return Int(entries[index].new)
  }

  /// Returns the index of the entry of `hash`, or of the empty one where it belongs; `nil` if the
  /// place is crowded.
  @inline(__always)
  private func place(of hash: UInt64) -> Int? {
    var index = Int(truncatingIfNeeded: hash &>> shift)
    for _ in 0..<Self.maxProbeCount {
      if entries[index].old == Self.none || entries[index].hash == hash { return index }
      index = (index + 1) & (entries.count - 1)
    }
    return nil
  }
}
