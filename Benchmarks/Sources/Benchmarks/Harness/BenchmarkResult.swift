import Foundation

/// The measured times of one case.
struct BenchmarkResult {
  struct Line {
    var contender: String
    var median: Double
    var minimum: Double
    /// The most memory that it occupied at a time, beyond what was occupied before.
    var peakByteCount: Int?
    var changes: Int?
  }

  var benchmark: Benchmark
  var runs: Int
  var ours: Line
  var others: [Line]

  /// What a goal asks for, in words and figures, and what was measured.
  struct Verdict {
    var direction: String
    var contender: String?
    var bound: Double
    var value: Double
    var isKept: Bool
    var text: String

    /// The value alone, with a mark if the goal was missed.
    var ratio: String {
      let figure = String(format: value < 10 ? "%.2f" : "%.0f", value)
      let words =
        switch direction {
        case "atMost": "\(figure) ×"
        case "atLeastFasterBy": value < 1 ? "\(figure) × as fast" : "\(figure) × faster"
        case "atMostBytes": "\(figure) bytes"
        default: "\(figure) ms"
        }
      return isKept ? words : "\(words), goal missed"
    }
  }

  /// Whether a goal is kept; `nil` if the contender that it names is missing.
  func verdict(on goal: Benchmark.Goal) -> Verdict? {
    switch goal {
    case .atMost(let bound, let contender):
      guard let other = median(of: contender) else { return nil }
      let value = ours.median / other
      return Verdict(
        direction: "atMost", contender: contender, bound: bound, value: value,
        isKept: value <= bound,
        text: "\(Self.short(value)) × \(contender) (goal: at most \(Self.plain(bound)) ×)")
    case .atMostMore(let factor, let contender, let milliseconds):
      guard let other = median(of: contender) else { return nil }
      let bound = factor * other + milliseconds
      return Verdict(
        direction: "withinMilliseconds", contender: contender, bound: bound, value: ours.median,
        isKept: ours.median <= bound,
        text: "\(Self.short(ours.median)) ms (goal: at most \(Self.plain(factor)) × \(contender)"
          + " + \(Self.plain(milliseconds)) ms, which is \(Self.short(bound)) ms)")
    case .atLeast(let bound, let contender):
      guard let other = median(of: contender) else { return nil }
      let value = other / ours.median
      return Verdict(
        direction: "atLeastFasterBy", contender: contender, bound: bound, value: value,
        isKept: value >= bound,
        text: "\(Self.short(value)) × as fast as \(contender)"
          + " (goal: at least \(Self.plain(bound)) ×)")
    case .within(let bound):
      return Verdict(
        direction: "withinMilliseconds", contender: nil, bound: bound, value: ours.median,
        isKept: ours.median <= bound,
        text: "\(Self.short(ours.median)) ms (goal: at most \(Self.plain(bound)) ms)")
    case .size(let bound, let thing, let measured):
      return Verdict(
        direction: "atMostBytes", contender: nil, bound: bound, value: measured,
        isKept: measured <= bound,
        text: "\(Self.short(measured)) bytes per \(thing) (goal: at most \(Self.plain(bound)))")
    }
  }

  private func median(of contender: String) -> Double? {
    others.first { $0.contender == contender }?.median
  }

  private static func short(_ value: Double) -> String { String(format: "%.2f", value) }

  private static func plain(_ value: Double) -> String { String(format: "%g", value) }

  /// Lines for people.
  var text: String {
    var text = "\(benchmark.name)\n"
    for line in [ours] + others {
      let name = line.contender.padding(toLength: 44, withPad: " ", startingAt: 0)
      let memory = line.peakByteCount.map { ", peak memory \(Self.memory($0))" } ?? ""
      text +=
        "  \(name) \(Self.format(line.median)) ms   (fastest \(Self.format(line.minimum))\(memory))\n"
    }
    for verdict in benchmark.goals.compactMap(verdict) {
      text += "  → \(verdict.text) \(verdict.isKept ? "kept" : "MISSED")\n"
    }
    return text
  }

  /// The same for programs.
  var json: [String: Any] {
    func object(_ line: Line) -> [String: Any] {
      [
        "name": line.contender, "medianMilliseconds": line.median,
        "minimumMilliseconds": line.minimum,
        "peakByteCount": line.peakByteCount.map { $0 as Any } ?? NSNull(),
        "changes": line.changes.map { $0 as Any } ?? NSNull(),
      ]
    }
    return [
      "benchmark": benchmark.name, "runs": runs, "ours": object(ours),
      "others": others.map(object),
      "goals": benchmark.goals.compactMap(verdict).map { verdict -> [String: Any] in
        [
          "contender": verdict.contender.map { $0 as Any } ?? NSNull(),
          "direction": verdict.direction, "factor": verdict.bound, "ratio": verdict.value,
          "kept": verdict.isKept,
        ]
      },
    ]
  }

  /// The first lines of a Markdown table of results.
  static let heading = """
    | case | Tandem | beside | measured |
    |---|---|---|---|
    """

  /// The result as a row of a Markdown table.
  var row: String {
    func cell(_ line: Line) -> String {
      let memory = line.peakByteCount.map { ", \(Self.memory($0))" } ?? ""
      return "\(line.contender): \(Self.time(line.median))\(memory)"
    }
    let verdicts = benchmark.goals.compactMap(verdict).map { verdict in
      verdict.text + (verdict.isKept ? "" : ": **missed**")
    }
    let beside = others.map(cell).joined(separator: "<br>")
    return "| \(benchmark.name) | \(cell(ours)) | \(beside) | "
      + "\(verdicts.joined(separator: "<br>")) |"
  }

  /// The first lines of README's table.
  static let headingOfReadme = """
    | case | Tandem | beside | ratio |
    |---|---|---|---|
    """

  /// The result as a row of README's table. Beside it stands the contender of the first goal.
  func rowOfReadme(_ words: String) -> String {
    let verdict = benchmark.goals.lazy.compactMap(verdict).first
    let other = others.first { $0.contender == verdict?.contender } ?? others.first
    let beside = other.map { "\($0.contender) \(Self.time($0.median))" } ?? ""
    return "| \(words) | \(Self.time(ours.median)) | \(beside) | \(verdict?.ratio ?? "") |"
  }

  /// A time with a unit that fits it.
  private static func time(_ milliseconds: Double) -> String {
    switch milliseconds {
    case 1_000...: String(format: "%.2f s", milliseconds / 1_000)
    case 10...: String(format: "%.0f ms", milliseconds)
    case 0.01...: String(format: "%.2g ms", milliseconds)
    default: String(format: "%.2g µs", milliseconds * 1_000)
    }
  }

  private static func memory(_ byteCount: Int) -> String {
    String(format: byteCount < 10 << 20 ? "%.1f MB" : "%.0f MB", Double(byteCount) / 1e6)
  }

  private static func format(_ milliseconds: Double) -> String {
    let text = String(format: milliseconds < 10 ? "%.3f" : "%.1f", milliseconds)
    return String(repeating: " ", count: max(0, 10 - text.count)) + text
  }
}
