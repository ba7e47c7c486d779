import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync

extension Simulation {
  /// Makes a backup of the space or of a file.
  func backUp() throws {
    if chance(30) {
      try backUpSpace()
    } else {
      let number = Int.random(in: 0..<files.count, using: &random)
      guard !files[number].hasNewSchema else { return }
      fileBackups[number] = FileBackup(
        image: try DatabaseImage(files[number].database), alterations: files[number].alterations,
        step: step)
      note("file \(number) is backed up")
    }
  }

  func backUpSpace() throws {
    spaceBackup = (try space.backup(), oracle)
    note("the space is backed up at version \(space.head.version)")
  }

  /// Lets an accident happen.
  func happen() throws {
    guard !scenario.accidents.isEmpty else { return }
    switch pick(scenario.accidents) {
    case .crash:
      let number = Int.random(in: 0..<drivers.count, using: &random)
      note("driver \(number) crashes")
      restart(number)
    case .cut:
      note("all messages are lost")
      network.removeAll()
      if let service { restart(service) }
    case .refusal: break
    case .forget:
      // Often all of it, so that files fall behind the horizon.
      let head = space.head.version
      let version = chance(50) ? head : Int.random(in: 0...head, using: &random)
      note("the space forgets the history before \(version)")
      do {
        try space.forget(before: version)
        oracle.forget(before: version)
        _ = space.database.takeKill()
      } catch is ProgramKilled {
        note("  the space is killed")
      }
    case .fileRestore: try restoreFile(Int.random(in: 0..<files.count, using: &random))
    case .fileCopy:
      guard files.count < Simulation.maxFileCount, chance(40) else { return }
      let number = Int.random(in: 0..<files.count, using: &random)
      guard !files[number].hasNewSchema else { return }
      note("file \(number) is copied as \(files.count)")
      try copy(number)
    case .spaceRestore: try restoreSpace(startsNewHistory: false)
    case .newEpoch: try restoreSpace(startsNewHistory: true)
    case .triggersDropped: try dropTriggers(Int.random(in: 0..<files.count, using: &random))
    case .triggersDisabled: try editWithoutTriggers(Int.random(in: 0..<files.count, using: &random))
    case .columnAdded: try addColumn(Int.random(in: 0..<files.count, using: &random))
    case .indexCreated: try createIndex(Int.random(in: 0..<files.count, using: &random))
    case .columnDropped: try dropColumn(Int.random(in: 0..<files.count, using: &random))
    case .tableRebuilt: try rebuildTable(Int.random(in: 0..<files.count, using: &random))
    case .quota: setQuota(chance(30) ? nil : Int.random(in: 0...8, using: &random))
    case .damage, .recordLimit: break
    }
  }

  /// Another program drops some of Tandem's triggers. The next synchronization installs them again.
  private func dropTriggers(_ number: Int) throws {
    guard chance(30) else { return }
    let share = pick([30, 100])
    note("file \(number): a program drops triggers")
    files[number].database.nextKill = nil
    // As without triggers, the counts of edits get lost.
    ledger.copied()
    try files[number].database.write { connection in
      let names = try connection.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'tandem_%' ORDER BY name"
      )
      for name in names.compactMap(\.first?.textValue) where chance(share) {
        try connection.execute("DROP TRIGGER \(name)")
      }
    }
  }

  private func setQuota(_ quota: Int?) {
    if space.limits.maxSpaceRecordCount == quota { return }
    note("the space has at most \(quota.map { "\($0)" } ?? "any number of") records")
    space.limits.maxSpaceRecordCount = quota
    oracle.quota = quota
  }

  func restart(_ number: Int) { drivers[number] = Driver(file: drivers[number].file) }

  private func restoreFile(_ number: Int) throws {
    guard let backup = fileBackups[number], chance(50) else { return }
    note("file \(number) becomes what it was at step \(backup.step)")
    let known = Set(try spaceValues().map(\.1))
    if files[number].alterations != backup.alterations {
      try release(files[number])
      try files[number].take(pool.replica(scenario.variant), backup.alterations)
    }
    try files[number].become(backup.image)
    ledger.restored(number, from: backup.step, known: known)
    revisions[number] = nil
    for driver in drivers.indices where drivers[driver].file == number { restart(driver) }
  }

  private func restoreSpace(startsNewHistory: Bool) throws {
    guard let backup = spaceBackup, chance(70) else { return }
    try space.restore(backup.space, startsNewHistory: startsNewHistory, using: &random)
    oracle.restore(backup.oracle)
    if startsNewHistory { oracle.startNewHistory(at: space.head) }
    note(
      "the space becomes what it was at version \(space.head.version)"
        + (startsNewHistory ? ", with a new epoch" : ""))
    let known = Set(try spaceValues().map(\.1))
    var held = known
    for file in files {
      held.formUnion(try file.database.read { try file.values($0, andHidden: false) }.map(\.1))
    }
    ledger.spaceLost(at: step, known: known, held: held)
  }

  /// The values that edits wrote, in the space.
  func spaceValues() throws -> [(EditLedger.Cell, Int)] {
    var values: [(EditLedger.Cell, Int)] = []
    for record in try space.records() {
      guard let fields = record.fields else { continue }
      for (column, value) in zip(fields.layout.names, fields.values) {
        guard let text = value.textValue, let edit = EditLedger.edits(in: text).first else {
          continue
        }
        values.append((EditLedger.Cell(key: record.key, column: column), edit))
      }
    }
    return values
  }
}

// MARK: - Kills

extension Simulation {
  /// Kills the program of a file or of the space: now, in its next transaction, or during a
  /// checkpoint.
  func killSomebody() throws {
    let number = Int.random(in: 0...files.count, using: &random)
    let database = number < files.count ? files[number].database : space.database
    let name = number < files.count ? "file \(number)" : "the space"
    let share = pick([0, 1, Double.random(in: 0...1, using: &random)])
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      note("\(name) is killed")
      try database.kill()
      if number < files.count { killed(files[number]) }
    case 1:
      note("\(name) makes a checkpoint")
      try database.checkpoint(killedAfter: nil)
    case 2:
      note("\(name) is killed during a checkpoint")
      try database.checkpoint(killedAfter: { _ in self.chance(50) })
      if number < files.count { killed(files[number]) }
    case 3: database.nextKill = .inTransaction(share)
    default: database.nextKill = .inCommit(share)
    }
  }

  /// The programs of a file start again.
  func killed(_ file: SimulatedFile) {
    note("file \(file.number): the programs start again")
    for driver in drivers.indices where drivers[driver].file == file.number { restart(driver) }
  }

  /// Ends all accidents.
  func endAccidents() throws {
    note("the faults end")
    isFaulty = false
    setQuota(nil)
    space.database.nextKill = nil
    for file in files {
      file.database.nextKill = nil
      if try file.read({ try $0.isPaused() }) { try endPause(of: file) }
    }
  }
}
