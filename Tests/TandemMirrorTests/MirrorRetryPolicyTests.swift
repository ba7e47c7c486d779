import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("A retry policy", .timeLimit(.minutes(20)))
struct MirrorRetryPolicyTests {
  struct Asking: MirrorRetryError {
    var isTransient = true
    var retryDelay: Duration?
  }

  @Test("doubles the waiting up to its bound")
  func doubling() {
    let policy = MirrorRetryPolicy(
      maxAttemptCount: 8, firstDelay: .seconds(1), maxDelay: .seconds(10), jitter: 0)
    let delays = (1...8).map {
      policy.delay(afterAttempt: $0, error: ScriptedError(), chance: 0.3)
    }
    #expect(delays == [1, 2, 4, 8, 10, 10, 10].map { .seconds($0) } + [nil])
  }

  @Test("leaves its share of the waiting to chance")
  func jitter() throws {
    let policy = MirrorRetryPolicy(firstDelay: .seconds(8), jitter: 0.5)
    for (chance, seconds) in [(0.0, 4), (0.5, 6), (1.0, 8), (-1, 4), (2, 8), (.nan, 4)] {
      let delay = policy.delay(afterAttempt: 1, error: ScriptedError(), chance: chance)
      #expect(delay == .seconds(seconds))
    }
  }

  @Test("waits as long as the error asks, unless that is too long")
  func requested() {
    let policy = MirrorRetryPolicy(
      firstDelay: .seconds(1), jitter: 0, maxRequestedDelay: .seconds(60))
    for (asked, delay) in [(0, 1), (30, 30), (60, 60), (61, nil)] {
      let error = Asking(retryDelay: .seconds(asked))
      #expect(
        policy.delay(afterAttempt: 1, error: error, chance: 0) == delay.map { .seconds($0) })
    }
  }

  @Test("makes no further attempt for errors that stay")
  func permanent() {
    let policy = MirrorRetryPolicy()
    let permanent = Asking(isTransient: false, retryDelay: .seconds(1))
    #expect(policy.delay(afterAttempt: 1, error: permanent, chance: 0) == nil)
    #expect(policy.delay(afterAttempt: 1, error: CancellationError(), chance: 0) == nil)
    #expect(
      MirrorRetryPolicy.never.delay(afterAttempt: 1, error: ScriptedError(), chance: 0) == nil)
    #expect(MirrorRetryPolicy.isTransient(MirrorError(.timedOut, "")))
    #expect(!MirrorRetryPolicy.isTransient(MirrorError(.emptySource, "")))
  }

  @Test("survives absurd figures")
  func absurd() {
    let policy = MirrorRetryPolicy(
      maxAttemptCount: .max, firstDelay: .seconds(-1), maxDelay: .seconds(-1), jitter: .infinity)
    for attempt in [Int.min, 0, 1, 1_000_000, .max - 1] {
      let delay = policy.delay(afterAttempt: attempt, error: ScriptedError(), chance: 0.5)
      #expect(delay == .zero)
    }
  }

  @Test("neither overflows nor counts for ever with a bound beyond all time")
  func unbounded() {
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
    for first in [Duration.zero, .nanoseconds(1), longest] {
      let policy = MirrorRetryPolicy(
        maxAttemptCount: .max, firstDelay: first, maxDelay: longest, jitter: 1)
      let delay = policy.delay(afterAttempt: .max - 1, error: ScriptedError(), chance: 1)
      #expect(delay == (first == .zero ? .zero : .seconds(1 << 32)))
    }
  }

  /// A mirror of one item that fails so many times.
  private func scene(failing count: Int, timeout: Duration? = nil) -> MirrorScene {
    MirrorScene(
      ScriptedProcessor(
        source: [1], local: [9], byteCount: 5, script: ["content 1": .failTimes(count)]),
      MirrorOptions(
        stages: [MirrorStageOptions(.content, timeout: timeout)],
        retry: MirrorRetryPolicy(firstDelay: .seconds(1), jitter: 0)))
  }

  @Test("has a failed transfer attempted again after the waiting, and its bytes summed up")
  func retrying() async throws {
    let scene = scene(failing: 2)
    let run = Task { try await scene.mirror.run() }
    for seconds in [1, 2] {
      await scene.clock.untilSleeping(1)
      scene.clock.advance(by: .seconds(seconds))
    }
    let report = try await run.value
    #expect(
      report.transferred
        == [MirrorTransferReport(id: 1, stage: .content, attemptCount: 3, byteCount: 15)])
    #expect(scene.clock.durations == [.seconds(1), .seconds(2)])
    #expect(report.removed == [9])
  }

  @Test("gives up after its last attempt")
  func exhausted() async throws {
    let scene = scene(failing: 3)
    let run = Task { await scene.report() }
    for seconds in [1, 2] {
      await scene.clock.untilSleeping(1)
      scene.clock.advance(by: .seconds(seconds))
    }
    let failure = await run.value.failures.first
    #expect(failure?.attemptCount == 3)
    #expect(failure?.byteCount == 15)
    #expect(failure?.description == "content of 1: scripted (3 attempts)")
  }

  @Test("keeps the error of a transfer that was waiting when the run was cancelled")
  func cancelledWhileWaiting() async throws {
    let scene = scene(failing: 3)
    let run = Task { await scene.report() }
    await scene.clock.untilSleeping(1)
    await scene.mirror.cancelCurrentRun()
    let report = await run.value
    #expect(report.isCancelled)
    #expect(report.failures.map(\.id) == [1])
    #expect(scene.processor.count(of: "content 1") == 1)
    #expect(report.removed.isEmpty)
  }

  @Test("has an attempt that hangs made again")
  func timeout() async throws {
    let scene = scene(failing: 0, timeout: .seconds(3))
    let processor = scene.processor
    let (reached, signal) = AsyncStream<Void>.makeStream()
    processor.script.withLock {
      $0["content 1"] = .perform {
        guard processor.count(of: "content 1") == 1 else { return }
        signal.finish()
        try await hang()
      }
    }
    let run = Task { try await scene.mirror.run() }
    for await _ in reached {}
    await scene.clock.untilSleeping(1)
    scene.clock.advance(by: .seconds(3))
    await scene.clock.untilSleeping(1)
    scene.clock.advance(by: .seconds(1))
    #expect(try await run.value.transferred.map(\.attemptCount) == [2])
  }

  @Test("lets a late success count")
  func lateSuccess() async throws {
    let clock = VirtualClock()
    let (reached, signal) = AsyncStream<Void>.makeStream()
    let task = Task {
      try await withTimeout(.seconds(1), clock: clock) {
        signal.finish()
        try? await hang()
        return 42
      }
    }
    for await _ in reached {}
    await clock.untilSleeping(1)
    clock.advance(by: .seconds(1))
    #expect(try await task.value == 42)
  }
}
