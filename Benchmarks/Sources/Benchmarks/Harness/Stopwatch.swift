import Foundation

/// What a contender's figure is.
enum Stopwatch {
  /// The time that passes.
  case wall
  /// The processor time, user and system, of the programs it runs, from their start to their end.
  case processorTimeOfPrograms
  /// The processor time, user and system, of this process.
  case processorTime
  /// What the job says when it has ended, in milliseconds.
  case reported(by: () -> Double)

  /// Runs `body` and returns its figure, in milliseconds.
  func milliseconds(_ body: () throws -> Void) rethrows -> Double {
    switch self {
    case .wall:
      let clock = ContinuousClock()
      return try clock.measure(body) / .milliseconds(1)
    case .processorTimeOfPrograms: return try Self.processorTime(RUSAGE_CHILDREN, body)
    case .processorTime: return try Self.processorTime(RUSAGE_SELF, body)
    case .reported(let milliseconds):
      try body()
      return milliseconds()
    }
  }

  #if canImport(Glibc)
    private typealias Processes = __rusage_who
  #else
    private typealias Processes = Int32
  #endif

  private static func processorTime(
    _ processes: Processes, _ body: () throws -> Void
  ) rethrows -> Double {
    let start = processorTime(processes)
    try body()
    return processorTime(processes) - start
  }

  /// The processor time of this process, or of all programs that have ended.
  private static func processorTime(_ processes: Processes) -> Double {
    var usage = rusage()
    #if canImport(Glibc)
      getrusage(processes.rawValue, &usage)
    #else
      getrusage(processes, &usage)
    #endif
    let (user, system) = (usage.ru_utime, usage.ru_stime)
    let microseconds = Double(user.tv_usec) + Double(system.tv_usec)
    return Double(user.tv_sec + system.tv_sec) * 1e3 + microseconds / 1e3
  }
}
