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
