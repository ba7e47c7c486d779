import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("Callers of a one-way mirror", .timeLimit(.minutes(20)))
struct OneWayMirrorRequestTests {
  /// A mirror whose first run waits in `source` until it is let go or cancelled.
  struct Held {
    let scene: MirrorScene
    let reached: AsyncStream<Void>
    let release: AsyncStream<Void>.Continuation

    init(failing: Bool = false) {
      scene = MirrorScene(MirrorScene.standardProcessor())
      let (reached, signal) = AsyncStream<Void>.makeStream()
      let (released, release) = AsyncStream<Void>.makeStream()
      self.reached = reached
      self.release = release
      let processor = scene.processor
      processor.script.withLock {
        $0["source"] = .perform {
          guard processor.count(of: "source") == 1 else { return }
          signal.finish()
          for await _ in released {}
          try Task.checkCancellation()
          if failing { throw ScriptedError() }
        }
      }
    }

    func untilReached() async { for await _ in reached {} }

    /// Starts a call of `run()` and waits until the mirror knows of it.
    func call() async -> Task<MirrorReport<Int>, any Error> {
      let mirror = scene.mirror
      let before = await mirror.callerCount
      let task = Task { try await mirror.run() }
      while await mirror.callerCount == before { await Task.yield() }
      return task
    }
  }

  @Test("during a run are all answered by the next one, the first caller by its own")
  func coalescing() async throws {
    let held = Held(failing: true)
    let first = await held.call()
    await held.untilReached()
    var others: [Task<MirrorReport<Int>, any Error>] = []
    for _ in 0..<10 { others.append(await held.call()) }
    held.release.finish()
    await #expect(throws: MirrorRunError<Int>.self) { try await first.value }
    for other in others { #expect(try await other.value.isComplete) }
    let processor = held.scene.processor
    #expect(processor.count(of: "begin") == 2)
    #expect(processor.count(of: "end") == 2)
    #expect(processor.reports.current.map(\.isComplete) == [false, true])
    #expect(!held.scene.phases.current.dropLast().contains(.idle))
  }

  @Test("are let go when they are cancelled, and the others keep their run")
  func cancelOneCaller() async throws {
    let held = Held()
    let first = await held.call()
    await held.untilReached()
    let second = await held.call()
    let third = await held.call()
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    #expect(held.scene.mirror.phase == .listing)
    held.release.finish()
    #expect(try await first.value.isComplete)
    #expect(try await third.value.transferred.map(\.id) == [2])
    #expect(held.scene.processor.count(of: "end") == 2)
  }

  @Test("take the run with them if they are the last who want it, and see it end")
  func cancelLastCaller() async throws {
    let held = Held()
    let first = await held.call()
    await held.untilReached()
    let second = await held.call()
    second.cancel()
    await #expect(throws: CancellationError.self) { try await second.value }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    let processor = held.scene.processor
    #expect(processor.count(of: "begin") == 1)
    #expect(processor.count(of: "end") == 1)
    #expect(processor.reports.current.first?.isCancelled == true)
    #expect(held.scene.mirror.phase == .idle)
  }

  @Test("see a phase that agrees with the beginning and the end of the run")
  func phases() async throws {
    for _ in 0..<200 {
      let scene = MirrorScene(MirrorScene.standardProcessor())
      await scene.mirror.requestRun()
      #expect(scene.mirror.phase != .idle || scene.processor.count(of: "end") == 1)
      try await scene.mirror.run()
      #expect(scene.mirror.phase == .idle)
    }
    let held = Held()
    #expect(held.scene.mirror.phase == .idle)
    await held.scene.mirror.requestRun()
    #expect(held.scene.mirror.phase == .listing)
    await held.untilReached()
    held.release.finish()
    try await held.scene.mirror.run()
  }

  @Test(
    "that are steps of the run get an error instead of waiting for themselves",
    arguments: ["begin", "source", "content 3", "remove 9", "end"])
  func nested(step: String) async throws {
    let scene = MirrorScene(MirrorScene.standardProcessor())
    let (mirror, processor) = (scene.mirror, scene.processor)
    let codes = Locked<[MirrorError.Code]>([])
    processor.script.withLock {
      $0[step] = .perform {
        guard processor.count(of: step) == 1 else { return }
        // Also in a task that the step waits for.
        async let inner: Void = { _ = try await mirror.run() }()
        do {
          try await inner
        } catch let error as MirrorError {
          codes.withLock { $0.append(error.code) }
          await mirror.requestRun()
          throw error
        }
      }
    }
    let report = await scene.report()
    #expect(codes.current == [.nestedRun])
    #expect(report.failures.first.map { ($0.error as? MirrorError)?.code } == .nestedRun)
    // A later run is none of that run's steps, even in a task that it has started.
    #expect(try await mirror.run().isComplete)
  }

  @Test("in the steps of another mirror are answered")
  func nestedMirrors() async throws {
    let inner = MirrorScene(MirrorScene.standardProcessor())
    let outer = MirrorScene(
      MirrorScene.standardProcessor(
        script: ["end": .perform { _ = try await inner.mirror.run() }]))
    #expect(try await outer.mirror.run().isComplete)
    #expect(inner.processor.count(of: "end") == 1)
    // A mirror that waits for another one, which waits for the first, is an error too.
    let first = MirrorScene(MirrorScene.standardProcessor())
    inner.processor.script.withLock {
      $0["end"] = .perform { _ = try await first.mirror.run() }
    }
    first.processor.script.withLock {
      $0["end"] = .perform { _ = try await inner.mirror.run() }
    }
    await #expect(throws: MirrorRunError<Int>.self) { try await first.mirror.run() }
  }

  @Test("get the error of the item that failed, if its failure cancels the run", arguments: [1, 2])
  func failureThatCancels(attempt: Int) async throws {
    let scene = MirrorScene(
      MirrorScene.standardProcessor(),
      MirrorOptions(
        stages: [MirrorStageOptions(.content, errorPolicy: .continue)], concurrency: 1,
        retry: MirrorRetryPolicy(maxAttemptCount: 3, firstDelay: .zero)))
    let (mirror, processor) = (scene.mirror, scene.processor)
    processor.script.withLock {
      $0["content 2"] = .perform {
        // The second attempt is cancelled after the first has failed.
        if processor.count(of: "content 2") == 2 {
          await mirror.cancelCurrentRun()
          try await hang()
        }
        if attempt == 1 { await mirror.cancelCurrentRun() }
        throw TransientFailure()
      }
    }
    let report = await scene.report()
    #expect(report.isCancelled)
    #expect(report.failures.map(\.id) == [2])
    #expect(report.failures.first?.error is TransientFailure)
    #expect(report.failures.first?.attemptCount == attempt)
    #expect(report.untransferred == [3, 4])
  }

  @Test("that do not wait keep a run that all others gave up")
  func unattended() async throws {
    let held = Held()
    await held.scene.mirror.requestRun()
    await held.untilReached()
    let waiting = await held.call()
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await held.scene.mirror.requestRun()
    held.release.finish()
    #expect(try await held.scene.mirror.run().isComplete)
    #expect(!held.scene.processor.reports.current.contains { !$0.isComplete })
  }

  @Test("asking before and after a cancellation are answered by a run of their own")
  func requestAfterCancellation() async throws {
    let held = Held()
    let first = await held.call()
    await held.untilReached()
    let before = await held.call()
    await held.scene.mirror.cancelCurrentRun()
    let after = await held.call()
    do {
      _ = try await first.value
      Issue.record("a cancelled run has no report")
    } catch let error as MirrorRunError<Int> {
      #expect(error.report.isCancelled)
      #expect(error.failure.step == .list)
    }
    #expect(try await before.value.isComplete)
    #expect(try await after.value.isComplete)
    #expect((2...3).contains(held.scene.processor.count(of: "begin")))
  }

  @Test("may ask from inside of every step", arguments: MirrorScene.standardCalls)
  func fromInside(call: String) async throws {
    let scene = MirrorScene(MirrorScene.standardProcessor())
    let mirror = scene.mirror
    let processor = scene.processor
    processor.script.withLock {
      $0[call] = .perform {
        guard processor.count(of: call) == 1 else { return }
        await mirror.requestRun()
        await mirror.requestRun()
      }
    }
    #expect(try await mirror.run().isComplete)
    // The run that was asked for has started by now, so this one is the third.
    #expect(try await mirror.run().isComplete)
    #expect(processor.count(of: "begin") == 3)
    #expect(processor.count(of: "end") == 3)
    #expect(scene.phases.current.count { $0 == .ending } == 3)
    #expect(mirror.phase == .idle)
  }

  @Test("are answered a thousand times over", arguments: [1, 2, 10, 64])
  func chain(concurrency: Int) async throws {
    let processor = ScriptedProcessor(source: [1, 2, 3], local: [1, 2, 3], updates: [1, 2, 3])
    let scene = MirrorScene(processor, MirrorOptions(concurrency: concurrency))
    for _ in 0..<1_000 { #expect(try await scene.mirror.run().transferred.count == 3) }
    #expect(processor.count(of: "begin") == 1_000)
    #expect(processor.count(of: "end") == 1_000)
    let phases = scene.phases.current
    #expect(phases.count { $0 == .idle } == 1_000)
    #expect(phases.count { $0 == .ending } == 1_000)
  }

  @Test("from a thousand tasks at once are all answered, by few runs in pairs of begin and end")
  func crowd() async throws {
    let processor = ScriptedProcessor(source: Array(0..<20), local: [50])
    let scene = MirrorScene(processor, MirrorOptions(concurrency: 10))
    let answers = await withTaskGroup(of: Bool.self) { group in
      for number in 0..<1_000 {
        group.addTask {
          if number % 10 == 0 { await scene.mirror.cancelCurrentRun() }
          if number % 7 == 0 { await scene.mirror.requestRun() }
          return (try? await scene.mirror.run()) != nil
        }
      }
      return await group.reduce(into: 0) { count, isAnswered in count += isAnswered ? 1 : 0 }
    }
    #expect(answers > 0)
    _ = try await scene.mirror.run()
    let calls = processor.calls.filter { $0 == "begin" || $0 == "end" }
    #expect(calls == Array(repeating: ["begin", "end"], count: calls.count / 2).flatMap(\.self))
    #expect(processor.log.current.local == Set(0..<20))
  }

  @Test("may cancel a run before it has started: it begins and ends, and lists nothing")
  func cancelledAtOnce() async {
    for _ in 0..<1_000 {
      let scene = MirrorScene(MirrorScene.standardProcessor())
      await scene.mirror.requestAndCancel()
      while scene.mirror.phase != .idle || scene.processor.count(of: "end") == 0 {
        await Task.yield()
      }
      #expect(scene.processor.calls == ["begin", "end"])
      #expect(scene.processor.reports.current.first?.isCancelled == true)
    }
  }

  @Test("that are cancelled at once get their run cancelled, whether or not it had started")
  func cancelledCallers() async {
    for _ in 0..<1_000 {
      let scene = MirrorScene(MirrorScene.standardProcessor())
      let mirror = scene.mirror
      let task = Task { try await mirror.run() }
      while await mirror.callerCount == 0 { await Task.yield() }
      task.cancel()
      _ = await task.result
      let calls = scene.processor.calls
      #expect(calls.count { $0 == "begin" } == 1 && calls.count { $0 == "end" } == 1)
    }
  }

  @Test("get a run of their own priority, not of the priority of those who asked earlier")
  func priority() async throws {
    let held = Held()
    let priorities = Locked<[TaskPriority]>([])
    held.scene.processor.script.withLock {
      $0["begin"] = .perform { priorities.withLock { $0.append(Task.basePriority ?? .medium) } }
    }
    let mirror = held.scene.mirror
    let first = Task(priority: .background) { try await mirror.run() }
    await held.untilReached()
    let second = Task(priority: .high) { try await mirror.run() }
    while await mirror.callerCount < 2 { await Task.yield() }
    held.release.finish()
    _ = try await (first.value, second.value)
    #expect(priorities.current.count == 2)
    #expect(priorities.current.first.map { $0 < .high } == true)
    #expect(priorities.current.last == .high)
  }

  @Test("that are cancelled already start nothing")
  func cancelledBefore() async {
    let scene = MirrorScene(MirrorScene.standardProcessor())
    let mirror = scene.mirror
    let task = Task {
      try? await hang()
      return try await mirror.run()
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(scene.processor.calls.isEmpty)
  }

  @Test("can watch the phases, starting with the present one, to the end of the mirror")
  func watching() async throws {
    var scene: MirrorScene? = MirrorScene(MirrorScene.standardProcessor())
    let phases = scene?.mirror.phases()
    var iterator = phases?.makeAsyncIterator()
    #expect(await iterator?.next() == .idle)
    try await scene?.mirror.run()
    #expect(await iterator?.next() == .idle)
    scene = nil
    #expect(await iterator?.next() == nil)
  }
}

extension OneWayMirror {
  /// Cancels a run before its task can start: both calls are made in one turn of the actor.
  fileprivate func requestAndCancel() {
    requestRun()
    cancelCurrentRun()
  }
}

private struct TransientFailure: MirrorRetryError {
  var isTransient: Bool { true }
}
