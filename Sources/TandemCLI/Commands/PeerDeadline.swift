import Tandem

/// By when a peer is to have answered, whatever it is asked meanwhile.
struct PeerDeadline: Sendable {
  /// How long after its beginning that is.
  let limit: Duration
  private let end: ContinuousClock.Instant

  /// A deadline that begins now.
  init(_ limit: Duration) {
    self.limit = limit
    end = .now + limit
  }

  /// What `body` gives; `nil` if it took too long, and was cancelled.
  func result<Result: Sendable>(
    of body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result? {
    try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask(operation: body)
      group.addTask { [end] in
        // Cancelled, it returns at once; then it is not the first.
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
  /// Does something with the connection, and closes it if that takes too long, or the task is cancelled.
  ///
  /// - Returns: `nil` if it took too long.
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
