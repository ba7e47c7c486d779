/// Runs `body` until it does not find the file locked by another program, and returns its value. It
/// is run again at pauses that double, from 1 to 40 milliseconds, until the task is cancelled.
///
/// - Throws: Every other error that `body` throws; `CancellationError`.
package func retryingWhileBusy<Value>(
  _ body: @Sendable () async throws -> Value
) async throws -> Value {
  var pause = Duration.milliseconds(1)
  while true {
    do {
      return try await body()
    } catch let error as DatabaseError where error.code.primary == .busy {
      try await Task.sleep(for: pause)
      pause = min(pause * 2, .milliseconds(40))
    }
  }
}
