import Foundation
import Synchronization

/// What a test's threads wait on, without looking at a clock.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Blocks the thread until ``open()``, which lets one through.
  func wait() { semaphore.wait() }

  func open() { semaphore.signal() }
}

/// A number that threads count up.
final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  @discardableResult
  func increment() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}

/// How many bytes a file has.
func fileLength(_ path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return (attributes[.size] as? NSNumber)?.intValue ?? -1
}

/// A thread of its own, which may block.
final class TestThread: Sendable {
  private let ended: AsyncStream<Void>

  init(_ body: @escaping @Sendable () -> Void) {
    let (ended, signal) = AsyncStream<Void>.makeStream()
    self.ended = ended
    Thread.detachNewThread {
      body()
      signal.finish()
    }
  }

  /// Waits for its end, without blocking.
  func join() async { for await _ in ended {} }
}
