internal import TandemSQLite

/// How a run waits for a file that another program keeps locked: for as long as its task is not
/// cancelled, asking at pauses that double.
enum LockPatience {
  /// The pause before the second try.
  static let minPauseMilliseconds = 1
  /// The longest pause, and so how late the end of a lock may be noticed.
  static let maxPauseMilliseconds = 40

  /// What `body` returns, once it does not find the file locked.
  ///
  /// - Throws: What `body` throws otherwise; `CancellationError`.
  static func wait<Value>(
    for body: @Sendable () async throws -> Value
  ) async throws -> Value {
    var pause = minPauseMilliseconds
    while true {
      do {
        return try await body()
      } catch let error as DatabaseError where error.code.primary == .busy {
        try await Task.sleep(for: .milliseconds(pause))
        pause = min(pause * 2, maxPauseMilliseconds)
      }
    }
  }
}
