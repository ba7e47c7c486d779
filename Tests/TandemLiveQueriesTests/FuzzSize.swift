import Foundation

/// How much to do: `TANDEM_FUZZ_SEED` is the first seed, `TANDEM_FUZZ_COUNT` how many there are, as
/// `make fuzz` sets them.
enum FuzzSize {
  private static func number(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
  }

  /// The seeds of a run. Unless told otherwise, they are so many: half of them always the same, half those of
  /// the day.
  static func seeds(count: Int) -> [UInt64] {
    if let seedCount = number("TANDEM_FUZZ_COUNT") {
      let first = number("TANDEM_FUZZ_SEED") ?? 1
      return (0..<seedCount).map { first &+ $0 }
    }
    let today = UInt64(time(nil) / 86_400) * 1_000_000
    return (0..<UInt64(count)).map { $0 < count / 2 ? $0 + 1 : today + $0 }
  }

  /// The command that does the same again.
  static func repetition(_ seed: UInt64) -> String { "repeat with: make fuzz SEED=\(seed) COUNT=1" }

  /// Says how far it is, if somebody asked for a number of seeds: now and then.
  static func report(_ name: String, _ offset: Int, of count: Int) {
    guard number("TANDEM_FUZZ_COUNT") != nil, (offset + 1) % max(1, count / 20) == 0 else { return }
    FileHandle.standardError.write(Data("\(name): \(offset + 1) of \(count) worlds\n".utf8))
  }
}
