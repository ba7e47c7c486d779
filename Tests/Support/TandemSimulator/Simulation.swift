import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom

/// One run of a scenario: files and a space on real databases, sessions, and a network with faults.
///
/// Everything is synchronous and drawn from the seed: the same seed has the same trace in each
/// process.
final class Simulation {
  /// A program that synchronizes a file.
  struct Driver {
    let file: Int
    var session = SyncSession()
    /// The action that comes next.
    var action: SyncSession.Action?
    /// The request whose answer the session waits for.
    var request: Int?
    var timer: Int?

    init(file: Int) { self.file = file }
  }

  /// A message on its way.
  struct Message {
    enum Content {
      case push(SyncCommit)
      case pull(SyncPull)
      case answer(SyncSession.Event)
      /// A request that is damaged.
      case unreadable(TextFault)
    }

    let driver: Int
    let request: Int
    let content: Content
  }

  /// A file as it was at a step.
  struct FileBackup {
    let image: DatabaseImage
    let alterations: [String: SimulatedSchema.Alteration]
    let step: Int
  }

  /// The maximum number of messages on their way; the oldest are lost.
  static let maxMessageCount = 40
  /// The maximum number of files, copies included.
  static let maxFileCount = 6

  let scenario: Scenario
  let schema: SimulatedSchema
  let space: SimulatedSpace
  /// The server of the space, if programs reach it through one.
  private(set) var service: SimulatedService?
  /// The event streams of the programs.
  var followings: [Int: Following] = [:]
  var files: [SimulatedFile] = []
  var drivers: [Driver] = []
  var network: [Message] = []
  var ledger = EditLedger()
  var oracle: SpaceOracle
  var random: SplitMix64
  var step = 0
  var requestCount = 0
  /// True while one program acts between two actions of another.
  private var isOvertaking = false
  /// The accidents that can still happen.
  var isFaulty = true
  /// The revisions of the files, to see that they do not go back.
  var revisions: [SpaceRevision?] = []
  /// The revisions of the files before the last pull, and of the pages since.
  var pulledRevisions: [Int: [SpaceRevision]] = [:]
  /// The replicas that the files were attached as.
  var replicas: [SyncToken] = []
  /// The steps at which commits were frozen.
  var frozenSteps: [SyncToken: Int] = [:]
  var spaceBackup: (space: SimulatedSpace.Backup, oracle: SpaceOracle)?
  var fileBackups: [FileBackup?] = []
  /// Takes each line of the trace; `nil` if nobody reads it.
  let trace: ((String) -> Void)?
  let pool: DatabasePool

  init(_ scenario: Scenario, _ pool: DatabasePool, trace: ((String) -> Void)? = nil) throws {
    self.scenario = scenario
    self.pool = pool
    self.trace = trace
    schema = pool.schemas[scenario.variant]
    ledger.numberedTables = Set(schema.tables.filter(\.isNumbered).map(\.name))
    random = scenario.random(ofStep: -1)
    var random = random
    let first = try pool.replica(scenario.variant)
    let declarations = try first.read { try first.replica($0).declarations() }
    space = try SimulatedSpace(pool, declarations, scenario.spaceLimits, using: &random)
    oracle = SpaceOracle(
      head: space.head, declarations, scenario.spaceLimits, hasRules: scenario.usesRules)
    self.random = random
    for number in 0..<scenario.fileCount {
      try add(
        SimulatedFile(number, number == 0 ? first : pool.replica(scenario.variant), schema))
      try files[number].identify(using: &self.random)
      replicas.append(try files[number].read { try $0.state().replica })
    }
    for _ in 1..<scenario.firstFileDriverCount { drivers.append(Driver(file: 0)) }
    if scenario.usesService { service = SimulatedService(self, using: &self.random) }
  }

  private func add(_ file: SimulatedFile) throws {
    file.database.enforcesForeignKeys = scenario.enforcesForeignKeys
    files.append(file)
    drivers.append(Driver(file: file.number))
    revisions.append(nil)
    fileBackups.append(nil)
  }

  /// Adds a copy of a file.
  func copy(_ number: Int) throws {
    let image = try DatabaseImage(files[number].database)
    let copy = try SimulatedFile(files.count, pool.replica(scenario.variant), schema)
    try add(copy)
    if !files[number].alterations.isEmpty {
      try copy.take(copy.database, files[number].alterations)
    }
    try copy.become(image)
    copy.hasUncapturedEdits = files[number].hasUncapturedEdits
    ledger.copied()
  }

  /// Gives the database of a file back, unless its schema has changed.
  func release(_ file: SimulatedFile) throws {
    if file.hasOwnSchema {
      try file.database.end()
    } else {
      try pool.release(replica: file.database, scenario.variant)
    }
  }

  /// Gives the databases back, for the next simulation.
  func end() throws {
    service?.end()
    for file in files { try release(file) }
    try pool.release(space: space.database)
  }

  func note(_ text: @autoclosure () -> String) {
    if let trace { trace("\(step): \(text())") }
  }

  func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }

  /// Runs the steps, and then checks all laws.
  ///
  /// - Parameter steps: The steps to run; all if `nil`.
  /// - Throws: ``SimulationViolation``.
  func run(_ steps: [Int]? = nil) throws {
    for number in steps ?? Array(0..<scenario.stepCount) {
      step = number
      random = scenario.random(ofStep: number)
      try runStep()
    }
    step = scenario.stepCount
    random = scenario.random(ofStep: step)
    try endAccidents()
    try settle()
    try checkEnd()
  }

  private func runStep() throws {
    if pool.usesFiles, chance(12) { try killSomebody() }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<25: try edit(Int.random(in: 0..<files.count, using: &random))
    case 25..<65: try drive(Int.random(in: 0..<drivers.count, using: &random))
    case 65..<92: try deliver()
    case 92..<94: try backUp()
    default: try happen()
    }
  }
}

// MARK: - Sessions

extension Simulation {
  /// Lets a program do the next thing.
  private func drive(_ number: Int) throws {
    if chance(scenario.calmPercent) { return try rest(number) }
    // Most actions follow at once; between any two, something else may happen.
    for _ in 0..<Int.random(in: 1...5, using: &random) {
      let driver = drivers[number]
      if driver.action != nil {
        try act(number)
      } else if driver.request != nil {
        if chance(10) { try handle(.disconnected, number) }
        return
      } else if let timer = driver.timer, chance(70) {
        drivers[number].timer = nil
        try handle(.timerFired(timer), number)
      } else {
        try handle(
          pick([.requested, .announced(try announcement(to: number)), .changedLocally]), number)
        if drivers[number].action == nil { return }
      }
    }
  }

  /// What a program hears of the space: events get lost, come twice and late.
  private func announcement(to number: Int) throws -> SyncEvent {
    if let service, chance(80), let event = try nextEvent(for: number, service) { return event }
    return space.events.isEmpty || chance(20) ? .head(space.head) : pick(space.events)
  }

  /// Lets another program of the same file synchronize first, sometimes.
  private func letOthersOvertake(_ number: Int) throws {
    guard isFaulty, !isOvertaking,
      let other = drivers.indices.first(where: {
        $0 != number && drivers[$0].file == drivers[number].file
      }), chance(10)
    else { return }
    isOvertaking = true
    defer { isOvertaking = false }
    try rest(other)
  }

  /// Performs the action of a program, which ends while the schema is changed.
  func act(_ number: Int) throws {
    do {
      try letOthersOvertake(number)
      try actUnlessPaused(number)
    } catch let error as ReplicaError where error.code == .paused {
      note("driver \(number): the schema is being changed")
      restart(number)
    }
  }

  private func actUnlessPaused(_ number: Int) throws {
    guard let action = drivers[number].action else { return }
    drivers[number].action = nil
    let file = files[drivers[number].file]
    switch action {
    case .push, .pull: try declareTables(of: file)
    case .perform, .timer, .report: break
    }
    switch action {
    case .perform(let syncStep): try perform(syncStep, number)
    case .push(let token, let part):
      guard let commit = try file.read({ try $0.outbox(part: part) }), commit.id == token else {
        return try handle(.superseded, number)
      }
      send(.push(commit), number)
    case .pull(let request):
      send(.pull(request.limited(to: scenario.maxPageChangeCount)), number)
    case .timer, .report: break
    }
  }

  /// Declares the tables of a file to the space, as each synchronization does first, and takes note of the rules of all
  /// files. No kill meets it.
  private func declareTables(of file: SimulatedFile) throws {
    guard scenario.accidents.contains(where: \.changesSchema) else { return }
    let tables = try file.read { try $0.declarations() }
    let answer = try space.declare(tables)
    oracle.declare(tables)
    guard try file.read({ try $0.spaceTables() }) != answer else { return }
    let kill = file.database.nextKill
    file.database.nextKill = nil
    defer { file.database.nextKill = kill }
    try file.write { try $0.noteSpaceTables(answer) }
  }

  private func perform(_ syncStep: SyncStep, _ number: Int) throws {
    let file = files[drivers[number].file]
    let decision: EpochPolicy.Decision? =
      isFaulty && chance(20) ? nil : pick([.union, .union, .adoptRemote, .adoptLocal])
    let summary: SyncSummary
    let report: ReplicaApplyReport?
    do {
      (summary, report) = try file.perform(syncStep) { [self] tables, connection in
        tables.minQuietChangeCount = scenario.appliesWithoutTriggers ? 0 : .max
        var notes = try syncStep.writesRows ? file.notes(connection) : [:]
        // A record that was made anew between two pages of a pull is a new row.
        if !notes.isEmpty {
          try tables.forEachStagedPage { page in
            for change in page.changes where change.fields == nil { notes[change.key] = nil }
          }
        }
        var staged: [[FieldValue]] = []
        if case .stage = syncStep { staged = try file.staged(connection) }
        let isClean = try isClean(syncStep, tables)
        let summary = try tables.perform(
          syncStep, file.schema.merging, decision: decision, limits: scenario.limits,
          using: &random)
        if !notes.isEmpty { try checkNotes(notes, file.notes(connection), connection) }
        if isClean, let report = tables.applyReport {
          try check(report, summary, file, tables, connection)
        }
        if case .stage(_, let pull) = syncStep {
          try check(pull, staged, try file.staged(connection), file)
        }
        return (summary, tables.applyReport)
      }
    } catch let error as ReplicaError where error.code == .undecided {
      note("driver \(number) file \(file.number) undecided")
      return try handle(.undecided, number)
    } catch is ProgramKilled {
      return killed(file)
    }
    note("driver \(number) file \(file.number) \(describe(syncStep)) -> \(describe(summary))")
    if let outbox = summary.outbox, frozenSteps[outbox.commit] == nil {
      frozenSteps[outbox.commit] = step
    }
    try checkStep(syncStep, summary, report, file)
    if file.database.takeKill() { return killed(file) }
    try handle(.performed(summary), number)
  }

  /// Gives an event to a session, and takes the actions that follow.
  func handle(_ event: SyncSession.Event, _ number: Int) throws {
    switch event {
    case .pushed, .pulled, .refused, .disconnected: drivers[number].request = nil
    default: break
    }
    for action in drivers[number].session.handle(event) {
      switch action {
      case .report(let status): try check(status, number)
      case .timer(let timer, _, _): drivers[number].timer = timer
      case .perform, .push, .pull: drivers[number].action = action
      }
    }
  }
}

// MARK: - Messages

extension Simulation {
  private func send(_ content: Message.Content, _ number: Int) {
    requestCount += 1
    drivers[number].request = requestCount
    network.append(Message(driver: number, request: requestCount, content: content))
    if network.count > Simulation.maxMessageCount { network.removeFirst() }
  }

  /// Delivers, loses or duplicates a message: mostly one of the newest, so that old ones arrive
  /// after their senders have connected anew.
  private func deliver() throws {
    guard !network.isEmpty else { return }
    let range = chance(70) ? max(0, network.count - 3)..<network.count : 0..<network.count
    let position = Int.random(in: range, using: &random)
    if chance(scenario.lossPercent) {
      note("message \(network[position].request) is lost")
      network.remove(at: position)
      return
    }
    let message = network[position]
    if !chance(scenario.duplicatePercent) { network.remove(at: position) }
    try receive(message)
  }

  /// The receiver of a message takes it.
  func receive(_ message: Message) throws {
    guard let content = try arrived(message) else { return }
    let message = Message(driver: message.driver, request: message.request, content: content)
    if let service, message.isRequest { return try exchange(message, service) }
    switch content {
    case .answer(let event):
      guard drivers[message.driver].request == message.request else { return }
      note("driver \(message.driver) receives \(describe(event))")
      try handle(event, message.driver)
    case .push(let commit): try reply(to: message) { try push(commit, message.driver) }
    case .pull(let pull):
      try reply(to: message) {
        let answer = try space.pull(pull)
        try oracle.check(pull, answer)
        return .pulled(answer)
      }
    case .unreadable(let fault): try reply(to: message) { throw SyncRequestError(fault) }
    }
  }

  private func reply(to message: Message, _ body: () throws -> SyncSession.Event) throws {
    let event: SyncSession.Event
    if isFaulty, scenario.accidents.contains(.refusal), chance(15) {
      event = .refused(SyncRequestError(chance(50) ? .unavailable : .unauthorized, "not now"))
      // The network may have sent the request twice.
      if message.isRequest, chance(20) { network.append(message) }
    } else {
      do {
        event = try body()
      } catch let refusal as SyncRequestError {
        event = .refused(refusal)
      } catch is ProgramKilled {
        return note("the space is killed before it has stored \(message.request)")
      }
      if space.database.takeKill() {
        return note("the space is killed before it answers \(message.request)")
      }
    }
    note("space answers \(message.request) of driver \(message.driver): \(describe(event))")
    network.append(
      Message(driver: message.driver, request: message.request, content: .answer(event)))
  }

  private func push(_ commit: SyncCommit, _ driver: Int) throws -> SyncSession.Event {
    let answer = try space.push([CommitQueue.Entry(commit: commit, account: nil)], using: &random)[
      0]
    let outcome = try note(answer, to: commit, of: driver)
    if isFaulty, mayLoseCommits, chance(15) { try backUpSpace() }
    return .pushed(outcome)
  }

  /// Takes note of the answer of the space to a commit; returns the outcome.
  func note(
    _ answer: SimulatedSpace.Answer, to commit: SyncCommit, of driver: Int
  ) throws -> SyncOutcome {
    let outcome: SyncOutcome
    do {
      outcome = try answer.result.get()
    } catch let refusal as SyncRequestError where refusal.code == .overQuota {
      try oracle.check(commit, nil)
      throw refusal
    }
    let commit = try oracle.check(commit, outcome, made: answer.made)
    // The additions of a refused change are kept as a rejection, and do not count.
    if case .refused(let objections) = outcome, !objections.isEmpty { ledger.mayLoseAdditions() }
    guard answer.isNew else { return outcome }
    for change in commit.changes {
      switch change.verb {
      case .insert(let fields), .update(let fields):
        for case .text(let text) in fields.values {
          for edit in EditLedger.edits(in: text) { ledger.accepted(edit) }
        }
        // The space has replaced these values, which nobody has to keep.
        if scenario.usesRules {
          for edit in SimulatedRules.amendedEdits(in: fields) {
            ledger.record(EditLedger.text(edit), of: change.key, at: step)
          }
        }
      case .add: break
      case .delete:
        ledger.acceptedDeletion(
          of: change.key, from: drivers[driver].file, frozenAt: frozenSteps[commit.id] ?? step)
      }
    }
    return outcome
  }
}
