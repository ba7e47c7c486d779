internal import Synchronization
internal import SystemLibrary
internal import TandemSQLite

/// Lets a few requests in at a time, in the order in which they came.
package final class RequestGate: Sendable {
  private let queue: Mutex<CheckoutQueue<Void, CheckedContinuation<Void, Never>>>

  /// A gate for so many requests at a time.
  package init(width: Int) { queue = Mutex(CheckoutQueue(Array(repeating: (), count: width))) }

  /// The number of requests that wait.
  package var waitingCount: Int { queue.withLock { $0.waitingCount } }

  /// Waits until there is room. Each call needs a later one of ``leave()``.
  package func enter() async {
    await withCheckedContinuation { continuation in
      let answer = queue.withLock { $0.checkOut($0.makeRequestID()) { continuation } }
      if case .checkedOut = answer { continuation.resume() }
    }
  }

  /// Makes room for the next request.
  package func leave() { queue.withLock { $0.checkIn(()) }?.resume() }
}

/// The number of processors of this machine.
func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
