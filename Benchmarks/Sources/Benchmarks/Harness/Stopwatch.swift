import Foundation

/// What a contender's figure is.
enum Stopwatch {
  /// The time that passes.
  case wall
  /// The processor time, user and system, of the programs it runs, from their start to their end.
  case processorTimeOfPrograms
  /// The same figure always, to hold others against.
  case fixed(milliseconds: Double)

  /// Runs `body` and returns its figure, in milliseconds.
  func milliseconds(_ body: () throws -> Void) rethrows -> Double {
    switch self {
    case .wall:
      let clock = ContinuousClock()
      return try clock.measure(body) / .milliseconds(1)
    case .processorTimeOfPrograms:
      let start = Self.programMilliseconds()
      try body()
      return Self.programMilliseconds() - start
    case .fixed(let milliseconds):
      return milliseconds
    }
  }

  /// The processor time of all programs that have ended.
  private static func programMilliseconds() -> Double {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(RUSAGE_CHILDREN.rawValue, &usage)
    #else
      getrusage(RUSAGE_CHILDREN, &usage)
    #endif
    let (user, system) = (usage.ru_utime, usage.ru_stime)
    let microseconds = Double(user.tv_usec) + Double(system.tv_usec)
    return Double(user.tv_sec + system.tv_sec) * 1e3 + microseconds / 1e3
  }
}
