import TandemDifferences
import TandemHTTP
import TandemMirror
import TandemRecords
import TandemSQLite
import Testing

struct MirrorGuardTests {
  @Test("without a limit, more than half of more than 20 elements are refused, and nothing else")
  func standard() {
    for existing in 0...60 {
      for deleted in 0...existing {
        let refusal = MirrorGuard().refusal(
          sourceCount: 1, existingCount: existing, deletionCount: deleted)
        guard (refusal != nil) == (existing > 20 && deleted * 2 > existing) else {
          Issue.record("\(deleted) of \(existing): \(refusal as Any)")
          return
        }
      }
    }
  }

  @Test("an explicit limit holds for destinations of every size")
  func explicit() {
    for limit in [MirrorDeletionLimit.count(0), .count(3), .percentage(10), .percentage(100)] {
      for existing in 0...60 {
        for deleted in 0...existing {
          let refusal = MirrorGuard(deletionLimit: limit).refusal(
            sourceCount: 1, existingCount: existing, deletionCount: deleted)
          guard (refusal != nil) == (deleted > limit.maxDeletionCount(of: existing)) else {
            Issue.record("\(deleted) of \(existing) with \(limit): \(refusal as Any)")
            return
          }
        }
      }
    }
  }

  @Test(
    "an empty source is refused if the destination has any element", arguments: [1, 20, 21, 100])
  func emptySource(existing: Int) throws {
    let refusal = try #require(
      MirrorGuard().refusal(sourceCount: 0, existingCount: existing, deletionCount: existing))
    #expect(refusal.code == .emptySource)
    #expect(refusal.deletionCount == existing)
    #expect(refusal.message.contains(existing == 1 ? "the only row" : "all \(existing) rows"))
    #expect(refusal.message.hasSuffix("allow it with `allowsEmptySource`"))
  }

  @Test("an empty source and an empty destination are no error, whatever the guard")
  func nothingToDelete() {
    for limit in [nil, MirrorDeletionLimit.count(0), .percentage(0), .count(30)] {
      for allowsEmptySource in [false, true] {
        let mirrorGuard = MirrorGuard(deletionLimit: limit, allowsEmptySource: allowsEmptySource)
        #expect(mirrorGuard.refusal(sourceCount: 0, existingCount: 0, deletionCount: 0) == nil)
      }
    }
  }

  @Test("an empty source proceeds if it is allowed, unless an explicit limit forbids it")
  func emptySourceAllowed() {
    for existing in [1, 9, 20, 21, 100] {
      let refusals = [nil, .count(0), .count(existing - 1), .count(existing), .percentage(100)].map
      {
        MirrorGuard(deletionLimit: $0, allowsEmptySource: true).refusal(
          sourceCount: 0, existingCount: existing, deletionCount: existing)?.code
      }
      #expect(refusals == [nil, .tooManyDeletions, .tooManyDeletions, nil, nil])
    }
  }

  @Test("an empty source goes ahead if an explicit limit covers all that is there, and only then")
  func emptySourceCovered() {
    func isRefused(_ limit: MirrorDeletionLimit, existing: Int) -> Bool {
      MirrorGuard(deletionLimit: limit).refusal(
        sourceCount: 0, existingCount: existing, deletionCount: existing) != nil
    }
    #expect(!isRefused(.percentage(100), existing: 30))
    #expect(!isRefused(.count(30), existing: 30))
    #expect(isRefused(.count(29), existing: 30))
    #expect(isRefused(.percentage(99), existing: 30))
  }

  @Test("allowing an empty source allows nothing else")
  func notEmpty() {
    let mirrorGuard = MirrorGuard(allowsEmptySource: true)
    #expect(mirrorGuard.refusal(sourceCount: 1, existingCount: 30, deletionCount: 29) != nil)
  }

  @Test("a refusal has the figures, the limit, and what to allow")
  func message() throws {
    let refusal = try #require(
      MirrorGuard().refusal(sourceCount: 10, existingCount: 100, deletionCount: 90))
    #expect(refusal.code == .tooManyDeletions)
    #expect(refusal.deletionCount == 90)
    #expect(
      refusal.description == "mirroring would delete 90 of 100 rows, more than the limit of 50%; "
        + "if that is right, allow them with `deletionLimit` 90")
    let losing = try #require(
      MirrorGuard().refusal(
        sourceCount: 100, existingCount: 100, deletionCount: 1, lossCount: 60))
    #expect(losing.code == .tooManyDeletions)
    #expect(losing.deletionCount == 61)
    #expect(
      losing.description == "mirroring would delete 1 of 100 rows, and the contents of 60 others, "
        + "more than the limit of 50%; if that is right, allow them with `deletionLimit` 61")
    let followed = MirrorGuard(deletionLimit: .count(90))
    #expect(followed.refusal(sourceCount: 10, existingCount: 100, deletionCount: 90) == nil)
  }
}
