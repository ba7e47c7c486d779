import TandemRecords
import TandemSQLite
import TandemSync

extension Simulation {
  /// Makes a backup of the space or of a file.
  func backUp() throws {
    if chance(30) {
      spaceBackup = (try space.backup(), oracle)
      note("the space is backed up at version \(space.head.version)")
    } else {
      let number = Int.random(in: 0..<files.count, using: &random)
      fileBackups[number] = (try DatabaseImage(files[number].database), step)
      note("file \(number) is backed up")
    }
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
    case .refusal: break
    case .forget:
      let version = Int.random(in: 0...space.head.version, using: &random)
      note("the space forgets the history before \(version)")
      try space.forget(before: version)
      oracle.forget(before: version)
    case .fileRestore: try restoreFile(Int.random(in: 0..<files.count, using: &random))
    case .fileCopy:
      guard files.count < Simulation.maxFileCount, chance(40) else { return }
      let number = Int.random(in: 0..<files.count, using: &random)
      note("file \(number) is copied as \(files.count)")
      try copy(number)
    case .spaceRestore: try restoreSpace(startsNewHistory: false)
    case .newEpoch: try restoreSpace(startsNewHistory: true)
    }
  }

  private func restart(_ number: Int) { drivers[number] = Driver(file: drivers[number].file) }

  private func restoreFile(_ number: Int) throws {
    guard let backup = fileBackups[number], chance(50) else { return }
    note("file \(number) becomes what it was at step \(backup.step)")
    let known = Set(try spaceValues().map(\.1))
    try files[number].become(backup.image)
    ledger.restored(number, from: backup.step, known: known)
    revisions[number] = nil
    for driver in drivers.indices where drivers[driver].file == number { restart(driver) }
  }

  private func restoreSpace(startsNewHistory: Bool) throws {
    guard let backup = spaceBackup, chance(40) else { return }
    try space.restore(backup.space, startsNewHistory: startsNewHistory, using: &random)
    oracle.restore(backup.oracle)
    if startsNewHistory { oracle.startNewHistory(at: space.head) }
    note(
      "the space becomes what it was at version \(space.head.version)"
        + (startsNewHistory ? ", with a new epoch" : ""))
    let known = Set(try spaceValues().map(\.1))
    var held = known
    for file in files {
      held.formUnion(try file.database.read { try file.values($0.connection) }.map(\.1))
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
