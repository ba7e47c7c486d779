import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom

/// Visits all states that two replicas of one record with two fields can reach: each action, crash
/// and delivery of a message at each moment, in every order.
///
/// A message that was sent may arrive at any later moment, any number of times or never, so losses,
/// duplicates and delays need no steps of their own. Each state is also continued without accidents
/// until all is synchronized, and the laws of the end are checked.
///
/// The databases are real. A step on one of them is a function of its rows, so that each is performed
/// once; the states of the whole are combinations of few states of its parts.
final class Exhaustion {
  /// The state of everything, as numbers of interned parts.
  struct State: Hashable {
    var files: [Int32]
    var space: Int32
    var drivers: [Driver]
    /// The commits on their way that the space has not processed.
    var commits: [Int32] = []
    var ledger: Int32
  }

  /// A program that synchronizes a file.
  struct Driver: Hashable {
    var session: Int32
    var action: Int32?
    var request: Int32?
    /// The answers to the request that are on their way.
    var answers: [Int32] = []
  }

  enum Request: Hashable {
    case push(SyncCommit)
    case pull(SyncPull)
  }

  /// An edit, as a program makes it.
  enum Operation: String, CaseIterable {
    case insert, set, add, delete, resolve
  }

  /// The number of edits that are made after the start.
  let operationCount: Int
  private let file: SimulatedDatabase
  private let spaceDatabase: SimulatedDatabase
  private let merging = ReplicaMerging([
    "t": TableMerging(fields: ["n": .counter], record: .editBeatsDelete)
  ])

  private var files = Interned<DatabaseImage>()
  private var spaces = Interned<DatabaseImage>()
  private var sessions = Interned<SyncSession>()
  private var actions = Interned<SyncSession.Action>()
  private var events = Interned<SyncSession.Event>()
  private var requests = Interned<Request>()
  private var ledgers = Interned<CompactLedger>()
  private var fileViews: [Int32: FileView] = [:]
  private var spaceViews: [Int32: SpaceView] = [:]
  private var performed: [Pair: Pair] = [:]
  private var handled: [Pair: Reaction] = [:]
  private var answered: [Pair: Pair] = [:]
  private var edited: [Edit: Int32] = [:]
  /// The number of edits in a file when a commit was frozen.
  private var frozenCounts: [SyncToken: Int] = [:]
  private var settled: Set<Fingerprint> = []

  private struct Pair: Hashable {
    let first: Int32
    let second: Int32
  }

  private struct Edit: Hashable {
    let file: Int32
    let operation: Operation
    let number: Int
  }

  private struct Reaction {
    let session: Int32
    let action: Int32?
    let status: SyncStatus?
  }

  init(operationCount: Int) throws {
    self.operationCount = operationCount
    file = try SimulatedDatabase(hasForeignKeys: false)
    spaceDatabase = try SimulatedDatabase(hasForeignKeys: false)
    var random = SplitMix64(seed: 1)
    try file.write { connection in
      try connection.execute("CREATE TABLE t (id TEXT PRIMARY KEY, x TEXT, n INTEGER)")
      try connection.execute("CREATE TABLE edits (count INTEGER)")
      try connection.execute("INSERT INTO edits VALUES (0)")
      try file.replica(connection).attach([AttachedTable("t")], to: "space", using: &random)
    }
    let declarations = try file.read { try file.replica($0).declarations() }
    try spaceDatabase.write { connection in
      _ = try SpaceTables(connection).create(using: &random)
      _ = try SpaceTables(connection).declare(declarations)
    }
  }

  /// The two files without a record, and a space that is empty.
  private func emptyStart() throws -> State {
    var numbers: [Int32] = []
    for number in 0..<2 {
      try file.write { connection in
        try connection.run(
          "UPDATE tandem_state SET replica = ?",
          [.text(SyncToken(bits: UInt128(number + 1)).description)])
      }
      numbers.append(files.number(of: try DatabaseImage(file)))
    }
    let new = Driver(session: sessions.number(of: SyncSession()))
    return State(
      files: numbers, space: spaces.number(of: try DatabaseImage(spaceDatabase)),
      drivers: [new, new], ledger: ledgers.number(of: CompactLedger()))
  }

  /// Both files and the space with the same record.
  private func synchronizedStart() throws -> State {
    var state = try edit(try emptyStart(), 0, .insert) ?? emptyStart()
    while let next = try settling(state)?.state { state = next }
    for number in 0..<2 {
      state.drivers[number] = Driver(session: sessions.number(of: SyncSession()))
    }
    return state
  }
}

/// Values by numbers, each once.
struct Interned<Value: Hashable> {
  private var numbers: [Value: Int32] = [:]
  private(set) var values: [Value] = []

  mutating func number(of value: Value) -> Int32 {
    if let number = numbers[value] { return number }
    let number = Int32(values.count)
    numbers[value] = number
    values.append(value)
    return number
  }

  subscript(_ number: Int32) -> Value { values[Int(number)] }
}

/// 128 bits that stand for a state. Two states with equal bits would be taken for one.
struct Fingerprint: Hashable {
  private var first: UInt64 = 0x9E37_79B9_7F4A_7C15
  private var second: UInt64 = 0xC2B2_AE3D_27D4_EB4F

  init(_ state: Exhaustion.State) {
    for number in state.files { add(number) }
    add(state.space)
    for driver in state.drivers {
      add(driver.session)
      add(driver.action ?? -1)
      add(driver.request ?? -1)
      add(Int32(driver.answers.count))
      for answer in driver.answers { add(answer) }
    }
    for commit in state.commits { add(commit) }
    add(state.ledger)
  }

  private mutating func add(_ number: Int32) {
    let bits = UInt64(UInt32(bitPattern: number))
    first = Fingerprint.mixed(first ^ bits)
    second = Fingerprint.mixed(second &+ bits &* 0xD6E8_FEB8_6659_FD93)
  }

  /// The finalizer of SplitMix64.
  private static func mixed(_ bits: UInt64) -> UInt64 {
    var bits = bits &+ 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }
}

// MARK: - Search

extension Exhaustion {
  /// The result of a search.
  struct Result {
    var stateCount = 0
    /// The numbers of different states of a file and of the space.
    var fileStateCount = 0
    var spaceStateCount = 0
    /// True if all states were visited.
    var isComplete = true
    /// The law that does not hold, and the steps that lead to it, as few as possible.
    var failure: (law: String, steps: [String])?
  }

  /// The greatest number of steps from a state until all is synchronized.
  private static let maxSettlingCount = 500

  /// Visits all states, those that fewer steps reach first.
  ///
  /// - Parameter maxStateCount: The number of states after which the search ends.
  func run(maxStateCount: Int) throws -> Result {
    var result = Result()
    for start in [try emptyStart(), try synchronizedStart()] where result.failure == nil {
      try visit(from: start, maxStateCount, &result)
    }
    result.fileStateCount = files.values.count
    result.spaceStateCount = spaces.values.count
    return result
  }

  private func visit(from start: State, _ maxStateCount: Int, _ result: inout Result) throws {
    // The state that led to each state, and the position of the step among its steps.
    var origins: [(parent: Int32, step: Int16)] = [(-1, 0)]
    var seen: Set<Fingerprint> = [Fingerprint(start)]
    var layer: [(number: Int32, state: State)] = [(0, start)]
    let before = result.stateCount
    defer { result.stateCount = before + seen.count }
    while !layer.isEmpty {
      var next: [(number: Int32, state: State)] = []
      for (number, state) in layer {
        do {
          try settle(state)
          for (position, (_, state)) in try steps(from: state).enumerated()
          where seen.insert(Fingerprint(state)).inserted {
            origins.append((number, Int16(position)))
            next.append((Int32(origins.count - 1), state))
          }
        } catch let violation as SimulationViolation {
          result.failure = (violation.description, try path(to: number, origins, from: start))
          return
        }
        guard seen.count < maxStateCount else {
          result.isComplete = false
          return
        }
      }
      layer = next
    }
  }

  /// The steps from the start to a state, and those without accidents that follow.
  private func path(
    to number: Int32, _ origins: [(parent: Int32, step: Int16)], from start: State
  ) throws -> [String] {
    var positions: [Int] = []
    var number = number
    while number > 0 {
      positions.append(Int(origins[Int(number)].step))
      number = origins[Int(number)].parent
    }
    var state = start
    var texts: [String] = []
    for position in positions.reversed() {
      let step = try steps(from: state)[position]
      texts.append(step.text)
      state = step.state
    }
    texts.append("no accident any more:")
    for _ in 0..<Exhaustion.maxSettlingCount {
      guard let step = try? settling(state) else { break }
      texts.append(step.text)
      state = step.state
    }
    return texts
  }

  /// Continues a state without accidents, and checks the laws of the end.
  private func settle(_ state: State) throws {
    var path: [Fingerprint] = []
    var state = state
    while true {
      let fingerprint = Fingerprint(state)
      if settled.contains(fingerprint) { break }
      path.append(fingerprint)
      guard path.count < Exhaustion.maxSettlingCount else {
        throw SimulationViolation("the synchronization does not come to rest")
      }
      guard let next = try settling(state)?.state else {
        try checkEnd(state)
        break
      }
      state = next
    }
    settled.formUnion(path)
  }
}

// MARK: - Steps

extension Exhaustion {
  typealias Step = (text: String, state: State)

  /// All steps that are possible in a state.
  private func steps(from state: State) throws -> [Step] {
    var steps: [Step] = []
    for number in 0..<2 {
      for operation in Operation.allCases {
        if let next = try edit(state, number, operation) {
          steps.append(("file \(number): \(operation.rawValue)", next))
        }
      }
      let driver = state.drivers[number]
      if let action = driver.action {
        steps.append(("driver \(number): \(actions[action])", try act(state, number, action)))
      } else if let request = driver.request {
        steps.append(try delivery(state, number, request))
        for answer in driver.answers {
          steps.append(
            ("driver \(number) receives \(events[answer])", try handle(answer, state, number)))
        }
        steps.append(("driver \(number) waits no longer", try handle(.disconnected, state, number)))
      } else {
        for event in [SyncSession.Event.requested, .changedLocally, .timerFired(0)] {
          steps.append(("driver \(number): \(event)", try handle(event, state, number)))
        }
      }
      var crashed = state
      crashed.drivers[number] = Driver(session: sessions.number(of: SyncSession()))
      steps.append(("driver \(number) crashes", crashed))
    }
    for commit in state.commits { steps.append(try lateDelivery(state, commit)) }
    return steps
  }

  /// The next step without accidents; `nil` if all is synchronized.
  private func settling(_ state: State) throws -> Step? {
    if let commit = state.commits.first { return try lateDelivery(state, commit) }
    let head = try view(ofSpace: state.space).digests.count - 1
    for number in 0..<2 {
      let driver = state.drivers[number]
      if let action = driver.action {
        return ("driver \(number): \(actions[action])", try act(state, number, action))
      }
      if let request = driver.request {
        guard let answer = driver.answers.first else {
          return try delivery(state, number, request)
        }
        return ("driver \(number) receives \(events[answer])", try handle(answer, state, number))
      }
    }
    for number in 0..<2 {
      let view = try view(ofFile: state.files[number])
      if view.isUpToDate, view.version == head { continue }
      let session = sessions[state.drivers[number].session]
      let fired = try handle(.timerFired(0), state, number)
      if session.status == .offline || fired != state { return ("timer \(number)", fired) }
      return ("driver \(number): requested", try handle(.requested, state, number))
    }
    return nil
  }

  /// A program edits the record, if the edit is possible.
  private func edit(_ state: State, _ number: Int, _ operation: Operation) throws -> State? {
    let before = try view(ofFile: state.files[number])
    let firstCount = ledgers[state.ledger].startCount
    let counts = try state.files.map { try view(ofFile: $0).editCount }
    guard counts.reduce(0, +) < operationCount + firstCount else { return nil }
    switch operation {
    case .insert: if before.hasRow { return nil }
    case .set, .add, .delete: if !before.hasRow { return nil }
    case .resolve: if before.openConflict == nil { return nil }
    }
    let edit = number * CompactLedger.maxEditCount + before.editCount
    var next = state
    next.files[number] = try result(of: operation, edit, in: state.files[number], before)
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
          try file.replica(connection).resolve(conflict: conflict, by: .local)
        }
      }
      try connection.run("UPDATE edits SET count = count + 1", [])
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
      let (image, event) = try perform(step, action, in: state.files[number], of: number)
      next.files[number] = image
      let result = try handle(event, next, number)
      if case .apply = step { try checkBase(result, number) }
      return result
    case .push(let token):
      try files[state.files[number]].restore(file)
      guard let commit = try file.read({ try file.replica($0).pendingCommit() }), commit.id == token
      else { return try handle(.superseded, next, number) }
      let request = requests.number(of: .push(commit))
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

  private func perform(
    _ step: SyncStep, _ action: Int32, in image: Int32, of number: Int
  ) throws -> (image: Int32, event: Int32) {
    let key = Pair(first: image, second: action)
    if let known = performed[key] { return (known.first, known.second) }
    let view = try view(ofFile: image)
    try files[image].restore(file)
    let summary = try file.write { connection in
      let tables = file.replica(connection)
      // The same commit has the same identity, whatever happened elsewhere before.
      let sequence = try tables.state().sequence
      var random = SplitMix64(
        seed: UInt64(number) << 40 | UInt64(view.editCount) << 20 | UInt64(sequence))
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
    return ("the space answers driver \(number): \(events[event])", next)
  }

  /// A commit arrives once more, and nobody waits for the answer.
  private func lateDelivery(_ state: State, _ request: Int32) throws -> Step {
    var next = state
    let event = try answer(request, &next)
    return ("the space answers late: \(events[event])", next)
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
    let file = commit.replica == SyncToken(bits: 1) ? 0 : 1
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

// MARK: - Laws

/// What the laws ask about a file.
private struct FileView {
  let hasRow: Bool
  /// The edit that wrote the first field.
  let value: Int?
  let editCount: Int
  let isUpToDate: Bool
  let version: Int
  let digest: RecordDigest
  let openConflict: Int64?
  /// The edits in records of conflicts and rejections.
  let recorded: Set<Int>
  let hasRecords: Bool
}

/// What the laws ask about the space.
private struct SpaceView {
  let value: Int?
  let hasRow: Bool
  let count: FieldValue
  /// The digests of all versions.
  let digests: [RecordDigest]
}

extension Exhaustion {
  private func view(ofFile image: Int32) throws -> FileView {
    if let view = fileViews[image] { return view }
    try files[image].restore(file)
    let view = try file.read { connection in
      let tables = file.replica(connection)
      let row = try connection.allRows("SELECT x FROM t").first
      let summary = try tables.summary()
      let texts = try connection.allRows(
        """
        SELECT ifnull(base, '') || ifnull("local", '') || ifnull(remote, '') FROM tandem_conflicts
        UNION ALL SELECT ifnull(content, '') FROM tandem_rejected
        """
      ).compactMap(\.first?.textValue)
      return FileView(
        hasRow: row != nil,
        value: row?[0].textValue.flatMap { EditLedger.edits(in: $0).first },
        editCount: Int(try connection.integer("SELECT count FROM edits") ?? 0),
        isUpToDate: summary.isUpToDate, version: summary.sync.revision?.version ?? -1,
        digest: try tables.computedDigest(),
        openConflict: try tables.conflicts(isOpen: true).first?.id,
        recorded: Set(texts.flatMap(EditLedger.edits)), hasRecords: !texts.isEmpty)
    }
    fileViews[image] = view
    return view
  }

  private func view(ofSpace image: Int32) throws -> SpaceView {
    if let view = spaceViews[image] { return view }
    try spaces[image].restore(spaceDatabase)
    let view = try spaceDatabase.read { connection in
      let all = try SpaceTables(connection).page(SyncPull(replica: nil, since: nil))
      var fields: Record?
      if case .page(let page) = all { fields = page.changes.first?.fields }
      let digests = try connection.allRows("SELECT digest FROM history ORDER BY version")
      return SpaceView(
        value: fields?["x"].textValue.flatMap { EditLedger.edits(in: $0).first },
        hasRow: fields != nil, count: fields?["n"] ?? .null,
        digests: digests.compactMap { $0[0].textValue.flatMap { RecordDigest($0) } })
    }
    spaceViews[image] = view
    return view
  }

  /// The base of a file is exactly the state of the space at its revision.
  private func checkBase(_ state: State, _ number: Int) throws {
    let view = try view(ofFile: state.files[number])
    let digests = try self.view(ofSpace: state.space).digests
    guard digests.indices.contains(view.version), digests[view.version] == view.digest else {
      throw SimulationViolation(
        "the base of file \(number) is not the state of version \(view.version)")
    }
  }

  /// The laws of the end.
  private func checkEnd(_ state: State) throws {
    let space = try view(ofSpace: state.space)
    let files = try state.files.map { try view(ofFile: $0) }
    for (number, file) in files.enumerated() where file.digest != space.digests.last {
      throw SimulationViolation("file \(number) does not have the records of the space")
    }
    let recorded = files.reduce(into: Set<Int>()) { $0.formUnion($1.recorded) }
    let ledger = ledgers[state.ledger]
    try ledger.check(
      final: space.value, hasRow: space.hasRow, count: space.count, recorded: recorded,
      hasRecords: files.contains(where: \.hasRecords))
  }
}

/// What became of each edit, in few bytes: an ``EditLedger`` for one record. The number of an edit is
/// its position in its file, so that it does not depend on what happened elsewhere.
struct CompactLedger: Hashable {
  /// The number of edits of one file.
  static let maxEditCount = 8

  /// The edits that had seen an edit and replaced it, as bits.
  private var overwriters = SIMD16<UInt16>()
  private var values: UInt16 = 0
  private var deletions: UInt16 = 0
  private var accepted: UInt16 = 0
  private var additionCount = 0
  /// True if additions may be lost with a deleted record, or with the version that a person did not
  /// choose.
  private var hasInexactCount = false
  /// The number of edits before the search begins.
  private(set) var startCount = 0

  mutating func note(
    _ operation: Exhaustion.Operation, _ edit: Int, file: Int, before: Int?, after: Int?
  ) {
    switch operation {
    case .insert:
      if let deletion = lastDeletion(in: file, before: CompactLedger.maxEditCount) {
        overwriters[deletion] |= 1 << UInt16(edit)
      }
      hasInexactCount = hasInexactCount || values != 0
      values |= 1 << UInt16(edit)
    case .set: values |= 1 << UInt16(edit)
    case .add: additionCount += 1
    case .resolve: hasInexactCount = true
    case .delete:
      deletions |= 1 << UInt16(edit)
      hasInexactCount = true
      if let before { overwriters[before] |= 1 << UInt16(edit) }
    }
    if let before, let after, before != after { overwriters[before] |= 1 << UInt16(after) }
  }

  private func lastDeletion(in file: Int, before count: Int) -> Int? {
    (0..<count).map { file * CompactLedger.maxEditCount + $0 }.last {
      deletions & 1 << UInt16($0) != 0
    }
  }

  mutating func accept(_ edit: Int) { accepted |= 1 << UInt16(edit) }

  mutating func acceptDeletion(in file: Int, before count: Int) {
    if let deletion = lastDeletion(in: file, before: count) { accept(deletion) }
  }

  /// Throws ``SimulationViolation`` if an edit is lost or counted twice.
  func check(
    final: Int?, hasRow: Bool, count: FieldValue, recorded: Set<Int>, hasRecords: Bool
  ) throws {
    var kept: UInt16 = 0
    for edit in 0..<16 {
      let bit: UInt16 = 1 << UInt16(edit)
      let isAccepted = accepted & bit != 0
      if values & bit != 0 {
        if edit == final || recorded.contains(edit)
          || !isAccepted && overwriters[edit] & deletions != 0
        {
          kept |= bit
        }
      } else if deletions & bit != 0,
        isAccepted || !hasRow || hasRecords || !deletesAcceptedValue(bit)
      {
        kept |= bit
      }
    }
    var before: UInt16 = 0
    while before != kept {
      before = kept
      for edit in 0..<16 where overwriters[edit] & kept != 0 { kept |= 1 << UInt16(edit) }
    }
    guard (values | deletions) & ~kept == 0 else {
      throw SimulationViolation("edits are lost: \(names((values | deletions) & ~kept))")
    }
    if let final, !hasRecords, overwriters[final] & deletions & accepted != 0 {
      throw SimulationViolation("the deleted value \(EditLedger.text(final)) has come back")
    }
    guard hasInexactCount || !hasRow || count == .integer(Int64(additionCount)) else {
      throw SimulationViolation("\(additionCount) additions were made, but \(count) counted")
    }
  }

  /// True if the space had a value of the record that was deleted. Otherwise the deletion is of no
  /// concern to others.
  private func deletesAcceptedValue(_ deletion: UInt16) -> Bool {
    var replaced = deletion
    var before: UInt16 = 0
    while before != replaced {
      before = replaced
      for edit in 0..<16 where values & 1 << UInt16(edit) != 0 && overwriters[edit] & replaced != 0
      {
        replaced |= 1 << UInt16(edit)
      }
    }
    return replaced & accepted != 0
  }

  private func names(_ edits: UInt16) -> String {
    (0..<16).filter { edits & 1 << UInt16($0) != 0 }.map { EditLedger.text($0) }
      .joined(separator: " ")
  }
}
