import TandemRecords
import TandemSync
import Testing

@testable import TandemSimulator

@Suite("Simulation of synchronization", .timeLimit(.minutes(20)))
struct SimulationTests {
  @Test("All laws hold for some seeds")
  func laws() throws {
    let pool = try DatabasePool()
    for seed in 1...60 as ClosedRange<UInt64> {
      let failure = Runner.failure(seed, nil, pool)
      #expect(failure == nil, #"repeat with: make simulate ARGS="--seed \#(seed) --trace""#)
      if failure != nil { return }
    }
  }

  @Test(
    "Scenarios that have failed hold",
    arguments: [
      71_131, 80_230, 80_871, 81_401, 82_619, 91_466, 93_515, 203_145, 312_248, 314_657, 500_997,
      504_218, 601_629, 424_006_729, 424_014_998, 426_024_185,
      427_002_242, 427_073_869, 427_103_846, 428_202_843, 428_369_145, 428_369_470,
      1133,
    ]
      as [UInt64])
  func formerFailures(seed: UInt64) throws {
    let failure = try Runner.failure(seed, nil, DatabasePool())
    #expect(failure == nil, #"repeat with: make simulate ARGS="--seed \#(seed) --trace""#)
  }

  @Test("All laws hold while programs are killed on files")
  func files() throws {
    let pool = try DatabasePool(usesFiles: true)
    for seed in 1...20 as ClosedRange<UInt64> {
      let failure = Runner.failure(seed, nil, pool)
      #expect(failure == nil, #"repeat with: make simulate ARGS="--seed \#(seed) --files --trace""#)
      if failure != nil { return }
    }
  }

  @Test("A seed has the same trace with new databases and with used ones, and with PostgreSQL")
  func trace() throws {
    let pool = try DatabasePool()
    let otherPool = try DatabasePool(usesPostgreSQL: true)
    let served = (1...100 as ClosedRange<UInt64>).filter { Scenario(seed: $0).usesService }
    for seed in [3, 17, 40] + served.prefix(2) {
      var traces: [[String]] = [[], [], [], []]
      _ = Runner.failure(seed, nil, pool) { traces[0].append($0) }
      _ = Runner.failure(seed, nil, pool) { traces[1].append($0) }
      _ = Runner.failure(seed, nil, try DatabasePool()) { traces[2].append($0) }
      _ = Runner.failure(seed, nil, otherPool) { traces[3].append($0) }
      #expect(traces[0].count > 100)
      #expect(traces[0] == traces[1])
      #expect(traces[0] == traces[2])
      #expect(traces[0] == traces[3])
    }
  }

  @Test("Steps can be left out of a scenario, and their numbers are written and read")
  func steps() throws {
    let pool = try DatabasePool()
    #expect(Runner.failure(5, [0, 1, 2, 9], pool) == nil)
    #expect(Runner.minimized(5, nil, pool) == nil)
    #expect(StepList.steps("0-3,7,9-10") == [0, 1, 2, 3, 7, 9, 10])
    #expect(StepList.text([0, 1, 2, 3, 7, 9, 10]) == "0-3,7,9-10")
    for wrong in ["", "a", "3-1", "1,,2", "1-2-3"] { #expect(StepList.steps(wrong) == nil) }
  }
}

@Suite("Ledger of edits")
struct EditLedgerTests {
  private let key = SyncKey(table: "t", id: [.integer(1)])
  private var cell: EditLedger.Cell { EditLedger.Cell(key: key, column: "a") }

  /// A ledger with a first value, and a second one that another file wrote over the first.
  private func ledger(secondSees first: Bool) -> EditLedger {
    var ledger = EditLedger()
    let one = ledger.beginEdit(of: key, in: 0, at: 0)
    ledger.statementRan(in: 0, at: 0, before: [], after: [(cell, one)])
    let two = ledger.beginEdit(of: key, in: 1, at: 1)
    ledger.statementRan(
      in: 1, at: 1, before: first ? [(cell, one)] : [], after: [(cell, two)])
    return ledger
  }

  @Test("An edit that another one replaced without having seen it is lost")
  func lost() {
    #expect(ledger(secondSees: false).violations(final: [(cell, 1)]).count == 1)
    #expect(ledger(secondSees: true).violations(final: [(cell, 1)]).isEmpty)
    #expect(ledger(secondSees: true).violations(final: [(cell, 0)]).count == 1)
  }

  @Test("An edit that stands in a conflict record is not lost")
  func recorded() {
    var ledger = ledger(secondSees: false)
    ledger.record("{\"a\":\"\(EditLedger.text(0))\"}", of: key, at: 2)
    #expect(ledger.violations(final: [(cell, 1)]).isEmpty)
  }

  @Test("A value that was deleted by an accepted commit must not come back")
  func cameBack() {
    var ledger = EditLedger()
    let one = ledger.beginEdit(of: key, in: 0, at: 0)
    ledger.statementRan(in: 0, at: 0, before: [], after: [(cell, one)])
    ledger.accepted(one)
    ledger.statementRan(in: 1, at: 1, before: [(cell, one)], after: [])
    #expect(ledger.violations(final: []).isEmpty)
    ledger.acceptedDeletion(of: key, from: 1, frozenAt: 2)
    #expect(ledger.violations(final: []).isEmpty)
    #expect(ledger.violations(final: [(cell, one)]).count == 1)
  }

  @Test("An edit that a backup took back may be lost, unless the space has it")
  func restored() {
    var ledger = ledger(secondSees: false)
    ledger.restored(0, from: -1, known: [0])
    #expect(ledger.violations(final: [(cell, 1)]).count == 1)
    ledger.restored(0, from: -1, known: [])
    #expect(ledger.violations(final: [(cell, 1)]).isEmpty)
  }
}
