import TandemRecords
import TandemReplica
import TandemSQLite
import TandemSync

extension Simulation {
  /// One transaction of a program in a file: some statements, or the decision of an open conflict.
  func edit(_ number: Int) throws {
    let file = files[number]
    if chance(8) { return try file.read { try $0.isPaused() } ? () : resolve(file) }
    try transact(file) { connection in
      var values = try file.values(connection)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        values = try runStatement(file, connection, values)
      }
    }
    for driver in drivers.indices where drivers[driver].file == number && chance(30) {
      if drivers[driver].action == nil { try handle(.changedLocally, driver) }
    }
  }

  /// One transaction of a program whose connection fires no triggers. Until the pull after a change of the schema,
  /// nothing would show it: the base has other columns.
  func editWithoutTriggers(_ number: Int) throws {
    let file = files[number]
    guard !file.hasNewSchema else { return }
    note("file \(number): a program writes without triggers")
    file.hasUncapturedEdits = true
    // The counts of such edits get lost: neither the space nor a record of a conflict has sums.
    ledger.copied()
    try transact(file) { connection in
      let values = try file.values(connection)
      _ = try connection.withoutTriggers { try runStatement(file, connection, values) }
    }
  }

  /// Runs a transaction of a program, which may be killed in it.
  ///
  /// - Parameter isMigration: True if foreign keys are ignored.
  func transact(
    _ file: SimulatedFile, isMigration: Bool = false, _ body: (DatabaseConnection) throws -> Void
  ) throws {
    let former = file.database.nextKill == nil ? nil : ledger
    do {
      if isMigration {
        try file.database.write(foreignKeys: .ignored, body)
      } else {
        try file.database.write(body)
      }
      if file.database.takeKill() { killed(file) }
    } catch is ProgramKilled {
      if let former { ledger = former }
      killed(file)
    }
  }

  /// Runs a statement; returns the values of the file afterwards.
  ///
  /// - Parameter before: The values of the file.
  func runStatement(
    _ file: SimulatedFile, _ connection: DatabaseConnection, _ before: [(EditLedger.Cell, Int)]
  ) throws -> [(EditLedger.Cell, Int)] {
    let (sql, parameters) = try statement(pick(schema.tables), in: file, connection)
    do throws(DatabaseError) {
      try connection.run(sql, parameters)
    } catch {
      guard error.code.primary == .constraint else { throw error }
      // The statement has changed nothing.
      return before
    }
    if sql.contains("visits + 1"), connection.changeCount == 1 {
      ledger.counted(in: sql.split(separator: " ")[1].description)
    }
    note("file \(file.number): \(sql) \(parameters.map(\.description).joined(separator: ", "))")
    let after = try file.values(connection)
    ledger.statementRan(in: file.number, at: step, before: before, after: after)
    return after
  }

  private func resolve(_ file: SimulatedFile) throws {
    let open = try file.read { try $0.keptEdits(.conflicts) }
    guard !open.isEmpty else { return }
    let position = Int.random(in: 0..<open.count, using: &random)
    // The versions that a lost history left have numbers that mean other records now.
    let isLost = mayLoseCommits && schema.tables.contains(where: \.isNumbered)
    let choice = pick(isLost ? [KeptEdit.Choice.remote] : [.local, .remote, .base])
    note("file \(file.number): conflict \(position) of \(open.count) is resolved by \(choice)")
    do {
      // As a program does, that is with foreign keys if it enforces them.
      try transact(file) { connection in
        let before = try file.values(connection)
        try file.database.replica(connection).resolve(.one(open[position].id), by: choice)
        let after = try file.values(connection)
        try check(open[position], resolvedFrom: before, to: after)
        if open[position].replacesCount(by: choice) { ledger.mayLoseAdditions() }
        ledger.statementRan(in: file.number, at: step, before: before, after: after)
      }
    } catch let error as DatabaseError where error.code.primary == .constraint {
      note("  a constraint forbids it")
    } catch let error as ReplicaError where error.code == .constraint {
      note("  the table does not accept it")
    }
  }

  /// A statement on a table.
  private func statement(
    _ table: SimulatedSchema.Table, in file: SimulatedFile, _ connection: DatabaseConnection
  ) throws -> (sql: String, parameters: [FieldValue]) {
    let name = table.name
    let keys = 0..<scenario.keyCount
    var key = table.key(Int.random(in: keys, using: &random))
    if table.isNumbered {
      key = try pick(connection.rows("SELECT id FROM \(name) ORDER BY id", []) + [[.integer(0)]])
    }
    let condition = table.keyColumns.map { "\($0) = ?" }.joined(separator: " AND ")
    func value() -> FieldValue {
      let edit = ledger.beginEdit(of: SyncKey(table: name, id: key), in: file.number, at: step)
      return .text(EditLedger.text(edit))
    }
    let valueColumns = file.valueColumns(table)
    let column = pick(valueColumns)
    // The row that counts is there early, so that several files count at the same time.
    if file.number == 0, file.counts(table), step < 12 {
      let row = table.key(SimulatedSchema.Table.counterNumber)
      return (
        "INSERT OR IGNORE INTO \(name) (\(table.keyColumns.joined(separator: ", ")), visits) "
          + "VALUES (\(row.map { _ in "?" }.joined(separator: ", ")), 0)", row
      )
    }
    switch Int.random(in: 0..<(table.hasRange || table.parent != nil ? 21 : 18), using: &random) {
    case 0..<4:
      return try insertion(
        table, valueColumns, key, pick(["OR IGNORE", "OR REPLACE", "OR ABORT"]),
        counts: file.counts(table), connection, value)
    case 4..<7: return ("UPDATE \(name) SET \(column) = ? WHERE \(condition)", [value()] + key)
    case 7:
      let list = valueColumns.map { "\($0) = ?" }.joined(separator: ", ")
      return (
        "UPDATE \(name) SET \(list) WHERE \(condition)",
        valueColumns.map { _ in value() } + key
      )
    case 8:
      let extra: [FieldValue] = [
        .null, 1, .real(1), .real(-0.0), .text("x"), .blob([1, 2]), .integer(1 << 60),
      ]
      return ("UPDATE \(name) SET extra = ? WHERE \(condition)", [pick(extra)] + key)
    case 9, 10: return ("DELETE FROM \(name) WHERE \(condition)", key)
    case 11, 14, 15, 16:
      guard file.counts(table) else { break }
      let row = table.key(SimulatedSchema.Table.counterNumber)
      return ("UPDATE \(name) SET visits = visits + 1 WHERE \(condition)", row)
    case 17:
      guard table.hasNote else { break }
      return ("UPDATE \(name) SET note = ? WHERE \(condition)", [.text("n\(step)")] + key)
    case 18 where table.hasRange:
      return (
        "UPDATE OR IGNORE \(name) SET \(pick(["low", "high"])) = ? WHERE \(condition)",
        [.integer(Int64.random(in: 0...9, using: &random))] + key
      )
    case 19 where table.parent != nil:
      let parent = try parent(of: table, connection)
      return (
        "UPDATE OR IGNORE \(name) SET \(parent.map { "\($0.column) = ?" }.joined(separator: ", ")) "
          + "WHERE \(condition)", parent.map(\.value) + key
      )
    case 12:
      guard table.codeIndex != nil else { break }
      return (
        "UPDATE OR \(pick(["IGNORE", "REPLACE"])) \(name) SET code = ? WHERE \(condition)",
        [pick(table.codes)] + key
      )
    default:
      if table.isNumbered {
        return try insertion(
          table, valueColumns, key, "OR IGNORE", counts: file.counts(table), connection, value)
      }
      let list = table.keyColumns.map { "\($0) = ?" }.joined(separator: ", ")
      return (
        "UPDATE OR \(pick(["IGNORE", "REPLACE"])) \(name) SET \(list) WHERE \(condition)",
        table.key(Int.random(in: keys, using: &random)) + key
      )
    }
    return ("UPDATE \(name) SET \(column) = ? WHERE \(condition)", [value()] + key)
  }

  private func insertion(
    _ table: SimulatedSchema.Table, _ valueColumns: [String], _ key: [FieldValue],
    _ conflict: String, counts: Bool, _ connection: DatabaseConnection,
    _ value: () -> FieldValue
  ) throws -> (sql: String, parameters: [FieldValue]) {
    var columns = (table.isNumbered ? ["mark"] : table.keyColumns) + valueColumns
    var parameters = table.isNumbered ? [.text("m\(ledger.count)x\(step)")] : key
    parameters += valueColumns.map { _ in value() }
    if counts {
      columns.append("visits")
      parameters.append(pick([.null, 0, 3]))
    }
    if table.codeIndex != nil {
      columns.append("code")
      parameters.append(pick(table.codes))
    }
    if table.hasNote {
      columns.append("note")
      parameters.append(.text("n\(step)"))
    }
    if table.hasRange {
      columns += ["low", "high"]
      let low = Int64.random(in: 0...9, using: &random)
      parameters += [.integer(low), .integer(Int64.random(in: low...10, using: &random))]
    }
    if table.parent != nil {
      let parent = try parent(of: table, connection)
      columns += parent.map(\.column)
      parameters += parent.map(\.value)
    }
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    return (
      "INSERT \(conflict) INTO \(table.name) (\(columns.joined(separator: ", "))) VALUES (\(marks))",
      parameters
    )
  }

  /// Values by which a row may refer to one of the parent.
  private func parent(
    of table: SimulatedSchema.Table, _ connection: DatabaseConnection
  ) throws -> [(column: String, value: FieldValue)] {
    guard let reference = table.parent, !chance(20),
      let parent = schema.tables.first(where: { $0.name == reference.name })
    else { return [("parent", .null)] }
    if table.wantsMark {
      let rows = try connection.rows("SELECT id, mark FROM \(parent.name) ORDER BY id", [])
      let row = pick(rows + [[.null, .null]])
      return [("parent", row[0]), ("wanted", row[1])]
    }
    if reference.column == "code" { return [("parent", pick(parent.codes))] }
    return [("parent", parent.key(Int.random(in: 0..<scenario.keyCount, using: &random))[0])]
  }
}

extension KeptEdit {
  /// True if a choice replaces the number of additions with that of another version, or deletes it.
  fileprivate func replacesCount(by choice: Choice) -> Bool {
    let chosen = choice == .local ? local : base
    return choice != .remote && fields == nil && chosen?["visits"] != remote?["visits"]
  }
}
