import TandemDifferences
import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSpace
import TandemSync
import TestRandom
import Testing

/// A space in memory that commits can be sent to.
final class TestSpace {
  private(set) var database: Database
  var random: SplitMix64
  private var time = 0
  /// True for a space that checks nothing which spans rows, as if records of it broke all rules.
  var ignoresRules = false
  var limits = SyncLimits()

  init(seed: UInt64 = 1) throws {
    random = SplitMix64(seed: seed)
    database = try Database(path: ":memory:")
    try database.write { try SpaceTables($0.connection).create(using: &random) }
  }

  @discardableResult
  func declare(_ tables: [SpaceTable]) throws -> [SpaceTable] {
    let tables = tables.map { table in
      var table = table
      if ignoresRules { table.constraints = nil }
      return table
    }
    return try database.write { try SpaceTables($0.connection).declare(tables) }
  }

  func push(_ bytes: [UInt8]) throws -> SyncOutcome {
    let commit = try SyncMessageReader().commit(bytes)
    // A file that takes a commit of parts back may send another one at once.
    time += SpaceTables.minPartAge
    return try database.write {
      let space = SpaceTables($0.connection, limits: limits)
      return try space.answer(
        CommitQueue.Entry(commit: commit, account: nil), at: time, using: &random)
    }.get()
  }

  /// Refuses a commit as a whole, because its sender may not write.
  func refuse(_ bytes: [UInt8]) throws {
    let commit = try SyncMessageReader().commitIdentity(bytes)
    try database.write { try SpaceTables($0.connection).refuse(commit, account: nil) }
  }

  func pull(_ pull: SyncPull) throws -> SyncPullAnswer {
    try database.read { try SpaceTables($0.connection).page(pull) }
  }

  var state: SpaceState {
    get throws { try database.read { try SpaceTables($0.connection).state() } }
  }

  func forgetHistory() throws {
    try database.write { try SpaceTables($0.connection).forget(before: .max) }
  }

  /// Forgets how the columns of a table are defined.
  func redefine(_ table: String) throws -> String? {
    try database.write { try SpaceTables($0.connection).forgetDefinitions(of: table) }
  }

  func startNewHistory() throws {
    try database.write { try SpaceTables($0.connection).startNewHistory(using: &random) }
  }

  /// The live records.
  func records() throws -> [SyncKey: Record] {
    let answer = try pull(SyncPull(replica: nil, since: nil))
    guard case .page(let page) = answer else { return [:] }
    return Dictionary(
      page.changes.compactMap { change in change.fields.map { (change.key, $0) } },
      uniquingKeysWith: { _, last in last })
  }

  /// A copy of the space as it is now, as a backup.
  func backup() throws -> TestSpace {
    let copy = try TestSpace(seed: random.next())
    try copy.load(from: self)
    return copy
  }

  private func load(from other: TestSpace) throws {
    var tables = ["space", "record", "history", "replica", "overruled", "change_count"]
    if try other.state.tables.contains(where: \.isNumbered) {
      let declared = try other.state.tables
      try database.write { _ = try SpaceTables($0.connection).declare(declared) }
      tables += ["rule", "claim", "number"]
    }
    let rows = try other.database.read { transaction in
      try tables.map { try transaction.connection.rows("SELECT * FROM \($0)") }
    }
    try database.write { transaction in
      for (table, rows) in zip(tables, rows) {
        try transaction.connection.execute("DELETE FROM \(table)")
        for row in rows {
          let marks = row.map { _ in "?" }.joined(separator: ", ")
          try transaction.connection.prepare("INSERT INTO \(table) VALUES (\(marks))").run(row)
        }
      }
    }
  }

  /// Goes back to a backup.
  func restore(_ backup: TestSpace) throws { try load(from: backup) }
}

extension TestSpace {
  /// Two files with the same rows.
  func pair(
    _ schema: [String], _ names: String..., rows: [String] = [], others: [String] = []
  ) throws -> [TestReplica] {
    let replicas = try (1...2).map { seed in
      try TestReplica(
        seed: seed, schema, tables: names.map { AttachedTable($0, allowsBlindSpots: true) },
        space: self)
    }
    for row in rows { try replicas[0].execute(row) }
    try converge(replicas, self)
    for replica in replicas { for statement in others { try replica.execute(statement) } }
    return replicas
  }

  /// Two files with one note, whose likes are a counter.
  func countedPair() throws -> (TestReplica, TestReplica) {
    let files = try (1...2).map { seed in
      try TestReplica(
        seed: seed, ["CREATE TABLE note (id TEXT PRIMARY KEY, title TEXT, likes INTEGER)"],
        tables: [AttachedTable("note")], space: self,
        merging: ReplicaMerging(["note": TableMerging(fields: ["likes": .counter])]))
    }
    try files[0].execute("INSERT INTO note VALUES ('n', 'title', 5)")
    try converge(files, self)
    return (files[0], files[1])
  }

  /// A file whose tables may have what triggers do not see.
  func replica(
    _ seed: UInt64, _ schema: [String], _ tables: AttachedTable...
  ) throws -> TestReplica {
    try TestReplica(seed: seed, schema, withBlindSpots: tables, space: self)
  }

  /// Two files with the same rows in a table `t`, whose columns have other constraints in the second one. The space
  /// does not check them.
  func unlikePair(
    _ columns: String, _ constrained: String, rows: String
  ) throws -> (TestReplica, TestReplica) {
    ignoresRules = true
    let a = try TestReplica(
      seed: 1, ["CREATE TABLE t (\(columns))"], tables: [AttachedTable("t")], space: self)
    let b = try TestReplica(
      seed: 2, ["CREATE TABLE t (\(constrained))"], withBlindSpots: [AttachedTable("t")],
      space: self)
    try a.execute(rows)
    try converge([a, b], self)
    return (a, b)
  }
}

/// A file that synchronizes with a space, step by step.
final class TestReplica {
  let database: Database
  var merging: ReplicaMerging
  var decision: EpochPolicy.Decision?
  var limits = SyncLimits()
  var maxPageChangeCount = 10_000
  var random: SplitMix64
  private var known: ReplicaTables?
  /// The reports of all pulls.
  private(set) var reports: [ReplicaApplyReport] = []

  init(
    seed: UInt64, path: String = ":memory:", merging: ReplicaMerging = ReplicaMerging()
  ) throws {
    random = SplitMix64(seed: seed)
    database = try Database(path: path)
    self.merging = merging
  }

  /// A file with the given schema, attached to a space.
  convenience init(
    seed: UInt64, _ schema: [String], tables: [AttachedTable], space: TestSpace,
    merging: ReplicaMerging = ReplicaMerging(), path: String = ":memory:"
  ) throws {
    try self.init(seed: seed, path: path, merging: merging)
    for statement in schema { try execute(statement) }
    try attach(tables, space)
  }

  /// A file whose tables may have what triggers do not see.
  convenience init(
    seed: UInt64, _ schema: [String], withBlindSpots tables: [AttachedTable], space: TestSpace
  ) throws {
    try self.init(
      seed: seed, schema,
      tables: tables.map { table in
        var table = table
        table.allowsBlindSpots = true
        return table
      }, space: space)
  }

  func attach(_ tables: [AttachedTable], _ space: TestSpace) throws {
    try write { try $0.attach(tables, to: "test", using: &random) }
    try declare(to: space)
  }

  /// Declares the tables, and takes note of the rules of the space.
  func declare(to space: TestSpace) throws {
    let tables = try space.declare(try read { try $0.declarations() })
    try write { try $0.noteSpaceTables(tables) }
  }

  @discardableResult
  func execute(_ sql: String) throws -> Int {
    try database.write { try $0.execute(SQL(text: sql)) }
  }

  /// Executes statements while the connection fires no triggers.
  func executeUnnoticed(_ statements: String...) throws {
    try database.withWriter { connection in
      try connection.withoutTriggers {
        for statement in statements { try connection.execute(statement) }
      }
    }
  }

  /// Executes a statement between the calls for a change of the schema.
  func changeSchema(_ sql: String) throws {
    try write { try $0.beginSchemaChange() }
    try execute(sql)
    try write { try $0.endSchemaChange() }
  }

  func rejected() throws -> [KeptEdit] { try read { try $0.keptEdits(.rejected) } }

  /// The contents of its rejected changes.
  func rejectedContents() throws -> [Record?] { try rejected().map(\.content) }

  func rows(_ sql: String) throws -> [[FieldValue]] {
    try database.read { try $0.connection.rows(sql) }
  }

  @discardableResult
  func write<Value>(_ body: (ReplicaTables) throws -> Value) throws -> Value {
    try database.write(foreignKeys: .ignored) { try body(tables(in: $0.connection)) }
  }

  func read<Value>(_ body: (ReplicaTables) throws -> Value) throws -> Value {
    try database.read { try body(tables(in: $0.connection)) }
  }

  /// The tables in a connection; one in memory is always the same, so that the schema is read once.
  private func tables(in connection: DatabaseConnection) -> ReplicaTables {
    guard database.path == ":memory:" else { return ReplicaTables(connection) }
    let tables = known ?? ReplicaTables(connection)
    known = tables
    return tables
  }

  var state: ReplicaState { get throws { try read { try $0.state() } } }

  /// Freezes the edits; returns the message of the first part.
  func freeze() throws -> [UInt8]? {
    let isFrozen = try write { try $0.freeze(merging, limits: limits, using: &random) }
    return isFrozen ? try outbox() : nil
  }

  /// The message of a part of the commit that waits.
  func outbox(part number: Int = 1) throws -> [UInt8]? {
    try read { try $0.outbox(part: number) }.map { SyncMessageWriter.bytes($0) }
  }

  /// The parts of the commit that waits.
  func parts() throws -> [SyncCommit] {
    try read { tables in
      guard let first = try tables.outbox(part: 1) else { return [] }
      return try [first] + (2..<first.of + 1).map { try #require(try tables.outbox(part: $0)) }
    }
  }

  /// Sends the parts of the commit that waits; returns its outcome.
  func push(to space: TestSpace) throws -> SyncOutcome {
    var number = 1
    while true {
      let outcome = try space.push(try #require(try outbox(part: number)))
      guard case .parts(let missing) = outcome else { return outcome }
      number = missing[0]
    }
  }

  func settle(_ outcome: SyncOutcome, _ bytes: [UInt8]) throws {
    let id = try SyncMessageReader().commit(bytes).id
    try write { try $0.settle(outcome, of: id, using: &random) }
  }

  /// Asks for one page and stores it; returns true if all pages are there.
  func pullPage(_ space: TestSpace) throws -> Bool {
    guard case .incomplete(let next) = try read({ try $0.staging() }) else { return true }
    let pull = next.limited(to: maxPageChangeCount)
    switch try space.pull(pull) {
    case .page(let page): _ = try write { try $0.stage(page, for: pull) }
    case .gone(let gone): try lose(gone, for: pull)
    }
    return try read { try $0.staging() } == .complete
  }

  func lose(_ gone: SyncGone, for pull: SyncPull) throws {
    try write { try $0.lose(gone, for: pull, using: &random) }
  }

  @discardableResult
  func apply() throws -> ReplicaApplyReport {
    let report = try write { try $0.applyStaged(merging, decision: decision, using: &random) }
    reports.append(report)
    return report
  }

  /// Pulls everything that the space has, and applies it.
  func pull(_ space: TestSpace) throws {
    for _ in 0..<100 where try !pullPage(space) {}
    try apply()
  }

  /// Does one step of a synchronization; false if there is nothing to do.
  func step(_ space: TestSpace) throws -> Bool {
    let summary = try write { try $0.summary() }
    if summary.sync.outbox != nil {
      let bytes = try #require(try outbox())
      try settle(try push(to: space), bytes)
    } else if summary.state.pullNeed != .none {
      // As a driver does: another copy may have declared a rule.
      try declare(to: space)
      try pull(space)
    } else {
      // A row may need another number first.
      return try freeze() != nil || state.pullNeed != .none
    }
    return true
  }

  /// Synchronizes until there is nothing to do, beginning with a pull.
  func sync(_ space: TestSpace, _ location: SourceLocation = #_sourceLocation) throws {
    _ = try write { try $0.schema() }
    // As a driver does: a table may have got a column.
    try declare(to: space)
    if try !read({ try $0.summary().sync.outbox != nil }) { try pull(space) }
    for _ in 0..<50 where try !step(space) { return }
    Issue.record("no end in sight: \(try read { try $0.summary() })", sourceLocation: location)
  }

  /// Drives a session until it waits; returns its last status.
  func run(_ session: inout SyncSession, _ space: TestSpace) throws -> SyncStatus {
    var actions = session.handle(.requested)
    for _ in 0..<200 where !actions.isEmpty {
      var next: [SyncSession.Action] = []
      for action in actions {
        switch action {
        case .perform(let step):
          let summary = try write {
            try $0.perform(step, merging, decision: decision, limits: limits, using: &random)
          }
          next += session.handle(.performed(summary))
        case .push(_, let part):
          let bytes = try #require(try outbox(part: part))
          next += session.handle(.pushed(try space.push(bytes)))
        case .pull(let pull): next += session.handle(.pulled(try space.pull(pull)))
        case .timer, .report: break
        }
      }
      actions = next
    }
    #expect(actions.isEmpty)
    return session.status
  }

  func conflicts(includingResolved includesResolved: Bool = true) throws -> [KeptEdit] {
    try read { try $0.keptEdits(.conflicts, includingResolved: includesResolved) }
  }
}

extension KeptEdit {
  /// The version that is not in the row.
  var content: Record? { kind == .record ? remote : local }
}

/// Synchronizes replicas with a space, one after the other, until nobody has anything to do.
func converge(
  _ replicas: [TestReplica], _ space: TestSpace, _ location: SourceLocation = #_sourceLocation
) throws {
  for _ in 0..<10 {
    let before = try space.state.head.version
    for replica in replicas { try replica.sync(space, location) }
    if try space.state.head.version == before { break }
  }
  for replica in replicas {
    let summary = try replica.read { try $0.summary() }
    #expect(summary.isUpToDate, "\(summary)", sourceLocation: location)
    #expect(
      try replica.state.revision == space.state.head, "not at the head", sourceLocation: location)
    #expect(
      try replica.read { try $0.computedDigest() } == space.state.digest,
      "the rows are not the records", sourceLocation: location)
  }
}

/// Expects that all replicas have equal rows.
func expectEqualRows(
  _ replicas: [TestReplica], _ query: String, _ expected: [[FieldValue]]? = nil,
  _ location: SourceLocation = #_sourceLocation
) throws {
  let first = try expected ?? replicas[0].rows(query)
  for replica in replicas {
    #expect(try replica.rows(query) == first, sourceLocation: location)
  }
}

/// Pulls, and expects that the file has nothing to send.
func receive(
  _ replica: TestReplica, from space: TestSpace, _ location: SourceLocation = #_sourceLocation
) throws {
  try replica.pull(space)
  #expect(try replica.freeze() == nil, "the file has edits", sourceLocation: location)
  let summary = try replica.read { try $0.summary() }
  #expect(summary.isUpToDate, "\(summary)", sourceLocation: location)
  #expect(
    try replica.read { try $0.computedDigest() } == space.state.digest,
    "the base is not what the space has", sourceLocation: location)
}

/// Expects that foreign keys have their rows.
func expectSoundReferences(
  _ replicas: [TestReplica], _ location: SourceLocation = #_sourceLocation
) throws {
  for replica in replicas {
    #expect(try replica.rows("PRAGMA foreign_key_check").isEmpty, sourceLocation: location)
  }
}
