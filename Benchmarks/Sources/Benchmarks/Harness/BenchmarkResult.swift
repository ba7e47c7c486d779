import Foundation

/// The measured times of one case.
struct BenchmarkResult {
  struct Line {
    var contender: String
    var median: Double
    var minimum: Double
    var changes: Int?
  }

  var benchmark: Benchmark
  var runs: Int
  var ours: Line
  var others: [Line]

  /// Our time over the contender's, and whether that keeps the goal.
  func ratio(to goal: Benchmark.Goal) -> (value: Double, isKept: Bool)? {
    guard let other = others.first(where: { $0.contender == goal.contender }) else { return nil }
    switch goal.direction {
    case .atMost:
      let ratio = ours.median / other.median
      return (ratio, ratio <= goal.factor)
    case .atLeastFasterBy:
      let ratio = other.median / ours.median
      return (ratio, ratio >= goal.factor)
    }
  }

  /// Lines for people.
  var text: String {
    var text = "\(benchmark.name)\n"
    for line in [ours] + others {
      let name = line.contender.padding(toLength: 44, withPad: " ", startingAt: 0)
      text += "  \(name) \(Self.format(line.median)) ms   (fastest \(Self.format(line.minimum)))\n"
    }
    for goal in benchmark.goals {
      guard let ratio = ratio(to: goal) else { continue }
      let value = String(format: "%.2f", ratio.value)
      let bound = String(format: "%g", goal.factor)
      let verdict = ratio.isKept ? "kept" : "MISSED"
      switch goal.direction {
      case .atMost:
        text += "  → \(value) × \(goal.contender) (goal: at most \(bound) ×) \(verdict)\n"
      case .atLeastFasterBy:
        text +=
          "  → \(value) × as fast as \(goal.contender) (goal: at least \(bound) ×) \(verdict)\n"
      }
    }
    return text
  }

  /// The same for programs.
  var json: [String: Any] {
    func object(_ line: Line) -> [String: Any] {
      [
        "name": line.contender, "medianMilliseconds": line.median,
        "minimumMilliseconds": line.minimum,
        "changes": line.changes.map { $0 as Any } ?? NSNull(),
      ]
    }
    return [
      "benchmark": benchmark.name, "runs": runs, "ours": object(ours),
      "others": others.map(object),
      "goals": benchmark.goals.compactMap { goal -> [String: Any]? in
        guard let ratio = ratio(to: goal) else { return nil }
        return [
          "contender": goal.contender, "factor": goal.factor, "ratio": ratio.value,
          "direction": goal.direction == .atMost ? "atMost" : "atLeastFasterBy",
          "kept": ratio.isKept,
        ]
      },
    ]
  }

  private static func format(_ milliseconds: Double) -> String {
    let text = String(format: milliseconds < 10 ? "%.3f" : "%.1f", milliseconds)
    return String(repeating: " ", count: max(0, 10 - text.count)) + text
  }
}
