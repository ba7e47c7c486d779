import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom

extension Exhaustion {
  struct Step {
    /// Says what happens. Most steps are never printed, and printing one takes longer than performing it.
    let text: () -> String
    var state: State
    /// True for a crash, a lost message and a repeated one, and for any step between those of a
    /// synchronization that is under way.
    var isInterruption = false

    init(
      _ text: @escaping @autoclosure () -> String, _ state: State, isInterruption: Bool = false
    ) {
      (self.text, self.state, self.isInterruption) = (text, state, isInterruption)
    }
  }

  /// All steps that are possible in a state.
  ///
  /// - Parameter hasInterruptions: False if no more interruptions happen.
  func steps(from state: State, hasInterruptions: Bool) throws -> [Step] {
    var steps: [Step] = []
    let isRunning = state.running != nil
    let editCount = try self.editCount(state)
    for number in 0..<2 {
      // The first edit is that of file 0: the files are alike, so that the other states are mirror images.
      let mayEdit = editCount < operationCount && (number == 0 || editCount > 0)
      if mayEdit, hasInterruptions || !isRunning {
        for operation in hasRules ? Operation.ofRows : Operation.ofRecord {
          if let next = try edit(state, number, operation) {
            steps.append(
              Step(
                "file \(number): \(operation.rawValue)", next, isInterruption: isRunning))
          }
        }
      }
      let isOther = isRunning && state.running != number
      if hasInterruptions || !isOther {
        for var step in try driverSteps(number, from: state, hasInterruptions) {
          step.isInterruption = step.isInterruption || isOther
          steps.append(step)
        }
      }
    }
    if hasInterruptions || !isRunning {
      for commit in state.commits {
        var step = try lateDelivery(state, commit)
        step.isInterruption = isRunning
        steps.append(step)
      }
    }
    return steps
  }

  /// The steps of one program, if these commute with all steps of others that may come before them;
  /// `nil` if there is no such program, or if interruptions are counted.
  ///
  /// Then it is enough to visit their results: whatever others do first can also be done afterwards,
  /// and leads to the same states ("ample sets"; Clarke, Grumberg and Peled, "Model Checking", chapter
  /// 10). A program shares its file with those who edit it, and the space with the other program. The
  /// start of a synchronization and the sending of a request touch neither.
  func independentSteps(from state: State) throws -> [Step]? {
    guard maxInterruptionCount == .max, !visitsAllOrders else { return nil }
    for number in 0..<2 {
      let driver = state.drivers[number]
      var isIndependent = driver.request == nil
      if let action = driver.action, case .perform = actions[action] {
        isIndependent = try editCount(state) == operationCount
      }
      if isIndependent { return try driverSteps(number, from: state, true) }
    }
    return nil
  }

  private func driverSteps(
    _ number: Int, from state: State, _ hasInterruptions: Bool
  ) throws -> [Step] {
    let driver = state.drivers[number]
    var steps: [Step] = []
    if let action = driver.action {
      steps.append(
        Step("driver \(number): \(self.actions[action])", try act(state, number, action)))
    } else if let request = driver.request {
      if driver.answers.isEmpty || hasInterruptions {
        var delivery = try delivery(state, number, request)
        delivery.isInterruption = !driver.answers.isEmpty
        steps.append(delivery)
      }
      for answer in driver.answers {
        steps.append(
          Step(
            "driver \(number) receives \(self.events[answer])",
            try handle(answer, state, number)))
      }
      if hasInterruptions {
        steps.append(
          Step(
            "driver \(number) waits no longer", try handle(.disconnected, state, number),
            isInterruption: true))
      }
    } else {
      for event in [SyncSession.Event.requested, .changedLocally, .timerFired(0)] {
        steps.append(
          Step("driver \(number): \(event)", try handle(event, state, number)))
      }
    }
    if hasInterruptions {
      var crashed = state
      crashed.drivers[number] = Driver(session: sessions.number(of: SyncSession()))
      steps.append(Step("driver \(number) crashes", crashed, isInterruption: true))
    }
    guard maxInterruptionCount < .max else { return steps }
    return steps.map { step in
      var step = step
      let other = 1 - number
      step.state.running =
        step.state.drivers[number].isActive
        ? number : step.state.drivers[other].isActive ? other : nil
      return step
    }
  }

  /// True if a synchronization that is under way is visited at its end only, because nothing can happen
  /// in it any more.
  func endsUndisturbed(after interruptionCount: Int) -> Bool {
    interruptionCount >= maxInterruptionCount && !visitsAllOrders
  }

  /// The state at the end of the synchronization that is under way, which nothing interrupts any more.
  ///
  /// Only its last state is visited: it is a function of its program, its file, the space and the
  /// commits on their way.
  func undisturbed(_ start: State) throws -> State {
    guard let number = start.running else { return start }
    var key = start
    key.files[1 - number] = -1
    key.drivers[1 - number] = Driver(session: -1)
    // Others begin only after this one has ended.
    guard !start.drivers[1 - number].isActive else { return try withoutMemory(start) }
    let end = try finished[key] ?? withoutMemory(start)
    finished[key] = end
    var state = end
    state.files[1 - number] = start.files[1 - number]
    state.drivers[1 - number] = start.drivers[1 - number]
    return state
  }

  private func withoutMemory(_ start: State) throws -> State {
    var state = start
    for _ in 0..<Exhaustion.maxSettlingCount {
      guard let step = try undisturbedStep(from: state) else { return state }
      state = step.state
    }
    throw SimulationViolation("the synchronization does not come to rest")
  }

  /// The next step of the synchronization that is under way; `nil` if there is none, or a choice.
  func undisturbedStep(from state: State) throws -> Step? {
    guard let number = state.running else { return nil }
    let steps = try driverSteps(number, from: state, false)
    return steps.count == 1 ? steps[0] : nil
  }

  /// The next step without accidents; `nil` if all is synchronized.
  func settling(_ state: State) throws -> Step? {
    if let commit = state.commits.first { return try lateDelivery(state, commit) }
    let head = try view(ofSpace: state.space).digests.count - 1
    for number in 0..<2 {
      let driver = state.drivers[number]
      if let action = driver.action {
        return Step("driver \(number): \(self.actions[action])", try act(state, number, action))
      }
      if let request = driver.request {
        guard let answer = driver.answers.first else {
          return try delivery(state, number, request)
        }
        return Step(
          "driver \(number) receives \(self.events[answer])", try handle(answer, state, number))
      }
    }
    for number in 0..<2 {
      let view = try view(ofFile: state.files[number])
      if view.isUpToDate, view.version == head { continue }
      let session = sessions[state.drivers[number].session]
      let fired = try handle(.timerFired(0), state, number)
      if session.status == .offline || fired != state {
        return Step("timer \(number)", fired)
      }
      return Step("driver \(number): requested", try handle(.requested, state, number))
    }
    return nil
  }

  /// The number of edits since the start.
  private func editCount(_ state: State) throws -> Int {
    try state.files.reduce(-startEditCount) { try $0 + view(ofFile: $1).editCount }
  }

  /// A program edits the record, if the edit is possible.
  func edit(_ state: State, _ number: Int, _ operation: Operation) throws -> State? {
    let before = try view(ofFile: state.files[number])
    switch operation {
    case .insert: if before.hasRow { return nil }
    case .set, .add, .delete: if !before.hasRow { return nil }
    case .resolve: if before.openConflict == nil { return nil }
    case .addFirst, .addSecond, .change, .exchange, .addChild, .moveChild, .deleteFirst,
      .deleteChild:
      break
    }
    let edit = number * CompactLedger.maxEditCount + before.editCount
    var next = state
    next.files[number] = try result(of: operation, edit, in: state.files[number], before)
    guard !hasRules else { return next.files[number] == state.files[number] ? nil : next }
    let after = try view(ofFile: next.files[number])
    var ledger = ledgers[state.ledger]
    ledger.note(operation, edit, file: number, before: before.value, after: after.value)
    next.ledger = ledgers.number(of: ledger)
    return next
  }

  private func result(
    of operation: Operation, _ edit: Int, in image: Int32, _ before: FileView
  ) throws -> Int32 {
    let key = Edit(file: image, operation: operation, number: edit)
    if let known = edited[key] { return known }
    try files[image].restore(file)
    let value = FieldValue.text(EditLedger.text(edit))
    try file.write { connection in
      switch operation {
      case .insert: try connection.run("INSERT INTO t VALUES ('k', ?, 0)", [value])
      case .set: try connection.run("UPDATE t SET x = ?", [value])
      case .add: try connection.run("UPDATE t SET n = n + 1", [])
      case .delete: try connection.run("DELETE FROM t", [])
      case .resolve:
        if let conflict = before.openConflict {
          try file.replica(connection).resolve(.one(conflict), by: .local)
        }
      case .addFirst: try connection.run("INSERT OR IGNORE INTO p VALUES ('a', 'u')", [])
      case .addSecond: try connection.run("INSERT OR IGNORE INTO p VALUES ('b', 'v')", [])
      case .change: try connection.run("UPDATE OR IGNORE p SET x = 'v' WHERE id = 'a'", [])
      case .exchange:
        try connection.run("UPDATE OR IGNORE p SET x = 'u' WHERE id = 'b'", [])
      case .addChild:
        try connection.run("INSERT OR IGNORE INTO c SELECT 'k', id FROM p WHERE id = 'a'", [])
      case .moveChild:
        try connection.run(
          "UPDATE c SET p = 'b' WHERE p = 'a' AND EXISTS (SELECT 1 FROM p WHERE id = 'b')", [])
      case .deleteFirst:
        try connection.run(
          "DELETE FROM p WHERE id = 'a' AND NOT EXISTS (SELECT 1 FROM c WHERE p = 'a')", [])
      case .deleteChild: try connection.run("DELETE FROM c", [])
      }
      guard !hasRules || connection.changeCount > 0 else { return }
      try connection.run(
        "UPDATE edits SET count = count + 1, names = names || ? || ' '", [.text(operation.rawValue)]
      )
    }
    let next = files.number(of: try DatabaseImage(file))
    edited[key] = next
    return next
  }

  /// A program performs its next action.
  private func act(_ state: State, _ number: Int, _ action: Int32) throws -> State {
    var next = state
    next.drivers[number].action = nil
    switch actions[action] {
    case .perform(let step):
      let (image, event) = try perform(step, action, in: state.files[number])
      next.files[number] = image
      let result = try handle(event, next, number)
      let isApplied = try view(ofFile: image).version != view(ofFile: state.files[number]).version
      switch step {
      case .apply: try checkBase(result, number)
      case .stage where isApplied: try checkBase(result, number)
      default: break
      }
      return result
    case .push(let token, let part):
      guard let request = try push(of: token, part, action, in: state.files[number]) else {
        return try handle(.superseded, next, number)
      }
      next.drivers[number].request = request
      if !next.commits.contains(request) {
        next.commits.append(request)
        next.commits.sort()
      }
      return next
    case .pull(let pull):
      next.drivers[number].request = requests.number(of: .pull(pull))
      return next
    case .timer, .report: return next
    }
  }

  /// The request that sends a part of the commit in the outbox of a file; `nil` if another commit is there.
  private func push(
    of token: SyncToken, _ part: Int, _ action: Int32, in image: Int32
  ) throws -> Int32? {
    let key = Pair(first: image, second: action)
    if let known = pushed[key] { return known }
    try files[image].restore(file)
    let commit = try file.read { try file.replica($0).outbox(part: part) }
    let request =
      commit?.id == token ? commit.map { requests.number(of: .push($0)) } : nil
    pushed.updateValue(request, forKey: key)
    return request
  }

  private func perform(
    _ step: SyncStep, _ action: Int32, in image: Int32
  ) throws -> (image: Int32, event: Int32) {
    let key = Pair(first: image, second: action)
    if let known = performed[key] { return (known.first, known.second) }
    let view = try view(ofFile: image)
    try files[image].restore(file)
    let summary = try file.write(foreignKeys: step.writesRows ? .ignored : .enforced) {
      connection in
      let tables = file.replica(connection)
      // The same commit has the same identity, whatever happened elsewhere before.
      let state = try tables.state()
      var random = SplitMix64(
        seed: UInt64(truncatingIfNeeded: state.replica.bits) << 40 | UInt64(view.editCount) << 20
          | UInt64(state.sequence))
      return try tables.perform(step, merging, using: &random)
    }
    if case .freeze = step, let outbox = summary.outbox {
      frozenCounts[outbox.commit] = view.editCount
    }
    let result = Pair(
      first: files.number(of: try DatabaseImage(file)),
      second: events.number(of: .performed(summary)))
    performed[key] = result
    return (result.first, result.second)
  }

  private func handle(
    _ event: SyncSession.Event, _ state: State, _ number: Int
  ) throws -> State {
    try handle(events.number(of: event), state, number)
  }

  /// Gives an event to a session, and takes the action that follows.
  private func handle(_ event: Int32, _ state: State, _ number: Int) throws -> State {
    var next = state
    switch events[event] {
    case .pushed, .pulled, .refused, .disconnected:
      next.drivers[number].request = nil
      next.drivers[number].answers = []
    default: break
    }
    let reaction = reaction(to: event, of: state.drivers[number].session)
    next.drivers[number].session = reaction.session
    next.drivers[number].action = reaction.action
    if case .upToDate(let revision)? = reaction.status {
      let view = try view(ofFile: next.files[number])
      guard view.isUpToDate, view.version == revision.version else {
        throw SimulationViolation("file \(number) is said to be up to date, but is not")
      }
      try checkBase(next, number)
    }
    return next
  }

  private func reaction(to event: Int32, of session: Int32) -> Reaction {
    let key = Pair(first: session, second: event)
    if let known = handled[key] { return known }
    var next = sessions[session]
    var action: Int32?
    var status: SyncStatus?
    for result in next.handle(events[event]) {
      switch result {
      case .report(let new): status = new
      case .timer: break
      case .perform, .push, .pull: action = actions.number(of: result)
      }
    }
    let reaction = Reaction(
      session: sessions.number(of: next.withoutPauses), action: action, status: status)
    handled[key] = reaction
    return reaction
  }

  /// A request arrives at the space, which answers it.
  private func delivery(_ state: State, _ number: Int, _ request: Int32) throws -> Step {
    var next = state
    let event = try answer(request, &next)
    if !next.drivers[number].answers.contains(event) {
      next.drivers[number].answers.append(event)
      next.drivers[number].answers.sort()
    }
    return Step("the space answers driver \(number): \(self.events[event])", next)
  }

  /// A commit arrives once more, and nobody waits for the answer.
  private func lateDelivery(_ state: State, _ request: Int32) throws -> Step {
    var next = state
    let event = try answer(request, &next)
    return Step("the space answers late: \(self.events[event])", next)
  }

  private func answer(_ request: Int32, _ state: inout State) throws -> Int32 {
    let key = Pair(first: state.space, second: request)
    let known = answered[key]
    let result = try known ?? newAnswer(to: requests[request], in: state.space)
    answered[key] = result
    let isNew =
      try view(ofSpace: state.space).digests.count
      != view(ofSpace: result.first).digests.count
    state.space = result.first
    if case .push(let commit) = requests[request] {
      // It has an outcome now, and cannot have another effect.
      state.commits.removeAll { $0 == request }
      if isNew { state.ledger = accepted(commit, state.ledger) }
    }
    return result.second
  }

  private func newAnswer(to request: Request, in image: Int32) throws -> Pair {
    try spaces[image].restore(spaceDatabase)
    let event: SyncSession.Event
    switch request {
    case .pull(let pull):
      event = .pulled(try spaceDatabase.read { try SpaceTables($0).page(pull) })
      return Pair(first: image, second: events.number(of: event))
    case .push(let commit):
      var random = SplitMix64(seed: UInt64(try view(ofSpace: image).digests.count))
      event = .pushed(
        try spaceDatabase.write { try SpaceTables($0).commit(commit, at: 0, using: &random) })
      return Pair(
        first: spaces.number(of: try DatabaseImage(spaceDatabase)),
        second: events.number(of: event))
    }
  }

  private func accepted(_ commit: SyncCommit, _ number: Int32) -> Int32 {
    var ledger = ledgers[number]
    let file = replicas[commit.replica] ?? 0
    for change in commit.changes {
      switch change.verb {
      case .insert(let fields), .update(let fields):
        if let edit = fields["x"].textValue.flatMap({ EditLedger.edits(in: $0).first }) {
          ledger.accept(edit)
        }
      case .delete:
        ledger.acceptDeletion(in: file, before: frozenCounts[commit.id] ?? 0)
      case .add: break
      }
    }
    return ledgers.number(of: ledger)
  }
}
