import TandemDifferences
import Testing

@Suite("Elements with the same identity")
struct DuplicatePolicyTests {
  private let old = [ListItem(id: 1), ListItem(id: 2), ListItem(id: 1, version: 1)]
  private let new = [ListItem(id: 2, version: 5), ListItem(id: 3), ListItem(id: 2)]

  @Test("the first or the last of them is compared, in its place")
  func choice() throws {
    let first = try SetDifference(from: old, to: new, identifiedBy: \.id, duplicates: .first)
    #expect(
      first
        == SetDifference(
          inserted: [new[1]], updated: [.init(old: old[1], new: new[0])], deleted: [old[0]]))
    let last = try SetDifference(from: old, to: new, identifiedBy: \.id, duplicates: .last)
    #expect(last == SetDifference(inserted: [new[1]], deleted: [old[2]]))
    #expect(try DuplicatePolicy.first.unique(old, identifiedBy: \.id) == [old[0], old[1]])
    #expect(try DuplicatePolicy.last.unique(old, identifiedBy: \.id) == [old[1], old[2]])
  }

  @Test("by the strict policy they are an error that names the version and the element")
  func rejection() {
    #expect(throws: IdentityViolation(side: .old, offset: 2, kind: .duplicate)) {
      try SetDifference(from: old, to: new, identifiedBy: \.id, duplicates: .error)
    }
    #expect(throws: IdentityViolation(side: .new, offset: 2, kind: .duplicate)) {
      try DuplicatePolicy.error.unique(new, identifiedBy: \.id)
    }
    for policy in DuplicatePolicy.allCases {
      #expect(throws: IdentityViolation(side: .new, offset: 1, kind: .incomparable)) {
        try policy.unique([1, .nan], identifiedBy: { $0 })
      }
      #expect(throws: IdentityViolation(side: .old, offset: 1, kind: .incomparable)) {
        try SetDifference(from: [1, .nan], to: [], identifiedBy: { $0 }, duplicates: policy)
      }
    }
  }

  @Test("versions without duplicates are compared as without a policy, for every two versions")
  func clean() throws {
    for old in SetTesting.ascendingVersions {
      for new in SetTesting.ascendingVersions {
        let expected = try SetDifference(from: old, to: new, identifiedBy: \.id)
        for policy in DuplicatePolicy.allCases {
          let found = try SetDifference(
            from: old, to: new, identifiedBy: \.id, duplicates: policy)
          #expect(found == expected)
          #expect(try policy.unique(new, identifiedBy: \.id) == new)
        }
      }
    }
  }
}
