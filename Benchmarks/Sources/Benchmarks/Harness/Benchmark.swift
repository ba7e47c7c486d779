/// One case: our code beside a floor or a peer that does the same job on the same data, in the same
/// run.
struct Benchmark {
  /// What is compared, one contender at a time.
  struct Contender {
    var name: String
    /// How many equal operations one run makes; times are given per operation.
    var operationCount = 1
    /// Runs the job once and returns how many changes it found, by which contenders check each other;
    /// `nil` if it does another job.
    var run: () throws -> Int?
    /// What is done before each run, and not measured.
    var prepare: () throws -> Void = {}
    /// What is measured.
    var stopwatch = Stopwatch.wall
  }

  /// What our time is held against.
  enum Goal {
    case atMost(Double, times: String)
    case atMostMore(Double, times: String, plusMilliseconds: Double)
    case atLeast(Double, timesFasterThan: String)
    case within(milliseconds: Double)
    case size(atMost: Double, bytesPer: String, measured: Double)
  }

  var name: String
  var ours: Contender
  var others: [Contender]
  var goals: [Goal]

  static func goal(atMost factor: Double, times contender: String) -> Goal {
    .atMost(factor, times: contender)
  }

  /// A bound of so many times another contender, and a time that does not depend on it.
  static func goal(
    atMost factor: Double, times contender: String, plusMilliseconds milliseconds: Double
  ) -> Goal {
    .atMostMore(factor, times: contender, plusMilliseconds: milliseconds)
  }

  static func goal(atLeast factor: Double, timesFasterThan contender: String) -> Goal {
    .atLeast(factor, timesFasterThan: contender)
  }

  /// A bound that no other contender sets.
  static func goal(withinMilliseconds milliseconds: Double) -> Goal {
    .within(milliseconds: milliseconds)
  }

  /// A bound on memory, which was measured when the case was prepared.
  static func goal(atMost bound: Double, bytesPer thing: String, measured: Double) -> Goal {
    .size(atMost: bound, bytesPer: thing, measured: measured)
  }
}

/// A group of cases that share data, which is made only if the group is chosen.
struct BenchmarkGroup: Sendable {
  var name: String
  var prepare: @Sendable () throws -> [Benchmark]
}
