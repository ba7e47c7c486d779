import TandemDifferences
import Testing

struct SetDifferenceApplyingTests {
  private typealias Difference = SetDifference<ListItem>

  private static func byID(_ items: [ListItem]) -> [Int: ListItem] {
    Dictionary(uniqueKeysWithValues: items.map { ($0.id, $0) })
  }

  @Test("a difference leads from old to new, and its inverse back, for every two versions")
  func everyPair() throws {
    for old in SetTesting.ascendingVersions {
      for new in SetTesting.ascendingVersions {
        let difference = try SetDifference(from: old, to: new, sortedBy: \.id)
        let oldByID = Self.byID(old)
        let newByID = Self.byID(new)
        guard difference.applying(to: oldByID) == newByID,
          difference.inverted.applying(to: newByID) == oldByID
        else {
          Issue.record("from \(old) to \(new)")
          return
        }
      }
    }
  }

  @Test(
    "applied to an array, elements keep their order, and insertions follow, for every two versions")
  func arrays() throws {
    for old in SetTesting.ascendingVersions {
      let shuffled = Array(old.reversed())
      for new in SetTesting.ascendingVersions {
        let difference = try SetDifference(from: shuffled, to: new, identifiedBy: \.id)
        let newByID = Self.byID(new)
        let stay = shuffled.compactMap { newByID[$0.id] }
        let insertions = new.filter { item in !old.contains { $0.id == item.id } }
        guard difference.applying(toArray: shuffled) == stay + insertions,
          difference.applying(toSorted: old, sortedBy: \.id) == new
        else {
          Issue.record("from \(old) to \(new)")
          return
        }
      }
    }
  }

  @Test("arrays are accepted and rejected as dictionaries are, for every difference and version")
  func arrayMisfits() throws {
    let few = SetTesting.ascendingVersions.filter { $0.count < 3 }
    for old in few {
      for new in few {
        let difference = try SetDifference(from: old, to: new, sortedBy: \.id)
        for other in SetTesting.ascendingVersions {
          let expected = difference.applying(to: Self.byID(other))
          let array = difference.applying(toArray: other)
          let sorted = difference.applying(toSorted: other, sortedBy: \.id)
          guard array.map(Self.byID) == expected, sorted.map(Self.byID) == expected,
            sorted.map({ $0 == $0.sorted { $0.id < $1.id } }) ?? true
          else {
            Issue.record("\(difference) on \(other): \(array ?? []), \(sorted ?? [])")
            return
          }
        }
      }
    }
  }

  @Test(
    "an array with an identity twice, out of order, or with one that cannot be compared is rejected"
  )
  func arrayViolations() {
    let twice = [ListItem(id: 1), ListItem(id: 1)]
    let descending = [ListItem(id: 2), ListItem(id: 1)]
    let empty = Difference()
    #expect(empty.applying(toArray: twice) == nil)
    #expect(empty.applying(toSorted: twice, sortedBy: \.id) == nil)
    #expect(empty.applying(toArray: descending) == descending)
    #expect(empty.applying(toSorted: descending, sortedBy: \.id) == nil)
    let numbers = SetDifference<Double>()
    #expect(numbers.applying(toArray: [.nan], identifiedBy: { $0 }) == nil)
    #expect(numbers.applying(toSorted: [.nan], sortedBy: { $0 }) == nil)
    let insertion = SetDifference(inserted: [Double.nan])
    #expect(insertion.applying(toSorted: [1], sortedBy: { $0 }) == nil)
    let double = Difference(
      updated: [.init(old: twice[0], new: ListItem(id: 1, version: 1))], deleted: [twice[0]])
    #expect(double.applying(toSorted: [twice[0]], sortedBy: \.id) == nil)
    let moved = Difference(updated: [.init(old: twice[0], new: ListItem(id: 2))])
    #expect(moved.applying(toSorted: [twice[0]], sortedBy: \.id) == nil)
  }

  @Test("a difference fits no version but those that agree with the old one where it changes")
  func fitsOnlyItsBase() throws {
    for old in SetTesting.ascendingVersions.filter({ $0.count < 3 }) {
      for new in SetTesting.ascendingVersions.filter({ $0.count < 3 }) {
        let difference = try SetDifference(from: old, to: new, sortedBy: \.id)
        let touched = Set((old + new).map(\.id)).filter { id in
          old.first { $0.id == id } != new.first { $0.id == id }
        }
        for other in SetTesting.ascendingVersions {
          let agrees = touched.allSatisfy { id in
            old.first { $0.id == id } == other.first { $0.id == id }
          }
          guard (difference.applying(to: Self.byID(other)) != nil) == agrees else {
            Issue.record("\(difference) on \(other)")
            return
          }
        }
      }
    }
  }

  @Test("each change that does not fit is listed, and the others are not")
  func misfits() {
    let items = [1: ListItem(id: 1), 2: ListItem(id: 2), 3: ListItem(id: 3)]
    let misfits = Difference(
      inserted: [ListItem(id: 1, version: 1), ListItem(id: 7), ListItem(id: 7, version: 1)],
      updated: [
        .init(old: ListItem(id: 2, version: 9), new: ListItem(id: 2, version: 1)),
        .init(old: ListItem(id: 3), new: ListItem(id: 8)),
        .init(old: ListItem(id: 9), new: ListItem(id: 9, version: 1)),
      ],
      deleted: [ListItem(id: 3, version: 1), ListItem(id: 4)])
    var difference = misfits
    difference.inserted.append(ListItem(id: 5))
    difference.updated.append(.init(old: ListItem(id: 2), new: ListItem(id: 2, version: 3)))
    difference.deleted.append(ListItem(id: 1))
    var expected = misfits
    expected.inserted.remove(at: 1)  // the first insertion of 7 fits, the second does not
    #expect(difference.misfits(in: items, identifiedBy: \.id) == expected)
    #expect(difference.applying(to: items) == nil)
  }

  @Test("of several changes of one identity the first that fits is none of the misfits")
  func changedTwice() {
    let item = ListItem(id: 1)
    let update = Difference.Update(old: item, new: ListItem(id: 1, version: 1))
    let difference = Difference(updated: [update, update], deleted: [item, item])
    let misfits = difference.misfits(in: [1: item], identifiedBy: \.id)
    #expect(misfits == Difference(updated: [update, update], deleted: [item]))
    let updates = Difference(updated: [update, update])
    #expect(
      updates.misfits(in: [1: item], identifiedBy: \.id) == Difference(updated: [update]))
  }

  @Test("an insertion of an identity that is deleted too does not fit: that would be an update")
  func deletedAndInserted() {
    let difference = Difference(inserted: [ListItem(id: 1, version: 1)], deleted: [ListItem(id: 1)])
    #expect(difference.applying(to: [1: ListItem(id: 1)]) == nil)
  }

  @Test("elements that are optionals are applied as any others")
  func optionals() {
    let items: [Int: Int?] = [0: nil]
    let difference = SetDifference<Int?>(inserted: [1], deleted: [nil])
    #expect(difference.applying(to: items, identifiedBy: { $0 ?? 0 }) == [1: 1])
  }
}
