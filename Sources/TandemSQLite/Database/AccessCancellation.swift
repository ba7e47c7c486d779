internal import CSQLite
internal import Synchronization

/// Whether one access has been cancelled, and what to interrupt if it is.
///
/// `sqlite3_interrupt` alone would do too little and too much. It is forgotten if it comes between
/// two statements, so the connection's progress handler asks ``isCancelled`` as well; and it stays
/// pending for the next access, so it is called only while this one holds the connection, under the
/// lock. The handler alone would not do: it is not called within one long instruction, such as
/// counting a table.
final class AccessCancellation: Sendable {
  private struct State: @unchecked Sendable {
    // Safe to send: SQLite allows interrupting from any thread while the connection is open, and it
    // is open as long as this is set.
    var running: OpaquePointer?
  }

  private let flag = Atomic(false)
  private let state = Mutex(State())

  /// Whether the task that asked has been cancelled.
  var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// Cancels: from any thread, at any time, any number of times.
  func cancel() {
    flag.store(true, ordering: .releasing)
    state.withLock { state in
      if let running = state.running { sqlite3_interrupt(running) }
    }
  }

  /// From now until ``end()``, cancelling interrupts the connection.
  func begin(_ connection: OpaquePointer) {
    let connection = State(running: connection)
    state.withLock { $0 = connection }
  }

  /// Once this returns, cancelling has no effect on the connection.
  func end() { state.withLock { $0.running = nil } }
}
