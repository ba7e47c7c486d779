// A data race for scripts/sanitize: a sanitizer that does not report it reports nothing. The lock
// beside it is no race.
import Foundation

final class Unguarded: @unchecked Sendable {
  var count = 0
}

@main
struct PlantedRace {
  static let unguarded = Unguarded()
  static let guarded = Mutex(0)

  static func main() {
    let ended = DispatchSemaphore(value: 0)
    for _ in 0..<2 {
      Thread.detachNewThread {
        for _ in 0..<1_000 {
          unguarded.count += 1
          guarded.withLock { $0 += 1 }
        }
        ended.signal()
      }
    }
    for _ in 0..<2 { ended.wait() }
    print("counted \(unguarded.count) and \(guarded.withLock { $0 })")
  }
}
