import TandemServer
import TandemSpace
import TandemSync
import TestRandom

/// A ``SyncService`` before the space of a simulation. It takes requests and gives answers as an HTTP
/// server does, without sockets.
///
/// Sendable: its tasks run inside ``runTasks()`` only, one at a time on the thread of the simulation, in an order
/// drawn from the seed. Time passes only by ``elapse()``.
final class SimulatedService: @unchecked Sendable {
  /// The access tokens, by their secrets.
  enum Client: String, CaseIterable {
    case writer, reader
    /// May write another space only.
    case neighbor
    /// May read the space for another account.
    case stranger
    /// Has a token that was never given out.
    case unknown
    /// Has no token.
    case nobody
  }

  /// The bounds, small ones, so that they are reached.
  struct Limits {
    let maxRequestCount: Int
    let maxStreamCount: Int
    let maxEventCount: Int
    let maxEventByteCount: Int
    let maxBacklogByteCount: Int

    init(using random: inout SplitMix64) {
      maxRequestCount = Int.random(in: 1...5, using: &random)
      maxStreamCount = Int.random(in: 1...4, using: &random)
      maxEventCount = Int.random(in: 1...4, using: &random)
      maxEventByteCount = Int.random(in: 250...700, using: &random)
      maxBacklogByteCount = Int.random(in: 500...4_000, using: &random)
    }
  }

  static let spaceName = "notes"
  static let path = "/v1/spaces/notes"
  private static let account = "ann"
  private static let tokenList = tokens(of: Client.allCases)

  let limits: Limits
  private unowned let simulation: Simulation
  private let executor = StepExecutor()
  private let clock = HeldClock()
  private let queue = CommitQueue(givesTurns: false)
  private let commits = Waiters()
  private var service: SyncService?
  private var task: Task<Void, Never>?
  private var acceptedTokens = SimulatedService.tokenList
  /// The commits that are under way with a token that may write.
  private var permitted: Set<SyncToken> = []
  private var senders: [SyncToken: Int] = [:]
  /// The outcomes of all commits, as the space has answered them: a commit that comes again after a later
  /// one of its replica gets another outcome.
  private(set) var outcomes: [SyncToken: [SyncOutcome]] = [:]
  /// The requests that use the space now, and the most that the limits permit.
  private var useCount = 0
  private var maxUseCount = 0
  /// The first law that did not hold.
  private var violation: SimulationViolation?
  /// True if the program of the space was killed.
  private(set) var isKilled = false

  init(_ simulation: Simulation, using random: inout SplitMix64) {
    self.simulation = simulation
    limits = Limits(using: &random)
    simulation.space.onChange = { [commits] in commits.resumeAll() }
    start()
  }

  private func start() {
    var limits = SyncService.Limits()
    // Single changes that the space refuses must reach it.
    limits.messages = simulation.scenario.limits
    limits.messages.maxStreamBacklogByteCount = self.limits.maxBacklogByteCount
    limits.maxTokenRequestCount = self.limits.maxRequestCount
    limits.maxTokenStreamCount = self.limits.maxStreamCount
    limits.feed.maxEventCount = self.limits.maxEventCount
    limits.feed.maxEventByteCount = self.limits.maxEventByteCount
    limits.feed.maxByteCount = self.limits.maxBacklogByteCount / 2
    var rules: CommitRules?
    if simulation.scenario.usesRules {
      rules = { [unowned self] commit in try await decision(on: commit) }
    }
    let service = SyncService(
      spaces: self, tokens: self, limits: limits, clock: clock, rules: rules, executor: executor)
    self.service = service
    task = Task(executorPreference: executor) { await service.run() }
  }

  /// Ends the program of the space, and starts it again.
  func restart() {
    end()
    isKilled = false
    useCount = 0
    start()
  }

  /// Ends all tasks.
  func end() {
    task?.cancel()
    runTasks()
  }

  private func runTasks() { executor.run(seed: simulation.random.next()) }

  private static func tokens(of clients: [Client]) -> TokenList {
    var list = TokenList()
    for client in clients where client != .unknown && client != .nobody {
      let space = client == .neighbor ? "private" : spaceName
      let token = AccessToken(
        secret: client.rawValue, account: client == .stranger ? "bob" : account,
        access: client == .writer || client == .neighbor ? .write : .read, scope: .spaces([space]))
      do throws(ServerError) { try list.add(token) } catch { preconditionFailure("\(error)") }
    }
    return list
  }
}

// MARK: - Requests

extension SimulatedService {
  /// A request of a program, or of a stranger.
  struct Request {
    var client: Client
    var method: String
    var target: String
    var body: [UInt8] = []
    var type = "application/json"

    var served: ServedRequest {
      var fields = [(name: "Host", value: "127.0.0.1"), (name: "Content-Type", value: type)]
      if client != .nobody { fields.append(("Authorization", "Bearer \(client.rawValue)")) }
      let head = ServedRequestHead(method: method, target: target, fields: fields, isLocal: false)
      return ServedRequest(head: head, body: body)
    }
  }

  private final class Answers: @unchecked Sendable {
    var values: [HTTPAnswer?]
    init(count: Int) { values = Array(repeating: nil, count: count) }
  }

  /// Answers requests that are under way at the same time.
  ///
  /// - Throws: ``SimulationViolation``.
  func answers(to requests: [Request]) throws -> [HTTPAnswer] {
    guard let service else { preconditionFailure("the service was started") }
    let answers = Answers(count: requests.count)
    maxUseCount = limits.maxRequestCount * Set(requests.map(\.client)).count
    for (number, request) in requests.map(\.served).enumerated() {
      if case .refused(let answer) = service.admission(of: request.head) {
        answers.values[number] = answer
      } else {
        Task(executorPreference: executor) {
          answers.values[number] = await service.answer(request)
        }
      }
    }
    runTasks()
    permitted = []
    try checkLaws()
    return try answers.values.map { answer in
      guard let answer else { throw SimulationViolation("the service does not answer a request") }
      return answer
    }
  }

  func answer(to request: Request) throws -> HTTPAnswer { try answers(to: [request])[0] }

  /// Takes note of the sender of a commit, before it is sent.
  func expect(_ commit: SyncCommit, from driver: Int, as client: Client) {
    senders[commit.id] = driver
    if client == .writer { permitted.insert(commit.id) }
  }

  /// Lets the time of a heartbeat pass.
  func elapse() throws {
    runTasks()
    clock.elapse()
    runTasks()
    try checkLaws()
  }

  /// Revokes the writer's token for the time of `body`.
  func revokingWriter(_ body: () throws -> Void) rethrows {
    acceptedTokens = Self.tokens(of: [.reader, .neighbor, .stranger])
    defer { acceptedTokens = Self.tokenList }
    try body()
  }

  private func checkLaws() throws {
    if let violation { throw violation }
  }

  /// Runs `body`; a law that does not hold ends the simulation, and not only the request.
  private func noting<Value>(_ body: () throws -> Value) throws -> Value {
    do {
      return try body()
    } catch let error as SimulationViolation {
      violation = violation ?? error
      throw error
    } catch is ProgramKilled {
      isKilled = true
      throw ProgramKilled()
    }
  }
}

// MARK: - Rules

extension SimulatedService {
  private struct RuleFailure: Error {}

  /// The decision of the rules, which takes time, and sometimes fails.
  private func decision(on commit: ProposedCommit) async throws -> CommitDecision {
    for _ in 0..<Int.random(in: 0...3, using: &simulation.random) { await Task.yield() }
    if simulation.isFaulty, simulation.chance(5) { throw RuleFailure() }
    var decision = CommitDecision()
    for change in commit.changes {
      switch SimulatedRules.verdict(from: change.old, to: change.new) {
      case .accept: break
      case .refuse(let message): decision.refuse(change, message)
      case .amend(let fields): decision.amend(change, fields)
      }
    }
    return decision
  }
}

// MARK: - The space of the service

extension SimulatedService: TokenSource {
  func token(ofSecret secret: String) -> AccessToken? { acceptedTokens.token(ofSecret: secret) }
  func current(_ token: AccessToken) -> AccessToken? { acceptedTokens.token(hash: token.hash) }
}

extension SimulatedService: ServedSpaces {
  func names() -> [String] { [Self.spaceName] }

  var members: (any SpaceMemberships)? { nil }

  func create(_ name: String, owner: String) throws -> Bool {
    throw SyncRequestError.unknownSpace(name)
  }

  func rename(_ name: String, to newName: String) -> Bool { false }

  func delete(_ name: String) {}

  func successor(of name: String) -> String? { nil }

  func close() {}

  func marks() -> [String: String] { [:] }

  func with<Result: Sendable>(
    _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
  ) async throws -> Result {
    guard name == Self.spaceName else { throw SyncRequestError.unknownSpace(name) }
    useCount += 1
    defer { useCount -= 1 }
    // Requests of several programs meet here.
    await Task.yield()
    try noting {
      guard useCount <= maxUseCount else {
        throw SimulationViolation("the service has \(useCount) requests under way at a time")
      }
    }
    return try await body(self)
  }

  func follow(
    _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
  ) async throws { try await body(self) }
}

extension SimulatedService: SpaceStore {
  func state() throws -> SpaceState { try noting { try simulation.space.state } }

  func declare(_ tables: [SpaceTable], adds: Bool) throws -> [SpaceTable] {
    try noting {
      try simulation.space.write { try $0.declare(tables, adds: adds) }
    }
  }

  func proposal(of commit: SyncCommit, account: String?) throws -> [SpaceLedger.Edit] {
    try noting {
      try simulation.space.read(simulation.space.limits) {
        try $0.proposal(of: commit, account: account)
      }
    }
  }

  func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome {
    let entry = CommitQueue.Entry(commit: commit, account: account, ruling: ruling)
    return try await queue.commit(entry) { entries in
      // Others wait while these are written.
      await Task.yield()
      return try noting { try write(entries) }
    }
  }

  private func write(
    _ entries: [CommitQueue.Entry]
  ) throws -> [Result<SyncOutcome, any Error>] {
    let answers = try simulation.space.push(entries, using: &simulation.random)
    isKilled = simulation.space.database.takeKill() || isKilled
    return try zip(entries, answers).map { entry, answer in
      let commit = entry.commit
      if answer.isNew, !permitted.contains(commit.id) {
        throw SimulationViolation("the service wrote a commit that came without the right to write")
      }
      if case .failure(let error) = answer.result,
        (error as? SyncRequestError)?.code != .overQuota
      {
        return answer.result
      }
      guard let sender = senders[commit.id] else {
        throw SimulationViolation("the service wrote a commit that nobody sent")
      }
      do {
        let outcome = try simulation.note(answer, to: commit, of: sender)
        outcomes[commit.id, default: []].append(outcome)
        return .success(outcome)
      } catch let refusal as SyncRequestError {
        outcomes[commit.id, default: []].append(.refused([]))
        return .failure(refusal)
      }
    }
  }

  func refuse(_ commit: SyncCommitIdentity, account: String?) throws {
    try noting {
      try simulation.space.write { try $0.refuse(commit, account: account) }
      if account == Self.account, simulation.oracle.refuse(commit) {
        outcomes[commit.id, default: []].append(.refused([]))
      }
    }
  }

  func page(_ pull: SyncPull, account: String?) throws -> SyncPullAnswer {
    try noting {
      let answer = try simulation.space.pull(pull, account: account)
      if account == nil || account == Self.account { try simulation.oracle.check(pull, answer) }
      return answer
    }
  }

  func waitForCommit(after revision: SpaceRevision) async throws -> SpaceRevision {
    while simulation.space.head == revision { try await commits.wait() }
    return simulation.space.head
  }

  func forget(before version: Int) throws {
    try noting { try simulation.space.forget(before: version) }
  }

  func inspection(maxCount: Int) throws -> SpaceInspection {
    try simulation.space.read { try $0.inspection(maxCount: maxCount) }
  }
}

// MARK: - Tasks and time

/// Runs the jobs of tasks on the thread that calls ``run(seed:)``, in an order drawn from a seed.
///
/// Sendable: only the thread of the simulation uses it.
private final class StepExecutor: TaskExecutor, @unchecked Sendable {
  private var jobs: [UnownedJob] = []

  func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

  /// Runs until all tasks have ended or wait.
  func run(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    while !jobs.isEmpty {
      let next = Int.random(in: 0..<jobs.count, using: &random)
      jobs.remove(at: next).runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}

/// Tasks that wait until all of them are resumed.
///
/// Sendable: only the thread of the simulation uses it.
private final class Waiters: @unchecked Sendable {
  private var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
  private var lastNumber = 0

  func wait() async throws {
    lastNumber += 1
    let number = lastNumber
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation {
        (continuation: CheckedContinuation<Void, any Error>) in
        if Task.isCancelled {
          continuation.resume(throwing: CancellationError())
        } else {
          waiting[number] = continuation
        }
      }
    } onCancel: {
      waiting.removeValue(forKey: number)?.resume(throwing: CancellationError())
    }
  }

  func resumeAll() {
    let all = waiting.sorted { $0.key < $1.key }
    waiting = [:]
    for (_, continuation) in all { continuation.resume() }
  }
}

/// A clock whose pauses all end when the simulation says so.
private struct HeldClock: Clock {
  private let sleepers = Waiters()

  let now = ContinuousClock.now
  let minimumResolution = Duration.zero

  func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
    try await sleepers.wait()
  }

  func elapse() { sleepers.resumeAll() }
}
