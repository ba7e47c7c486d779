import Foundation

/// The disk of a case in which transactions become durable: that of this machine, or one that takes longer
/// to flush. A virtual disk may take so little time that there is nothing to share.
enum BenchmarkDisk: CaseIterable {
  case own
  case slow

  private static let flushMicroseconds = 2_000

  /// What to add to the name of a case.
  var suffix: String {
    switch self {
    case .own: ""
    case .slow: ", on a disk that takes \(Self.flushMicroseconds / 1_000) ms longer to flush"
    }
  }

  /// The goal of commits. A flush that takes time is what they share; on a fast disk, what is left without it counts.
  func goal(
    atLeast factor: Double, timesFasterThan floor: String, orWithinMilliseconds time: Double
  ) -> Benchmark.Goal {
    switch self {
    case .own: Benchmark.goal(withinMilliseconds: time)
    case .slow: Benchmark.goal(atLeast: factor, timesFasterThan: floor)
    }
  }

  /// Calls `body`, which uses the disk, or starts a program that does (`slow_disk.c`).
  func use<Value>(_ body: () throws -> Value) throws -> Value {
    guard self == .slow else { return try body() }
    guard let library = ProcessInfo.processInfo.environment["SLOW_DISK"] else {
      throw Program.Failure(description: "SLOW_DISK must name a library; use `make bench`")
    }
    let variables = [
      "FLUSH_MICROSECONDS": "\(Self.flushMicroseconds)", "LD_PRELOAD": library,
    ]
    for (name, value) in variables { setenv(name, value, 1) }
    defer { for name in variables.keys { unsetenv(name) } }
    return try body()
  }

  /// Transactions of one row by C, on this disk.
  func bareTransactions() throws -> Benchmark.Contender {
    let folder = try TemporaryFolder()
    let bare = try FloorDatabase(folder.path("bare.db"))
    var number = 0
    return Benchmark.Contender(name: "C, transactions of one row", operationCount: 200) {
      // A function of the folder, so that the file stays.
      _ = folder
      try use {
        for _ in 0..<200 {
          number += 1
          _ = try bare.insert(FloorPlaces([Place(number: number)]))
        }
      }
      return nil
    }
  }
}
