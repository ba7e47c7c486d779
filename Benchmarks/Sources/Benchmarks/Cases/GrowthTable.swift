import Foundation
import TandemDifferences

/// Times for a hundred to a million records, and their growth from one size to the next, which has ten times as many
/// records. Linear work grows 10 times, until the records leave the processor's caches.
struct GrowthTable {
  var seed: UInt64
  /// Measured runs for each cell; the median is printed.
  var runs: Int

  static let sizes = [100, 1_000, 10_000, 100_000, 1_000_000]
  /// Small sizes are repeated until so many records have been compared, so that a run is long enough to measure.
  private static let recordCountPerRun = 1_000_000

  private typealias Row = SetDifferenceCases.Row

  /// Three versions of a list. On each side a tenth of the records is changed, deleted or inserted, at random.
  private struct Versions {
    var base: [Row]
    var local: [Row]
    var remote: [Row]

    init(count: Int, seed: UInt64) {
      var generator = SplitMix64(seed: seed)
      let base = (0..<count).map { Row(id: Int64($0) * 2, first: Int64($0), second: 0) }
      func edited() -> [Row] {
        base.flatMap { row -> [Row] in
          switch Int.random(in: 0..<30, using: &generator) {
          case 0: []
          case 1:
            [row, Row(id: row.id + 1, first: 0, second: .random(in: 0..<9, using: &generator))]
          case 2: [Row(id: row.id, first: row.first, second: .random(in: 1..<9, using: &generator))]
          default: [row]
          }
        }
      }
      (self.base, local, remote) = (base, edited(), edited())
    }

    func shuffled(seed: UInt64) -> Versions {
      var generator = SplitMix64(seed: seed)
      var result = self
      result.local.shuffle(using: &generator)
      result.remote.shuffle(using: &generator)
      return result
    }
  }

  private typealias Job = @Sendable (Versions) throws -> Int

  private static let jobs: [(name: String, isShuffled: Bool, job: Job)] = [
    (
      "`SetDifference`, sorted", false,
      { try SetDifference(from: $0.base, to: $0.local, sortedBy: \.id).count }
    ),
    (
      "`SetDifference`, order mostly kept", false,
      { try SetDifference(from: $0.base, to: $0.local).count }
    ),
    ("`SetDifference`, shuffled", true, { try SetDifference(from: $0.base, to: $0.local).count }),
    (
      "`ThreeWayMerge`, sorted", false,
      {
        try ThreeWayMerge(
          base: .known($0.base), local: $0.local, remote: $0.remote, sortedBy: { $0.id },
          policy: .keepRemote
        ).merged.count
      }
    ),
    (
      "`ThreeWayMerge`, shuffled", true,
      {
        try ThreeWayMerge(
          base: .known($0.base), local: $0.local, remote: $0.remote, policy: .keepRemote
        ).merged.count
      }
    ),
    (
      "`ListDifference`, order mostly kept", false,
      { ListDifference(from: $0.base, to: $0.local).batches.count }
    ),
  ]

  /// Prints the table in Markdown: a row for each job, a column for each size.
  func print() throws {
    let heading = Self.sizes.map { $0.formatted(.number.locale(Locale(identifier: "en_US"))) }
    Swift.print(
      "Seed \(seed), \(runs) runs. In parentheses: the growth from ten times fewer records.\n")
    Swift.print("| | \(heading.joined(separator: " | ")) |")
    Swift.print("|---|\(String(repeating: "---:|", count: Self.sizes.count))")
    for (name, isShuffled, job) in Self.jobs {
      var previous: Double?
      var cells: [String] = []
      for size in Self.sizes {
        var versions = Versions(count: size, seed: seed)
        if isShuffled { versions = versions.shuffled(seed: seed) }
        let time = try microseconds(of: job, versions, count: size)
        cells.append(
          Self.text(time) + (previous.map { String(format: " (×%.1f)", time / $0) } ?? ""))
        previous = time
      }
      Swift.print("| \(name) | \(cells.joined(separator: " | ")) |")
      fflush(nil)
    }
  }

  /// The median time of one job.
  private func microseconds(of job: Job, _ versions: Versions, count: Int) throws -> Double {
    let repetitionCount = max(1, Self.recordCountPerRun / count)
    var times: [Double] = []
    for run in 0...runs {
      let start = ContinuousClock.now
      var sum = 0
      for _ in 0..<repetitionCount { sum &+= try job(versions) }
      let elapsed = start.duration(to: .now) / repetitionCount
      precondition(sum > 0, "Nothing was found")
      if run > 0 { times.append(elapsed / .microseconds(1)) }
    }
    return times.sorted()[times.count / 2]
  }

  private static func text(_ microseconds: Double) -> String {
    switch microseconds {
    case ..<1_000: String(format: "%.3g µs", microseconds)
    case ..<1_000_000: String(format: "%.3g ms", microseconds / 1_000)
    default: String(format: "%.3g s", microseconds / 1_000_000)
    }
  }
}
