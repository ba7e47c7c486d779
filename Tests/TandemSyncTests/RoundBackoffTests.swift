import Synchronization
import TandemSync
import Testing

@Suite("Delays between rounds")
struct RoundBackoffTests {
  @Test("the bound doubles from round to round, up to the longest delay")
  func growth() {
    let backoff = RoundBackoff(firstDelay: .milliseconds(100), maxDelay: .milliseconds(500))
    let delays = (0...6).map { backoff.delay(beforeRound: $0, chance: 1) }
    #expect(delays == [0, 0, 100, 200, 400, 500, 500].map { .milliseconds($0) })
    #expect(backoff.delay(beforeRound: 3, chance: 0.25) == .milliseconds(50))
    #expect(backoff.delay(beforeRound: .max, chance: 1) == .milliseconds(500))
  }

  @Test("whatever the numbers, a delay is between zero and the longest")
  func extremes() {
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
    for first in [.seconds(-1), .zero, .milliseconds(1), longest] as [Duration] {
      for maxDelay in [.zero, .milliseconds(1), longest] as [Duration] {
        for round in [Int.min, -1, 1, 2, 3, 100, .max] {
          for chance in [-Double.infinity, -1, 0, 0.5, 1, 7, .nan] {
            let backoff = RoundBackoff(firstDelay: first, maxDelay: maxDelay)
            let delay = backoff.delay(beforeRound: round, chance: chance)
            #expect(delay >= .zero && delay <= maxDelay)
          }
        }
      }
    }
  }

  @Test("a pause waits on the given clock, by the given chance")
  func pause() async throws {
    let clock = NotedClock()
    let pause = RoundBackoff().pause(on: clock, chance: { 0.5 })
    for round in 2...4 { try await pause(round) }
    #expect(clock.delays == [50, 100, 200].map { .milliseconds($0) })
  }

  @Test("options pause by default: rejected pushes are not repeated at once")
  func byDefault() async throws {
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await SynchronizationOptions().pause(.max)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }
}

/// A clock that notes each delay, and does not wait.
private final class NotedClock: Clock {
  typealias Instant = ContinuousClock.Instant

  private let start = ContinuousClock.now
  private let noted = Mutex<[Duration]>([])

  var delays: [Duration] { noted.withLock { $0 } }
  var now: Instant { start }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    noted.withLock { $0.append(start.duration(to: deadline)) }
  }
}
