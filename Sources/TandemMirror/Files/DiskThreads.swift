internal import Dispatch
internal import Synchronization

/// Threads that wait for the disk in place of tasks.
///
/// There are as few threads for tasks as processors. If tasks waited for the disk themselves, as few files would be
/// synchronized at a time, and meanwhile no other task of the program could run. File systems synchronize the files
/// of several threads together, which takes hardly longer than one file.
enum DiskThreads {
  /// The most jobs that run at the same time.
  static let maxCount = 16

  private struct State {
    var jobs: [@Sendable () -> Void] = []
    /// Queues without a thread.
    var idle = (0..<maxCount).map { DispatchQueue(label: "tandem.disk.\($0)") }
  }

  private static let state = Mutex(State())

  /// Runs a job on one of the threads, and waits for its end, even if the task is cancelled.
  static func run(
    isolation: isolated (any Actor)? = #isolation, _ job: @escaping @Sendable () throws -> Void
  ) async throws {
    try await withCheckedThrowingContinuation { continuation in
      let idle = state.withLock { state in
        state.jobs.append { continuation.resume(with: Result { try job() }) }
        return state.idle.popLast()
      }
      if let idle { idle.async { work(on: idle) } }
    }
  }

  /// Runs jobs until there are none.
  private static func work(on queue: DispatchQueue) {
    while let job = nextJob(of: queue) { job() }
  }

  private static func nextJob(of queue: DispatchQueue) -> (@Sendable () -> Void)? {
    state.withLock { state in
      if !state.jobs.isEmpty { return state.jobs.removeFirst() }
      state.idle.append(queue)
      return nil
    }
  }
}
