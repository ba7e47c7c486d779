import TandemDifferences
import TestRandom
import Testing

struct SetDifferenceIdentifiedTests {
  @Test(
    "a difference of identified elements agrees with the definition for every two versions in every order"
  )
  func agreesWithDefinition() throws {
    // Which identity is which does not matter, so one order of the old version stands for all.
    for old in SetTesting.ascendingVersions {
      for new in SetTesting.allVersions {
        guard try Self.isRight(from: old, to: new) else { return }
      }
    }
  }

  /// Compares whole differences, order included.
  private static func isRight(
    from old: [ListItem], to new: [ListItem], _ comment: @autoclosure () -> String = ""
  ) throws -> Bool {
    let difference = try SetDifference(from: old, to: new)
    let expected = SetTesting.naiveDifference(from: old, to: new)
    if difference == expected { return true }
    Issue.record("\(comment()) from \(old) to \(new): \(difference), not \(expected)")
    return false
  }

  @Test("elements are identified by a key path, a closure or an equivalence of one's own")
  func otherForms() throws {
    let old = [ListItem(id: 2, version: 1), ListItem(id: 1, version: 1)]
    let new = [ListItem(id: 1, version: 3), ListItem(id: 2, version: 2)]
    #expect(
      try SetDifference(from: old, to: new, identifiedBy: \.id)
        == SetDifference(from: old, to: new, identifiedBy: { $0.id }))
    let difference = try SetDifference(from: old, to: new, identifiedBy: \.id) { first, second in
      first.version % 2 == second.version % 2
    }
    #expect(difference == SetDifference(updated: [.init(old: old[0], new: new[1])]))
  }

  @Test("the contents of each pair are compared once, in step or not")
  func comparesOnce() throws {
    let items = (0..<200).map { ListItem(id: $0) }
    for other in [items, items.reversed(), Array(items[100...] + items[..<100])] {
      var count = 0
      _ = try SetDifference(from: items, to: other, identifiedBy: \.id) { _, _ in
        count += 1
        return true
      }
      #expect(count == 200)
    }
  }

  // MARK: Long lists

  /// The ways to edit a list that the pairing in step, the look-ahead of 8, the patience of 32 and
  /// the batches of 32 might take amiss.
  enum Edit: CaseIterable {
    case shuffle, reverse, rotate, moveBlock, swapEnds
    case insertBurst, deleteBurst, replaceBurst, replaceMany, updateMany
  }

  private static func apply(_ edit: Edit, to list: inout [ListItem], using random: inout SplitMix64)
  {
    let burst = [1, 7, 8, 9, 31, 32, 33, 64, 100].randomElement(using: &random) ?? 1
    let start = Int.random(in: 0...list.count, using: &random)
    let run = start..<min(list.count, start + burst)
    // Identities from 1000 on are new ones.
    let nextID = (list.map(\.id).max() ?? 0) + 1000
    let fresh = (0..<burst).map { ListItem(id: nextID + $0) }
    switch edit {
    case .shuffle: list.shuffle(using: &random)
    case .reverse: list.reverse()
    case .rotate: list = Array(list[start...] + list[..<start])
    case .moveBlock:
      let block = Array(list[run])
      list.removeSubrange(run)
      list.insert(contentsOf: block, at: Int.random(in: 0...list.count, using: &random))
    case .swapEnds: if list.count > 1 { list.swapAt(0, list.count - 1) }
    case .insertBurst: list.insert(contentsOf: fresh, at: start)
    case .deleteBurst: list.removeSubrange(run)
    case .replaceBurst: list.replaceSubrange(run, with: fresh)
    case .replaceMany:
      for (offset, item) in zip(list.indices, fresh) where offset % 3 == 0 { list[offset] = item }
    case .updateMany:
      for offset in list.indices where Bool.random(using: &random) { list[offset].version += 1 }
    }
  }

  @Test(
    "a difference of identified elements agrees with the definition for long lists after all sorts of edits",
    arguments: 0..<300)
  func longLists(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let count = [0, 1, 31, 32, 33, 63, 64, 65, 127, 300].randomElement(using: &random) ?? 0
    let old = (0..<count).map { ListItem(id: $0) }.shuffled(using: &random)
    var new = old
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let edit = Edit.allCases.randomElement(using: &random) ?? .shuffle
      Self.apply(edit, to: &new, using: &random)
    }
    _ = try Self.isRight(from: old, to: new, "seed \(seed):")
    _ = try Self.isRight(from: new, to: old, "seed \(seed), back:")
  }

  @Test("every distance near the look-ahead is bridged, at every place of a list")
  func distances() throws {
    let old = (0..<40).map { ListItem(id: $0) }
    for length in [1, 7, 8, 9, 31, 32, 33, 40] {
      for start in 0...40 {
        let run = start..<min(40, start + length)
        let fresh = (0..<length).map { ListItem(id: 100 + $0) }
        var (inserted, deleted, replaced) = (old, old, old)
        inserted.insert(contentsOf: fresh, at: start)
        deleted.removeSubrange(run)
        replaced.replaceSubrange(run, with: fresh)
        for new in [inserted, deleted, replaced] {
          guard try Self.isRight(from: old, to: new), try Self.isRight(from: new, to: old) else {
            return
          }
        }
      }
    }
  }

  // MARK: Identities

  /// An identity whose hash says nothing.
  private struct Colliding: Hashable {
    var value: Int
    func hash(into hasher: inout Hasher) {}
  }

  @Test("identities that all have one hash are still told apart", arguments: 0..<20)
  func collisions(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let old = (0..<100).map { ListItem(id: $0) }.shuffled(using: &random)
    var new = old
    for edit in Edit.allCases.shuffled(using: &random).prefix(3) {
      Self.apply(edit, to: &new, using: &random)
    }
    let difference = try SetDifference(
      from: old, to: new, identifiedBy: { Colliding(value: $0.id) })
    #expect(difference == SetTesting.naiveDifference(from: old, to: new), "seed \(seed)")
  }

  private static func violation<Element: Equatable>(
    from old: [Element], to new: [Element], identifiedBy id: (Element) -> some Hashable
  ) -> IdentityViolation? {
    do throws(IdentityViolation) {
      _ = try SetDifference(from: old, to: new, identifiedBy: id)
      return nil
    } catch {
      return error
    }
  }

  @Test("a duplicate is found wherever it stands in lists that are otherwise the same")
  func duplicatesInStep() {
    let list = Array(0..<70)
    for first in list.indices where first % 3 == 0 {
      for second in first + 1..<70 {
        var copy = list
        copy[second] = first
        for (old, new, side) in [(copy, list, IdentityViolation.Side.old), (list, copy, .new)] {
          let violation = Self.violation(from: old, to: new, identifiedBy: { $0 })
          guard let violation, violation.side == side, violation.kind == .duplicate,
            [first, second].contains(violation.offset)
          else {
            Issue.record("\(first) and \(second) in \(side): \(violation as Any)")
            return
          }
        }
      }
    }
  }

  @Test("lists with repetitions are refused, and no others, for every pair of short lists")
  func everyRepetition() {
    let lists = listsWithRepetition(of: [0, 1, 2], maxCount: 4)
    for old in lists {
      for new in lists {
        let violation = Self.violation(from: old, to: new, identifiedBy: { $0 })
        guard Self.isRight(violation, old: old, new: new) else {
          Issue.record("from \(old) to \(new): \(violation as Any)")
          return
        }
      }
    }
  }

  private static func isRight(_ violation: IdentityViolation?, old: [Int], new: [Int]) -> Bool {
    guard let violation else { return Set(old).count == old.count && Set(new).count == new.count }
    let list = violation.side == .old ? old : new
    return violation.kind == .duplicate && list.indices.contains(violation.offset)
      && list.filter { $0 == list[violation.offset] }.count > 1
  }

  @Test("plain values can be their own identities, and records that are identifiable keep theirs")
  func plainValues() throws {
    let difference = try SetDifference(from: ["A", "B"], to: ["B", "C"], identifiedBy: \.self)
    #expect(difference == SetDifference(inserted: ["C"], deleted: ["A"]))
    #expect(throws: IdentityViolation.self) {
      try SetDifference(from: ["A"], to: ["B", "B"], identifiedBy: \.self)
    }
    #expect(throws: IdentityViolation.self) {
      try SetDifference(from: [Double.nan], to: [], identifiedBy: \.self)
    }
    let list = ListDifference(from: ["A", "B"], to: ["B", "C"], identifiedBy: \.self)
    #expect(list.deletions.map(\.element) == ["A"] && list.insertions.map(\.element) == ["C"])
    struct Word: Hashable, Identifiable {
      var id: Int
      var text: String
    }
    let (old, new) = ([Word(id: 1, text: "a")], [Word(id: 1, text: "b")])
    #expect(try SetDifference(from: old, to: new).updated.count == 1)
    #expect(ListDifference(from: old, to: new).updates.count == 1)
  }

  @Test("an identity that does not equal itself is found wherever it stands")
  func incomparable() {
    let list = (0..<40).map(Double.init)
    for offset in list.indices {
      var copy = list
      copy[offset] = .nan
      for (side, other) in [
        (IdentityViolation.Side.old, list), (.new, list), (.old, []), (.new, []),
      ] {
        let violation =
          side == .old
          ? Self.violation(from: copy, to: other, identifiedBy: { $0 })
          : Self.violation(from: other, to: copy, identifiedBy: { $0 })
        #expect(violation == .init(side: side, offset: offset, kind: .incomparable))
      }
    }
  }
}
