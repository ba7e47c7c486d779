/// Runs cases: one warm-up, in which memory is measured, then the contenders in turn, so that a noisy
/// minute hits all of them.
struct BenchmarkRunner {
  /// Measured runs per contender; the median is reported.
  var runs: Int

  struct Disagreement: Error, CustomStringConvertible {
    var description: String
  }

  func run(_ benchmark: Benchmark) throws -> BenchmarkResult {
    let contenders = [benchmark.ours] + benchmark.others
    var times = [[Double]](repeating: [], count: contenders.count)
    var changes = [Int?](repeating: nil, count: contenders.count)
    var peaks = [Int?](repeating: nil, count: contenders.count)
    for (index, contender) in contenders.enumerated() {
      try contender.prepare()
      peaks[index] = try PeakMemory.byteCount { changes[index] = try contender.run() }
    }
    for _ in 0..<runs {
      for (index, contender) in contenders.enumerated() {
        try contender.prepare()
        let elapsed = try contender.stopwatch.milliseconds { changes[index] = try contender.run() }
        times[index].append(elapsed / Double(contender.operationCount))
      }
    }
    guard Set(changes.compactMap { $0 }).count <= 1 else {
      let counts = zip(contenders, changes).map { "\($0.name): \($1 ?? 0)" }.joined(separator: ", ")
      throw Disagreement(description: "\(benchmark.name): contenders disagree: \(counts)")
    }
    let lines = contenders.indices.map { index in
      let sorted = times[index].sorted()
      return BenchmarkResult.Line(
        contender: contenders[index].name, median: sorted[sorted.count / 2], minimum: sorted[0],
        peakByteCount: peaks[index], changes: changes[index])
    }
    return BenchmarkResult(
      benchmark: benchmark, runs: runs, ours: lines[0], others: Array(lines.dropFirst()))
  }
}
