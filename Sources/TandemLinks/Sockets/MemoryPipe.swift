import Synchronization

/// Bytes on their way from one task to another.
final class MemoryPipe: Sendable {
  /// The bytes that were written and not read, and the tasks that wait: a reader while there are none, a writer while there
  /// are too many.
  private struct State {
    var bytes: [UInt8] = []
    /// True when nothing more can be written. What is there can still be read.
    var isClosed = false
    var reader: CheckedContinuation<Void, Never>?
    var writer: CheckedContinuation<Void, Never>?

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
      defer { (reader, writer) = (nil, nil) }
      return [reader, writer].compactMap { $0 }
    }
  }

  private let state = Mutex(State())

  /// Adds bytes once there is room; returns false if the pipe is closed.
  func write(_ bytes: [UInt8]) async -> Bool {
    // A reader that wakes up without bytes takes this for the end.
    if bytes.isEmpty { return state.withLock { !$0.isClosed } }
    await wait(while: { $0.bytes.count >= MemoryConnection.maxWaitingByteCount }, as: \.writer)
    let (isOpen, waiting) = state.withLock { state in
      if !state.isClosed { state.bytes += bytes }
      return (!state.isClosed, state.takeWaiting())
    }
    for task in waiting { task.resume() }
    return isOpen
  }

  /// The waiting bytes, once there are any; `nil` if there will be none.
  func read() async -> [UInt8]? {
    await wait(while: \.bytes.isEmpty, as: \.reader)
    let (bytes, waiting) = state.withLock { state in
      defer { state.bytes = [] }
      return (state.bytes, state.takeWaiting())
    }
    for task in waiting { task.resume() }
    return bytes.isEmpty ? nil : bytes
  }

  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      return state.takeWaiting()
    }
    for task in waiting { task.resume() }
  }

  private func wait(
    while isBlocked: @Sendable (State) -> Bool,
    as place: any WritableKeyPath<State, CheckedContinuation<Void, Never>?> & Sendable
  ) async {
    await withCheckedContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.isClosed || !isBlocked(state) { return true }
        state[keyPath: place] = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
  }
}
