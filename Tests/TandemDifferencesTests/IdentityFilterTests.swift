import TestRandom
import Testing

@testable import TandemDifferences

/// Lists that mostly keep their order are proved free of repeated identities by a filter; these tests
/// try to deceive it.
@Suite("IdentityFilter")
struct IdentityFilterTests {
  struct Row<ID: Hashable & Sendable>: Equatable, Identifiable, Sendable {
    var id: ID
    var value = 0
  }

  /// An identity whose hash says nothing.
  struct Plain: Hashable {
    var number: Int

    func hash(into hasher: inout Hasher) {}
  }

  /// The number the filter scrambles to `scrambled`: its steps undone, last to first.
  static func unscrambled(_ scrambled: UInt64) -> UInt64 {
    func inverse(_ factor: UInt64) -> UInt64 {
      // Newton's iteration: each step doubles the number of correct bits.
      (0..<6).reduce(factor) { inverse, _ in inverse &* (2 &- factor &* inverse) }
    }
    var number = scrambled &* inverse(0xC4CE_B9FE_1A85_EC53)
    number ^= number >> 33
    number = number &* inverse(0xFF51_AFD7_ED55_8CCD)
    return number ^ (number >> 33)
  }

  /// Identities that all have the same place in the filter.
  static let colliding = (0..<300).map { unscrambled(0xABCD_EF01_0000_0000 | $0) }

  /// Tries `ids` as they are, and with each of some repeated elsewhere, on either side and on both.
  func check<ID: Hashable & Sendable>(
    _ ids: [ID], sourceLocation: SourceLocation = #_sourceLocation
  )
    throws
  {
    let good = ids.map { Row(id: $0) }
    #expect(try SetDifference(from: good, to: good).isEmpty, sourceLocation: sourceLocation)
    #expect(
      try ThreeWayMerge(base: .known(good), local: good, remote: good).merged == good,
      sourceLocation: sourceLocation)
    for (original, copy) in [(0, ids.count - 1), (10, 11), (150, 20), (ids.count - 1, 0)] {
      var bad = good
      bad[copy].id = ids[original]
      let offset = max(original, copy)
      func expect(_ old: [Row<ID>], _ new: [Row<ID>], _ sides: Set<IdentityViolation.Side>) {
        do throws(IdentityViolation) {
          _ = try SetDifference(from: old, to: new)
          Issue.record("\(original), \(copy) passed", sourceLocation: sourceLocation)
        } catch {
          #expect(error.kind == .duplicate, sourceLocation: sourceLocation)
          #expect(sides.contains(error.side), sourceLocation: sourceLocation)
          if error.side == .old { #expect(error.offset == offset, sourceLocation: sourceLocation) }
        }
      }
      expect(bad, good, [.old])
      expect(good, bad, [.new])
      expect(bad, bad, [.old, .new])
      for (side, rows) in [
        (MergeError.Side.base, [bad, good, good]), (.local, [good, bad, good]),
        (.remote, [good, good, bad]), (.base, [bad, bad, bad]), (.local, [good, bad, bad]),
      ] {
        #expect(
          throws: MergeError.identity(side: side, offset: offset, kind: .duplicate),
          sourceLocation: sourceLocation
        ) { try ThreeWayMerge(base: .known(rows[0]), local: rows[1], remote: rows[2]) }
      }
    }
  }

  @Test("numbers chosen to collide do share a place")
  func collisions() {
    let filter = IdentityFilter(capacity: Self.colliding.count)
    #expect(Set(Self.colliding.map { filter.place(of: $0) }).count == 1)
    #expect(Set(Self.colliding).count == Self.colliding.count)
  }

  @Test("a repeated identity is found wherever it is, among numbers chosen to collide")
  func collidingNumbers() throws {
    try check(Self.colliding)
    try check(Self.colliding.map { Int64(bitPattern: $0) })
    try check(Self.colliding.map { Int(truncatingIfNeeded: $0) })
  }

  @Test("a repeated identity is found wherever it is, among numbers, strings and equal hashes")
  func otherIdentities() throws {
    try check(Array(0..<300))
    try check((0..<300).map { Int32($0) << 16 })
    try check((0..<300).map { UInt64($0) << 40 })
    try check((0..<300).map { "row \($0)" })
    try check((0..<300).map { Plain(number: $0) })
  }

  @Test("an identity that is not a number is found, on one side alone or in the same place on all")
  func incomparable() {
    let good = (0..<300).map { Row(id: Double($0)) }
    var bad = good
    bad[200].id = .nan
    for new in [good, bad] {
      #expect(throws: IdentityViolation(side: .old, offset: 200, kind: .incomparable)) {
        try SetDifference(from: bad, to: new)
      }
    }
    for (side, rows) in [
      (MergeError.Side.base, [bad, good, good]), (.local, [good, bad, good]),
      (.remote, [good, good, bad]), (.base, [bad, bad, bad]),
    ] {
      #expect(throws: MergeError.identity(side: side, offset: 200, kind: .incomparable)) {
        try ThreeWayMerge(base: .known(rows[0]), local: rows[1], remote: rows[2])
      }
    }
  }

  @Test("suspects are all elements that repeat, here or in the rest, and few others")
  func suspects() {
    let rows = (0..<1_000).map { Row(id: $0 == 700 ? 30 : $0 &* 0x1E37_79B9_7F4A_7C15) }
    var bad = rows
    bad[30].id = 30
    let rest = [Row(id: bad[500].id), Row(id: -1)]
    let suspects = bad.withUnsafeBufferPointer { bad in
      rest.withUnsafeBufferPointer { rest in
        IdentityFilter.suspects(in: bad, or: [ElementRuns(rest, in: [0..<1])], id: { $0.id })
      }
    }
    let offsets = suspects.flatMap { Array($0) }
    #expect(Set([30, 700, 500]).isSubset(of: offsets))
    #expect(offsets == offsets.sorted())
    #expect(offsets.count < 200)
  }

  @Test(
    "with edits all over the lists, what is paired agrees with dictionaries", arguments: 0..<200)
  func random(seed: Int) throws {
    var generator = SplitMix64(seed: seed)
    let collides = seed.isMultiple(of: 2)
    let ids = collides ? Self.colliding : (0..<300).map { $0 &* 0x9E37_79B9_7F4A_7C15 }
    func version() -> [MergeItem] {
      var items: [MergeItem] = []
      for id in ids where Int.random(in: 0..<20, using: &generator) > 0 {
        let value = Int.random(in: 0..<20, using: &generator) == 0 ? 1 : 0
        items.append(MergeItem(Int(truncatingIfNeeded: id), value))
      }
      for _ in 0..<Int.random(in: 0..<4, using: &generator) {
        let (from, to) = (items.indices.randomElement(using: &generator) ?? 0, items.count / 2)
        items.insert(items.remove(at: from), at: to)
      }
      return items
    }
    let (base, local, remote) = (version(), version(), version())
    let difference = try SetDifference(from: base, to: local)
    #expect(difference.applied(to: base) == Set(local), "seed \(seed)")
    let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
    let oracle = MergeOracle(base: base, local: local, remote: remote)
    #expect(merge.merged == oracle.merged, "seed \(seed)")
    #expect(
      Dictionary(uniqueKeysWithValues: merge.conflicts.map { ($0.id, $0.conflict) })
        == oracle.conflicts, "seed \(seed)")
  }
}
