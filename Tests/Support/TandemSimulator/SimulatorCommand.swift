import CSQLite
import SystemLibrary

/// `tandem-simulator`: runs scenarios, and says how to repeat one that fails.
@main
struct SimulatorCommand {
  private static let help = """
    Usage: tandem-simulator [--seeds N] [--from S] [--files | --postgresql]
           tandem-simulator --seed S [--steps LIST] [--trace | --minimize] [--files | --postgresql]
           tandem-simulator --exhaustive [--rules] [--edits N] [--interruptions N] [--states N]

    Simulates replicas and a space while messages get lost, come twice and late, programs crash, and
    files are restored and copied. Checks that nothing is lost, that nothing is applied twice, and that
    all files end equal. All of it follows from the seed.

      --seeds N     Run N scenarios; 2000 by default.
      --from S      Begin with the seed S; 1 by default.
      --files       Keep the databases in files, and kill their programs: between two transactions, inside
                    one, while one is committed, and during a checkpoint.
      --postgresql  Keep the rows of the space in a PostgreSQL server, which ends with this program.
      --exhaustive  Visit all states of two replicas with one record, and print their number.
      --rules       Of two rows with a unique column and a row that refers to one of them, in place of one record.
      --edits N     With up to N edits, at most 7; 2 by default. Three edits with every interruption lead to 22 million
                    states, in six minutes; three of rows with one interruption to 2 million, in two. Each further
                    edit makes 20 times as many: four with every interruption are out of reach.
      --interruptions N
                    With up to N interruptions, each a crash of a program, a lost or repeated message, or
                    an edit or a step of the other program while a synchronization is under way; any
                    number by default.
      --states N    End after N states from each start.
      --seed S      Run one scenario.
      --steps LIST  Run only these of its steps, such as 0-12,17.
      --trace       Print each step.
      --minimize    Find fewer steps that fail as well, and print the command that runs them.
      --help        Print this text.

    Exit status: 0 if all laws hold, 1 if one does not, 2 for a mistake in the arguments.

    Example: tandem-simulator --seeds 10000 --from 1
    """

  /// The number of seeds that fail after which no more are tried.
  private static let maxFailureCount = 5
  /// The number of seeds whose order is changed.
  private static let groupCount: UInt64 = 1_000

  private var seedCount: UInt64 = 2_000
  private var first: UInt64 = 1
  private var seed: UInt64?
  private var steps: [Int]?
  private var traces = false
  private var minimizes = false
  private var usesFiles = false
  private var usesPostgreSQL = false
  private var isExhaustive = false
  private var hasRules = false
  private var operationCount = 2
  private var maxInterruptionCount = Int.max
  private var maxStateCount = Int.max

  static func main() {
    var command = SimulatorCommand()
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch argument {
      case "--help", "-h":
        print(help)
        exit(0)
      case "--trace": command.traces = true
      case "--minimize": command.minimizes = true
      case "--files": command.usesFiles = true
      case "--postgresql": command.usesPostgreSQL = true
      case "--exhaustive": command.isExhaustive = true
      case "--rules": command.hasRules = true
      case "--seeds", "--from", "--seed", "--steps", "--edits", "--interruptions", "--states":
        guard let value = arguments.popFirst(), command.set(argument, value) else {
          fail("\(argument) needs \(expectation(of: argument))")
        }
      default: fail("unknown argument \(argument)")
      }
    }
    _ = csqlite_use_one_thread()
    if command.seed == nil, command.traces || command.minimizes || command.steps != nil {
      fail("--trace, --minimize and --steps need --seed")
    }
    if command.usesPostgreSQL, command.usesFiles || command.isExhaustive {
      fail("--postgresql excludes --files and --exhaustive")
    }
    exit(command.run() ? 0 : 1)
  }

  private static func fail(_ message: String) -> Never {
    let line = Array("tandem-simulator: \(message); see tandem-simulator --help\n".utf8)
    _ = line.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    exit(2)
  }

  private static func expectation(of option: String) -> String {
    switch option {
    case "--steps": "steps, such as 0-12,17"
    case "--edits": "a number from 0 to \(CompactLedger.maxEditCount - 1)"
    default: "a number"
    }
  }

  /// Sets an option; `false` if the value is wrong.
  private mutating func set(_ option: String, _ value: String) -> Bool {
    if option == "--steps" {
      steps = StepList.steps(value)
      return steps != nil
    }
    guard let number = UInt64(value) else { return false }
    switch option {
    case "--seeds": seedCount = number
    case "--from": first = number
    case "--edits":
      guard number <= CompactLedger.maxEditCount - 1 else { return false }
      operationCount = Int(number)
    case "--interruptions": maxInterruptionCount = Int(clamping: number)
    case "--states": maxStateCount = Int(clamping: number)
    default: seed = number
    }
    return true
  }

  private func run() -> Bool {
    if isExhaustive { return exhaust() }
    let pool: DatabasePool
    do {
      pool = try DatabasePool(usesFiles: usesFiles, usesPostgreSQL: usesPostgreSQL)
    } catch {
      print(error)
      return false
    }
    if let seed {
      if minimizes { return minimize(seed, pool) }
      return report(
        seed, steps, Runner.failure(seed, steps, pool, trace: traces ? { print($0) } : nil))
    }
    let start = ContinuousClock.now
    var count = 0
    var failureCount = 0
    var rest = seedCount
    while rest > 0, failureCount < SimulatorCommand.maxFailureCount {
      let group = min(rest, SimulatorCommand.groupCount)
      let start = first &+ (seedCount - rest)
      rest -= group
      // Scenarios with the same schema follow each other: the databases that they share then stay in
      // the processor's caches.
      let seeds = (0..<group).map { start &+ $0 }
        .map { (seed: $0, variant: Scenario(seed: $0).variant) }
        .sorted { ($0.variant, $0.seed) < ($1.variant, $1.seed) }
      for (seed, _) in seeds where failureCount < SimulatorCommand.maxFailureCount {
        count += 1
        if !report(seed, nil, Runner.failure(seed, nil, pool)) { failureCount += 1 }
      }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("\(count) scenarios in \(Int(seconds)) s, \(Int(Double(count) / max(seconds, 0.001)))/s")
    return failureCount == 0
  }

  /// Visits all states of two replicas with one record.
  private func exhaust() -> Bool {
    do {
      let result = try Exhaustion(
        operationCount: operationCount, maxInterruptionCount: maxInterruptionCount,
        hasRules: hasRules
      ).run(maxStateCount: maxStateCount)
      if let failure = result.failure {
        print(failure.steps.joined(separator: "\n"))
        print("fails: \(failure.law)")
      }
      print(
        "\(result.stateCount) states with up to \(operationCount) edits and "
          + (maxInterruptionCount == .max ? "any number of" : "up to \(maxInterruptionCount)")
          + " interruptions, made of "
          + "\(result.fileStateCount) states of files and \(result.spaceStateCount) of the space"
          + (result.isComplete ? "" : "; not all were visited"))
      return result.failure == nil
    } catch {
      print("\(error)")
      return false
    }
  }

  private func report(_ seed: UInt64, _ steps: [Int]?, _ failure: String?) -> Bool {
    guard let failure else { return true }
    let list =
      (steps.map { " --steps \(StepList.text($0))" } ?? "") + (usesFiles ? " --files" : "")
      + (usesPostgreSQL ? " --postgresql" : "")
    print("seed \(seed) fails: \(failure)")
    print("repeat with: make simulate ARGS=\"--seed \(seed)\(list) --trace\"")
    return false
  }

  private func minimize(_ seed: UInt64, _ pool: DatabasePool) -> Bool {
    guard let (steps, failure) = Runner.minimized(seed, steps, pool) else { return true }
    return report(seed, steps, failure)
  }
}

/// Runs scenarios.
enum Runner {
  /// Runs a scenario; returns the law that does not hold.
  static func failure(
    _ seed: UInt64, _ steps: [Int]?, _ pool: DatabasePool, trace: ((String) -> Void)? = nil
  ) -> String? {
    do {
      let simulation = try Simulation(Scenario(seed: seed), pool, trace: trace)
      defer { try? simulation.end() }
      try simulation.run(steps)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// Leaves out steps as long as the scenario fails, larger parts first (Zeller and Hildebrandt,
  /// "Simplifying and Isolating Failure-Inducing Input", 2002).
  static func minimized(
    _ seed: UInt64, _ first: [Int]?, _ pool: DatabasePool
  ) -> (steps: [Int], failure: String)? {
    var steps = first ?? Array(0..<Scenario(seed: seed).stepCount)
    guard var failure = failure(seed, steps, pool) else { return nil }
    var size = max(1, steps.count / 2)
    while true {
      var start = 0
      var isSmaller = false
      while start < steps.count {
        let fewer = Array(steps[..<start] + steps[min(steps.count, start + size)...])
        if let other = Runner.failure(seed, fewer, pool) {
          (steps, failure, isSmaller) = (fewer, other, true)
        } else {
          start += size
        }
      }
      if size == 1, !isSmaller { return (steps, failure) }
      if !isSmaller || size > 1 { size = max(1, size / 2) }
    }
  }
}

/// Numbers of steps as text, such as `0-12,17`.
enum StepList {
  static func steps(_ text: String) -> [Int]? {
    var steps: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1],
        first <= last, last < 100_000
      else { return nil }
      steps += first...last
    }
    return steps
  }

  static func text(_ steps: [Int]) -> String {
    var parts: [String] = []
    var position = 0
    while position < steps.count {
      var end = position
      while end + 1 < steps.count, steps[end + 1] == steps[end] + 1 { end += 1 }
      parts.append(end == position ? "\(steps[position])" : "\(steps[position])-\(steps[end])")
      position = end + 1
    }
    return parts.joined(separator: ",")
  }
}
