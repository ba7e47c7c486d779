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

  @Test("A search that ends early says so")
  func bound() throws {
    #expect(try Exhaustion(operationCount: 1).run(maxStateCount: 100).isComplete == false)
  }
}
