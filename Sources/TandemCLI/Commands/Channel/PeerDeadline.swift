import Tandem

/// The time by which a peer must have answered, with any number of messages.
struct PeerDeadline: Sendable {
  /// The time from the creation of the deadline.
  let limit: Duration
  private let end: ContinuousClock.Instant

  /// A deadline at the given time from now.
  init(_ limit: Duration) {
    self.limit = limit
    end = .now + limit
  }

  /// Runs `body`, and cancels it at the deadline.
  ///
  /// - Returns: the result of `body`, or `nil` if it was cancelled.
  func result<Result: Sendable>(
    of body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result? {
    try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask(operation: body)
      group.addTask { [end] in
        // If it was cancelled, the other task has ended first.
        try? await Task.sleep(until: end, clock: .continuous)
        return nil
      }
      let result = try await group.next() ?? nil
      group.cancelAll()
      return result
    }
  }
}

extension ChannelConnection {
  /// Runs `body`; closes the connection at the deadline and when the task is cancelled.
  ///
  /// - Returns: the result of `body`, or `nil` at the deadline.
  func result<Result: Sendable>(
    by deadline: PeerDeadline, of body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result? {
    try await deadline.result {
      try await withTaskCancellationHandler {
        try await body()
      } onCancel: {
        close()
      }
    }
  }
}
