/// One case: our code beside a floor or a peer that does the same job on the same data, in the same
/// run.
struct Benchmark {
  /// What is compared, one contender at a time.
  struct Contender {
    var name: String
    /// Runs the job once and returns how many changes it found, by which contenders check each other;
    /// `nil` if it does another job.
    var run: () throws -> Int?
    /// What is done before each run, and not measured.
    var prepare: () throws -> Void = {}
    /// What is measured.
    var stopwatch = Stopwatch.wall
  }

  /// What our time is held against.
  struct Goal {
    enum Direction { case atMost, atLeastFasterBy }

    var contender: String
    var direction: Direction
    var factor: Double
  }

  var name: String
  var ours: Contender
  var others: [Contender]
  var goals: [Goal]

  static func goal(atMost factor: Double, times contender: String) -> Goal {
    Goal(contender: contender, direction: .atMost, factor: factor)
  }

  static func goal(atLeast factor: Double, timesFasterThan contender: String) -> Goal {
    Goal(contender: contender, direction: .atLeastFasterBy, factor: factor)
  }
}

/// A group of cases that share data, which is made only if the group is chosen.
struct BenchmarkGroup: Sendable {
  var name: String
  var prepare: @Sendable () throws -> [Benchmark]
}
