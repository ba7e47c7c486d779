import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

/// A mirror of a scripted processor under a virtual clock, and the phases it went through.
struct MirrorScene {
  let processor: ScriptedProcessor
  let clock = VirtualClock()
  let phases = Locked<[MirrorPhase]>([])
  let mirror: OneWayMirror<ScriptedItem>

  init(
    _ processor: ScriptedProcessor,
    _ options: MirrorOptions = MirrorOptions(concurrency: 1, retry: .never)
  ) {
    self.processor = processor
    let phases = phases
    mirror = OneWayMirror(
      processor.processor, planner: .unsorted, options: options, clock: clock, chance: { 0.5 },
      published: { phase in phases.withLock { $0.append(phase) } })
  }

  /// Three new items, one to update, one up to date, one to remove.
  static func standardProcessor(
    byteCount: Int = 0, script: [String: ScriptedProcessor.Act] = [:]
  ) -> ScriptedProcessor {
    ScriptedProcessor(
      source: [5, 1, 2, 3, 4], local: [1, 2, 9], updates: [2], byteCount: byteCount,
      script: script)
  }

  /// The calls of a run of the standard processor, one transfer at a time.
  static let standardCalls = [
    "begin", "localIDs", "source", "update 1,2", "prepare 5,2,3,4", "content 5", "content 2",
    "content 3", "content 4", "remove 9", "end",
  ]

  /// Runs once, however it ends.
  func report() async -> MirrorReport<Int> {
    do { return try await mirror.run() } catch let error as MirrorRunError<Int> {
      return error.report
    } catch {
      Issue.record(error)
      return MirrorReport()
    }
  }
}

@Suite("A one-way mirror", .timeLimit(.minutes(20)))
struct OneWayMirrorTests {
  @Test("takes every step once and in order, with exact phases")
  func order() async throws {
    let scene = MirrorScene(MirrorScene.standardProcessor(byteCount: 7))
    let report = try await scene.mirror.run()
    #expect(scene.processor.calls == MirrorScene.standardCalls)
    #expect(report.isComplete)
    #expect((report.sourceCount, report.localCount, report.skippedCount) == (5, 3, 1))
    #expect(report.removed == [9])
    #expect(
      report.transferred
        == [5, 2, 3, 4].map { MirrorTransferReport(id: $0, stage: .content, byteCount: 7) })
    #expect(report.byteCount == 28)
    #expect(scene.processor.log.current.local == [1, 2, 3, 4, 5])
    func transferring(_ doneCount: Int, _ byteCount: Int) -> MirrorPhase {
      .transferring(
        MirrorProgress(
          stage: .content, doneCount: doneCount, totalCount: 4, byteCount: byteCount))
    }
    var phases: [MirrorPhase] = [.listing, .comparing(sourceCount: 5), transferring(0, 0)]
    for count in 1...4 {
      phases.append(transferring(count - 1, 7 * count))
      phases.append(transferring(count, 7 * count))
    }
    #expect(scene.phases.current == phases + [.removing(count: 1), .ending, .idle])
  }

  @Test("reports every transfer of a stage exactly once", arguments: [1, 2, 10, 64])
  func phases(concurrency: Int) async throws {
    let processor = ScriptedProcessor(source: Array(0..<100), local: [])
    let stages = [MirrorStageOptions(.preview), MirrorStageOptions(.content)]
    let scene = MirrorScene(processor, MirrorOptions(stages: stages, concurrency: concurrency))
    _ = try await scene.mirror.run()
    let expected: [MirrorPhase] =
      [.listing, .comparing(sourceCount: 100)]
      + [.preview, .content].flatMap { stage in
        (0...100).map {
          .transferring(MirrorProgress(stage: stage, doneCount: $0, totalCount: 100))
        }
      } + [.ending, .idle]
    #expect(scene.phases.current == expected)
    #expect(processor.count(of: "begin") == 1)
    #expect(processor.count(of: "end") == 1)
    #expect(processor.calls.last == "end")
    let transfers = processor.calls.filter { $0.hasPrefix("preview") || $0.hasPrefix("content") }
    #expect(Set(transfers).count == 200 && transfers.count == 200)
    #expect(transfers.prefix(100).allSatisfy { $0.hasPrefix("preview") })
  }

  @Test("transfers as many at a time as it may, and no more", arguments: [1, 2, 10, 64, 0])
  func concurrency(concurrency: Int) async throws {
    let count = concurrency == 0 ? MirrorOptions.automaticConcurrency : concurrency
    let processor = ScriptedProcessor(source: Array(0..<130), local: [])
    let scene = MirrorScene(processor, MirrorOptions(concurrency: concurrency))
    let clock = scene.clock
    processor.script.withLock { script in
      for id in 0..<130 {
        script["content \(id)"] = .perform { try await clock.sleep(for: .seconds(1)) }
      }
    }
    let run = Task { try await scene.mirror.run() }
    var left = 130
    while left > 0 {
      await clock.untilSleeping(min(count, left))
      clock.advance(by: .seconds(1))
      left -= min(count, left)
    }
    #expect(try await run.value.transferred.count == 130)
    #expect(processor.log.current.maxActiveTransferCount == count)
    #expect(!processor.log.current.wasTransferringAtEnd)
  }

  @Test("goes item by item through all stages if asked to")
  func itemByItem() async throws {
    let processor = ScriptedProcessor(source: [1, 2], local: [])
    let stages = [MirrorStageOptions(.preview), MirrorStageOptions(MirrorStage(name: "own"))]
    let scene = MirrorScene(
      processor, MirrorOptions(stages: stages, stageOrder: .itemByItem, concurrency: 1))
    _ = try await scene.mirror.run()
    #expect(processor.calls.suffix(5) == ["preview 1", "own 1", "preview 2", "own 2", "end"])
  }

  /// A run in which 9 is removed, 1 and 2 lose something, and 3 is left as it is.
  private func reportOfLosses(
    limit: Int
  ) async -> (report: MirrorReport<Int>, transferCount: Int) {
    let processor = ScriptedProcessor(
      source: [1, 2, 3, 4], local: [1, 2, 3, 9], updates: [1, 2], losses: [1, 2, 3])
    let scene = MirrorScene(
      processor, MirrorOptions(mirrorGuard: MirrorGuard(deletionLimit: .count(limit))))
    return (await scene.report(), processor.count(of: "content 1"))
  }

  @Test(
    "is refused before it transfers what would lose more than may be deleted", arguments: [0, 1, 2])
  func losses(limit: Int) async throws {
    let (report, transferCount) = await reportOfLosses(limit: limit)
    let error = report.interruption?.error as? MirrorError
    #expect(error?.code == .tooManyDeletions && error?.deletionCount == 3)
    #expect(report.interruption?.step == .compare)
    #expect(transferCount == 0)
  }

  @Test("transfers what loses no more than may be deleted")
  func fewLosses() async throws {
    let (report, transferCount) = await reportOfLosses(limit: 3)
    #expect(report.interruption == nil && transferCount == 1)
  }

  @Test("measures how fast bytes arrive in each stage by itself")
  func rate() async throws {
    let processor = ScriptedProcessor(source: [1], local: [], byteCount: 10)
    let stages = [MirrorStageOptions(.preview), MirrorStageOptions(.content)]
    let scene = MirrorScene(processor, MirrorOptions(stages: stages))
    let clock = scene.clock
    for (call, seconds) in [("preview 1", 1), ("content 1", 5)] {
      processor.script.withLock {
        $0[call] = .perform { clock.advance(by: .seconds(seconds)) }
      }
    }
    _ = try await scene.mirror.run()
    var last: [MirrorStage?: MirrorProgress] = [:]
    for case .transferring(let progress) in scene.phases.current { last[progress.stage] = progress }
    #expect(last[.preview]?.bytesPerSecond == 10)
    #expect(last[.content]?.bytesPerSecond == 2)
    #expect(last[.content]?.byteCount == 20)
    #expect(last[.content]?.stageByteCount == 10)
  }

  @Test("estimates the time left from the time passed")
  func progress() async throws {
    let processor = ScriptedProcessor(source: [1, 2, 3], local: [], byteCount: 10)
    let scene = MirrorScene(processor)
    let clock = scene.clock
    for id in 1...3 {
      processor.script.withLock {
        $0["content \(id)"] = .perform { clock.advance(by: .seconds(2)) }
      }
    }
    _ = try await scene.mirror.run()
    let progress = scene.phases.current.compactMap { phase in
      if case .transferring(let progress) = phase, progress.doneCount == 1 { progress } else { nil }
    }.first
    #expect(progress?.elapsed == .seconds(2))
    #expect(progress?.remaining == .seconds(4))
    #expect(progress?.bytesPerSecond == 5)
  }

  @Test("plans nothing and still begins, prepares and ends when there is nothing to do")
  func nothingToDo() async throws {
    let processor = ScriptedProcessor(source: [1, 2], local: [1, 2])
    let scene = MirrorScene(processor)
    #expect(try await scene.mirror.run().isComplete)
    #expect(
      processor.calls == ["begin", "localIDs", "source", "update 1,2", "prepare ", "end"])
    #expect(
      scene.phases.current == [.listing, .comparing(sourceCount: 2), .ending, .idle])
  }

  @Test("needs four closures of a processor, and nothing else")
  func defaults() async throws {
    let processor = MirrorProcessor(
      list: { MirrorPages([ScriptedItem(id: 1), ScriptedItem(id: 2)]) },
      local: { MirrorPages([2, 3]) }, transfer: { _, _, _ in }, remove: { _ in })
    let report = try await OneWayMirror(processor).run()
    #expect(report.transferred.map(\.id) == [1])
    #expect(report.removed == [3])
    #expect(report.skippedCount == 1)
  }
}

@Suite("A one-way mirror whose steps fail", .timeLimit(.minutes(20)))
struct OneWayMirrorFailureTests {
  static func step(of call: String) -> MirrorStep {
    switch call.prefix(while: { $0 != " " }) {
    case "begin": .begin
    case "localIDs": .localIDs
    case "source": .list
    case "update": .compare
    case "prepare": .prepare
    case "content": .transfer
    case "remove": .remove
    default: .end
    }
  }

  /// Checks what holds however a run ends: one begin, one end, nothing after the call that ended it.
  static func check(
    _ scene: MirrorScene, endedAt call: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let calls = scene.processor.calls
    let index = MirrorScene.standardCalls.firstIndex(of: call) ?? 0
    let expected = MirrorScene.standardCalls[...index] + (call == "end" ? [] : ["end"])
    #expect(calls == Array(expected), sourceLocation: sourceLocation)
    #expect(!scene.processor.log.current.wasTransferringAtEnd, sourceLocation: sourceLocation)
    #expect(!scene.processor.log.current.wasCancelledAtEnd, sourceLocation: sourceLocation)
    #expect(
      scene.phases.current.suffix(2) == [.ending, .idle], sourceLocation: sourceLocation)
    if call != "end", call != "remove 9" {
      #expect(
        scene.processor.log.current.local.isSuperset(of: [1, 2, 9]),
        "the mirror is smaller", sourceLocation: sourceLocation)
    }
  }

  @Test("ends at the step that fails, and says so", arguments: MirrorScene.standardCalls)
  func failing(call: String) async {
    let scene = MirrorScene(MirrorScene.standardProcessor(script: [call: .fail]))
    let report = await scene.report()
    Self.check(scene, endedAt: call)
    #expect(report.interruption?.step == Self.step(of: call))
    #expect(report.interruption?.error is ScriptedError)
    #expect(report.failures.count == 1)
    #expect(!report.isComplete && !report.isCancelled)
    #expect(report.unremoved == (calls(before: call, "prepare") || call == "end" ? [] : [9]))
  }

  private func calls(before call: String, _ prefix: String) -> Bool {
    let index = MirrorScene.standardCalls.firstIndex(of: call) ?? 0
    let other = MirrorScene.standardCalls.firstIndex { $0.hasPrefix(prefix) } ?? 0
    return index < other
  }

  @Test("names the item whose needsUpdate failed")
  func failingNeedsUpdate() async throws {
    var processor = MirrorProcessor(
      list: { MirrorPages((1...5).map { ScriptedItem(id: $0) }) },
      local: { MirrorPages([2, 4]) }, transfer: { _, _, _ in }, remove: { _ in })
    processor.needsUpdate = { item in
      if item.id == 4 { throw ScriptedError() }
      return false
    }
    let mirror = OneWayMirror(processor)
    let error = await #expect(throws: MirrorRunError<Int>.self) { try await mirror.run() }
    #expect(error?.failure.step == .compare && error?.failure.id == 4)
    #expect(error?.failure.error is ScriptedError)
    #expect(error?.description == "compare of 4: scripted")
  }

  @Test("ends a step that hangs when its time is up", arguments: MirrorScene.standardCalls)
  func hanging(call: String) async {
    let scene = MirrorScene(
      MirrorScene.standardProcessor(),
      MirrorOptions(
        stages: [MirrorStageOptions(.content, timeout: .seconds(5))], concurrency: 1,
        retry: .never, stepTimeout: .seconds(5)))
    let (reached, signal) = AsyncStream<Void>.makeStream()
    scene.processor.script.withLock {
      $0[call] = .perform {
        signal.finish()
        try await hang()
      }
    }
    let run = Task { await scene.report() }
    for await _ in reached {}
    await scene.clock.untilSleeping(1)
    scene.clock.advance(by: .seconds(5))
    let report = await run.value
    Self.check(scene, endedAt: call)
    let error = report.interruption?.error as? MirrorError
    #expect(error?.code == .timedOut)
    // Listing both sides and comparing them share one timeout, whose failure is one of listing.
    let step = Self.step(of: call)
    let isPlanning = step == .compare || step == .localIDs
    #expect(report.interruption?.step == (isPlanning ? .list : step))
  }

  @Test("ends where it is cancelled, if the step gives up", arguments: MirrorScene.standardCalls)
  func cancelled(call: String) async {
    let scene = MirrorScene(MirrorScene.standardProcessor())
    let mirror = scene.mirror
    scene.processor.script.withLock {
      $0[call] = .perform {
        await mirror.cancelCurrentRun()
        try await hangUnlessEnding(call)
      }
    }
    let report = await scene.report()
    Self.check(scene, endedAt: call)
    #expect(report.isCancelled == (call != "end"))
    #expect(report.failures.isEmpty)
  }

  @Test(
    "is complete if it is cancelled in its last step, and that succeeds",
    arguments: MirrorScene.standardCalls)
  func cancelledButDone(call: String) async {
    let scene = MirrorScene(MirrorScene.standardProcessor())
    let mirror = scene.mirror
    scene.processor.script.withLock { $0[call] = .perform { await mirror.cancelCurrentRun() } }
    let report = await scene.report()
    let isLast = call == "remove 9" || call == "end"
    #expect(report.isCancelled == !isLast)
    #expect(report.isComplete == isLast)
    #expect(scene.processor.count(of: "begin") == 1)
    #expect(scene.processor.count(of: "end") == 1)
    let transferred = report.transferred.map(\.id)
    #expect(Set(transferred).union(report.untransferred).isSuperset(of: transferred))
    if !isLast { #expect(scene.processor.log.current.local.contains(9)) }
  }

  @Test("ends all transfers under way with the first error", arguments: [2, 10, 64])
  func stop(concurrency: Int) async {
    let processor = ScriptedProcessor(source: Array(0..<100), local: [200])
    let scene = MirrorScene(processor, MirrorOptions(concurrency: concurrency, retry: .never))
    let clock = scene.clock
    processor.script.withLock { script in
      for id in 0..<100 { script["content \(id)"] = .hang }
      script["content 1"] = .perform {
        try await clock.sleep(for: .seconds(1))
        throw ScriptedError()
      }
    }
    let run = Task { await scene.report() }
    await clock.untilSleeping(1)
    clock.advance(by: .seconds(1))
    let report = await run.value
    #expect(report.failures.map(\.id) == [1])
    #expect(report.interruption?.id == 1)
    #expect(report.untransferred == [0] + Array(2..<100))
    #expect(report.unremoved == [200])
    #expect(processor.calls.last == "end")
    #expect(processor.log.current.activeTransferCount == 0)
    #expect(processor.log.current.maxActiveTransferCount <= concurrency)
  }

  @Test("cancels all transfers under way", arguments: [1, 2, 10, 64])
  func cancelTransfers(concurrency: Int) async {
    let processor = ScriptedProcessor(source: Array(0..<100), local: [])
    let scene = MirrorScene(processor, MirrorOptions(concurrency: concurrency))
    let (started, signal) = AsyncStream<Void>.makeStream()
    processor.script.withLock { script in
      for id in 0..<100 {
        script["content \(id)"] = .perform {
          signal.yield()
          try await hang()
        }
      }
    }
    let run = Task { await scene.report() }
    var count = 0
    for await _ in started {
      count += 1
      if count == concurrency { break }
    }
    await scene.mirror.cancelCurrentRun()
    let report = await run.value
    #expect(report.isCancelled)
    #expect(report.failures.isEmpty)
    #expect(report.untransferred == Array(0..<100))
    #expect(processor.count(of: "end") == 1)
    #expect(processor.log.current.activeTransferCount == 0)
  }

  @Test("goes on with other items, or other stages, as the policy says")
  func policies() async {
    for (policy, expected) in [
      (MirrorErrorPolicy.skipItem, ["content 1", "content 3"]),
      (.continue, ["content 1", "content 2", "content 3"]), (.stop, []),
    ] {
      for order in MirrorStageOrder.allCases where policy != .stop || order == .stageByStage {
        let processor = ScriptedProcessor(
          source: [1, 2, 3], local: [9], script: ["preview 2": .fail])
        let scene = MirrorScene(
          processor,
          MirrorOptions(
            stages: [
              MirrorStageOptions(.preview, errorPolicy: policy), MirrorStageOptions(.content),
            ], stageOrder: order, concurrency: 1, retry: .never))
        let report = await scene.report()
        #expect(processor.calls.filter { $0.hasPrefix("content") } == expected)
        #expect(report.failures.map(\.description) == ["preview of 2: scripted"])
        #expect(report.unremoved == [9])
        #expect((report.interruption == nil) == (policy != .stop))
        #expect(report.untransferred == (policy == .stop ? [1, 3] : []))
      }
    }
  }

  @Test("removes when it is told to")
  func removal() async {
    for (removal, position) in [(MirrorRemoval.first, 4), (.last, 6)] {
      let processor = ScriptedProcessor(
        source: [1, 2], local: [9], script: ["content 1": .fail])
      let scene = MirrorScene(
        processor,
        MirrorOptions(
          stages: [MirrorStageOptions(.content, errorPolicy: .continue)], concurrency: 1,
          removal: removal, retry: .never))
      let report = await scene.report()
      #expect(processor.calls.firstIndex(of: "remove 9") == position)
      #expect(report.removed == [9] && report.unremoved == [])
    }
  }

  @Test("refuses an empty source and duplicates before it changes anything")
  func refusals() async {
    for (source, code) in [([], MirrorError.Code.emptySource), ([1, 2, 1], .duplicateElement)] {
      let scene = MirrorScene(ScriptedProcessor(source: source, local: [1, 7]))
      let report = await scene.report()
      #expect((report.interruption?.error as? MirrorError)?.code == code)
      #expect(report.interruption?.step == .compare)
      #expect(report.sourceCount == source.count)
      #expect(!scene.processor.calls.contains { $0.hasPrefix("prepare") })
      #expect(scene.processor.log.current.local == [1, 7])
    }
    let scene = MirrorScene(
      ScriptedProcessor(source: [1, 2, 1], local: [1]), MirrorOptions(duplicates: .keepFirst))
    let report = await scene.report()
    #expect(report.isComplete)
    #expect(report.duplicates == [MirrorDuplicate(id: 1, position: 2, firstPosition: 0)])
  }
}

/// Waits for the cancellation that has been asked for; the last step does not see any.
private func hangUnlessEnding(_ call: String) async throws {
  if call != "end" { try await hang() }
}
