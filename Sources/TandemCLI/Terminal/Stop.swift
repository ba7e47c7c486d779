/// The events that stop a command which runs until it is stopped.
enum Stop {
  case interrupted
  case outputClosed

  /// Runs `body`, cancels it at a signal, and returns its result.
  ///
  /// - Throws: the error of `body`; `OutputError` for a broken pipe if the reader of the output has ended.
  static func ending<Result: Sendable>(
    _ body: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    let (stops, stop) = AsyncStream<Stop>.makeStream()
    let interruption = Interruption { _ in stop.yield(.interrupted) }
    defer { interruption.end() }
    OutputClosure.notify { stop.yield(.outputClosed) }
    return try await withThrowingTaskGroup(of: Result?.self) { group in
      group.addTask(operation: body)
      group.addTask {
        for await stop in stops {
          guard stop == .interrupted else { throw OutputError(code: EPIPE) }
          break
        }
        return nil
      }
      var result: Result?
      for try await ended in group {
        result = ended ?? result
        group.cancelAll()
      }
      guard let result else { preconditionFailure("The body has ended, and has not thrown") }
      return result
    }
  }
}
