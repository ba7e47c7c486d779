internal import TandemSQLite

/// The pause before a read that keeps other programs from writing.
///
/// Without a write-ahead log, a commit fails or waits while anybody reads. If a result were read
/// again after each commit at once, a program that does not wait could hardly commit.
struct ReadPause {
  /// The pause, as a multiple of the duration of the read before.
  static let ratio = 4
  static let maxDuration = Duration.seconds(10)

  private(set) var duration = Duration.zero

  /// Notes a read that kept others from writing for so long.
  mutating func didRead(for cost: Duration) {
    duration = min(cost * ReadPause.ratio, ReadPause.maxDuration)
  }
}

/// Retries while another program keeps the file locked, at pauses that double, until the task is
/// cancelled.
enum BusyRetry {
  /// The pause before the second attempt.
  static let minPauseMilliseconds = 1
  /// The longest pause, and so the longest delay after the end of a lock.
  static let maxPauseMilliseconds = 40

  /// Runs `body` until it does not find the file locked, and returns its value.
  ///
  /// - Throws: Every other error that `body` throws; `CancellationError`.
  static func run<Value>(
    _ body: @Sendable () async throws -> Value
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
