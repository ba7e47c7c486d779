import TandemDifferences
import Testing

struct IdentityViolationTests {
  /// All lists of up to three of these identities: many of them break the order, in all ways.
  private static let lists = listsWithRepetition(of: [0.0, 1.0, 2.0, .nan], maxCount: 3)

  @Test(
    "the sorted form names the first wrong element of a version, from memory and from elsewhere")
  func everyPair() {
    for old in Self.lists {
      for new in Self.lists {
        let violation = Self.violation(from: old, to: new)
        let sequenceViolations = [
          Self.violation(from: AnySequence(old), to: AnySequence(new)),
          Self.violation(from: old, to: AnySequence(new)),
          Self.violation(from: AnySequence(old), to: new),
        ]
        let firsts = [
          Self.firstViolation(in: old, side: .old), Self.firstViolation(in: new, side: .new),
        ].compactMap { $0 }
        let isRight = violation.map(firsts.contains) ?? firsts.isEmpty
        guard isRight, sequenceViolations.allSatisfy({ $0 == violation }) else {
          Issue.record("from \(old) to \(new): \(violation as Any), \(sequenceViolations)")
          return
        }
      }
    }
  }

  private static func violation<Identity: Comparable>(
    from old: some Sequence<Identity>, to new: some Sequence<Identity>
  ) -> IdentityViolation? {
    do throws(IdentityViolation) {
      _ = try SetDifference(from: old, to: new, sortedBy: { $0 })
      return nil
    } catch {
      return error
    }
  }

  /// The violation by its definition.
  private static func firstViolation(
    in list: [Double], side: IdentityViolation.Side
  ) -> IdentityViolation? {
    for offset in list.indices {
      let kind: IdentityViolation.Kind
      if list[offset].isNaN {
        kind = .incomparable
      } else if offset > 0, list[offset] == list[offset - 1] {
        kind = .duplicate
      } else if offset > 0, list[offset] < list[offset - 1] {
        kind = .descending
      } else {
        continue
      }
      return IdentityViolation(side: side, offset: offset, kind: kind)
    }
    return nil
  }

  /// Sets ordered by inclusion: of two, neither need be less.
  private struct Inclusion: Comparable {
    var members: Set<Int>
    static func < (first: Self, second: Self) -> Bool {
      first.members.isStrictSubset(of: second.members)
    }
  }

  @Test("identities of a partial order are reported where they cannot be compared")
  func partialOrder() {
    let sets = [[1], [2]].map { Inclusion(members: $0) }
    let violations = [
      Self.violation(from: [sets[0]], to: [sets[1]]),
      Self.violation(from: [sets[0]], to: AnySequence([sets[1]])),
    ]
    #expect(violations.allSatisfy { $0 == .init(side: .new, offset: 0, kind: .incomparable) })
    #expect(
      Self.violation(from: [sets[0], sets[1]], to: [])
        == .init(side: .old, offset: 1, kind: .incomparable))
  }

  @Test("a violation reads as a sentence that names the element")
  func sentences() {
    let sentences = [IdentityViolation.Kind.duplicate, .descending, .incomparable].map {
      IdentityViolation(side: .new, offset: 3, kind: $0).description
    }
    #expect(
      sentences == [
        "element 3 of the new version has the same identity as another one",
        "element 3 of the new version is out of order: its identity is less than the one before",
        "element 3 of the new version has an identity that cannot be compared, such as NaN",
      ])
  }
}
