import TandemRecords
import Testing

@Suite("Pauses between attempts")
struct BackoffTests {
  @Test("double up to a bound, and chance shortens them by at most a half")
  func doubling() {
    let backoff = Backoff(first: .seconds(2), max: .seconds(30))
    let longest = [1, 2, 3, 4, 5, 6, 1_000, .max].map { backoff.delay(afterFailure: $0, chance: 1) }
    #expect(longest == [2, 4, 8, 16, 30, 30, 30, 30].map { .seconds($0) })
    #expect(backoff.delay(afterFailure: 3, chance: 0) == .seconds(4))
    #expect(backoff.delay(afterFailure: 3, chance: 0.5) == .seconds(6))
    #expect(backoff.delay(afterFailure: 0, chance: 1) == .seconds(2))
    #expect(
      Backoff(first: .seconds(9), max: .seconds(3)).delay(afterFailure: 1, chance: 1)
        == .seconds(3))
    // The other side may ask for longer pauses, but not for any.
    let bounded = Backoff(first: .seconds(2), maxRequested: .seconds(60))
    let pauses = [nil, 1, 50, 1 << 40].map {
      bounded.delay(afterFailure: 1, atLeast: $0.map { .seconds($0) }, chance: 1)
    }
    #expect(pauses == [2, 2, 50, 60].map { .seconds($0) })
    #expect(Backoff().delay(afterFailure: .max, chance: 1) == .seconds(30))
  }

  @Test("are between zero and the longest, whatever the numbers")
  func extremes() {
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
    for first in [.seconds(-1), .zero, .milliseconds(1), longest] as [Duration] {
      for max in [.zero, .milliseconds(1), longest] as [Duration] {
        for count in [Int.min, -1, 0, 1, 2, 3, 100, .max] {
          for chance in [-Double.infinity, -1, 0, 0.5, 1, 7, .nan] {
            for jitter in [0, 0.5, 1, .infinity] {
              let backoff = Backoff(first: first, max: max, jitter: jitter)
              let delay = backoff.delay(afterFailure: count, chance: chance)
              #expect(delay >= .zero && delay <= max)
            }
          }
        }
      }
    }
  }

  @Test("are all left to chance if the jitter is 1")
  func jitter() {
    let backoff = Backoff(first: .milliseconds(100), max: .milliseconds(500), jitter: 1)
    #expect(backoff.delay(afterFailure: 2, chance: 0.25) == .milliseconds(50))
    #expect(backoff.delay(afterFailure: 9, chance: 0) == .zero)
  }
}
