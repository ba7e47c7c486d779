import TandemRecords
import Testing

@testable import TandemSimulator

@Suite("Exhaustive simulation", .timeLimit(.minutes(20)))
struct ExhaustionTests {
  @Test("All states of one edit keep the laws, with interruptions at every place")
  func laws() throws {
    let result = try Exhaustion(operationCount: 1).run(maxStateCount: .max)
    #expect(result.failure?.law == nil)
    #expect(result.isComplete)
    #expect(result.stateCount > 5_000)
  }

  @Test("All states of one edit of rows with rules keep the laws, with three interruptions at most")
  func rules() throws {
    let result = try Exhaustion(operationCount: 1, maxInterruptionCount: 3, hasRules: true)
      .run(maxStateCount: .max)
    #expect(result.failure?.law == nil)
    #expect(result.isComplete)
    #expect(result.stateCount > 5_000)
  }

  @Test("Leaving out orders of steps that commute leaves out no state of a file or of the space")
  func orders() throws {
    let some = try Exhaustion(operationCount: 0).run(maxStateCount: .max)
    let all = try Exhaustion(operationCount: 0, visitsAllOrders: true).run(maxStateCount: .max)
    #expect(some.stateCount < all.stateCount)
    #expect(some.fileStateCount == all.fileStateCount)
    #expect(some.spaceStateCount == all.spaceStateCount)
  }

  @Test(
    "Visiting undisturbed synchronizations at their end leaves out no state of a file or of the space"
  )
  func undisturbed() throws {
    for count in 0...1 {
      let some = try Exhaustion(operationCount: 1, maxInterruptionCount: count)
        .run(maxStateCount: .max)
      let all = try Exhaustion(
        operationCount: 1, maxInterruptionCount: count, visitsAllOrders: true
      ).run(maxStateCount: .max)
      #expect(some.stateCount < all.stateCount)
      #expect(some.fileStateCount == all.fileStateCount)
      #expect(some.spaceStateCount == all.spaceStateCount)
    }
  }

  @Test("More interruptions reach more states")
  func interruptions() throws {
    let counts = try (0...2).map { count in
      let result = try Exhaustion(operationCount: 1, maxInterruptionCount: count)
        .run(maxStateCount: .max)
      #expect(result.failure?.law == nil)
      return result.stateCount
    }
    #expect(counts[0] < counts[1])
    #expect(counts[1] < counts[2])
  }

  /// Checks a ledger in which one file's deletion came too late, with others of the same value before it.
  private func checkLateDeletion(after deletions: [Int]) throws {
    var ledger = CompactLedger()
    ledger.note(.insert, 0, file: 0, before: nil, after: 0)
    ledger.accept(0)
    ledger.note(.delete, 1, file: 0, before: 0, after: nil)
    // One commit of the other file deletes the record, inserts it, and deletes it again.
    let first = CompactLedger.maxEditCount
    for number in deletions { ledger.note(.delete, number, file: 1, before: 0, after: nil) }
    ledger.note(.insert, first + 1, file: 1, before: nil, after: first + 1)
    ledger.note(.delete, first + 2, file: 1, before: first + 1, after: nil)
    ledger.acceptDeletion(in: 1, before: 3)
    ledger.note(.insert, first + 3, file: 1, before: nil, after: first + 3)
    ledger.accept(first + 3)
    try ledger.check(final: first + 3, hasRow: true, count: 0, recorded: [], hasRecords: false)
  }

  @Test(
    "A deletion that came too late is of no concern if the space has accepted another one of the same value"
  )
  func equalDeletions() throws { try checkLateDeletion(after: [CompactLedger.maxEditCount]) }

  @Test("A deletion that came too late is lost if the space has accepted none of the same value")
  func lateDeletion() {
    #expect(throws: SimulationViolation.self) { try checkLateDeletion(after: []) }
  }

  @Test("A search that ends early says so")
  func bound() throws {
    #expect(try Exhaustion(operationCount: 1).run(maxStateCount: 100).isComplete == false)
  }
}
