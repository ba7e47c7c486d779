internal import TandemRecords
internal import TandemSQLite
package import TandemSync

extension ReplicaTables {
  /// The declaration of the tables that a file would be attached with.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable`: it names the table and the remedy.
  package func plan(_ choices: [AttachedTable]) throws -> [SpaceTable] {
    guard !choices.isEmpty else {
      throw ReplicaError(.unsuitable, "name at least one table to synchronize")
    }
    guard try connection.hasUTF8Texts() else {
      throw ReplicaError(
        .unsuitable,
        "\(connection.path) keeps its texts in UTF-16, in which SQLite alters some of them; write the rows to a file "
          + "in UTF-8, and attach that: sqlite3 OLD .dump | sqlite3 NEW")
    }
    var declarations: [SpaceTable] = []
    var policies: [(table: String, column: String, policy: String)] = []
    for choice in choices {
      let declaration = try TableChoice(choice, in: connection).declaration()
      guard !declarations.contains(where: { $0.name.isSameSQLName(as: declaration.name) }) else {
        throw ReplicaError(.unsuitable, "the table \(declaration.name) is named twice")
      }
      policies += try choice.policies(for: declaration).map {
        (declaration.name, $0.0, $0.1.rawValue)
      }
      try choice.checkGranularity(of: declaration)
      let table = try ReplicaTable(declaration, in: connection)
      try connection.checkStatements(on: table, .unsuitable)
      try connection.checkDefaults(of: table, .unsuitable)
      declarations.append(declaration)
    }
    declarations = try constrained(declarations, policies)
    for (choice, declaration) in zip(choices, declarations) {
      _ = try choice.sameRules(for: declaration)
    }
    return declarations
  }

  /// Throws if the file is attached to a space, or is one.
  func checkIsDetached() throws {
    guard try connection.integer("PRAGMA application_id") != SyncSpace.applicationID else {
      throw ReplicaError(
        .unsuitable,
        "\(connection.path) is a space, which other files are attached to; name the file of an application"
      )
    }
    if try isAttached(), let space = try? state().space {
      let names = (try? status().tables.map(\.name).joined(separator: ", ")) ?? ""
      throw ReplicaError(
        .alreadyAttached,
        "\(connection.path) is attached to the space \(SyncSpace.place(ofName: space))"
          + (names.isEmpty ? "" : ", with the tables \(names)")
          + "; to attach other tables or to another space, detach it, and attach it with all tables. If "
          + "its space is there still, synchronize it first")
    }
    let names = try rows("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
    for case .text(let name) in names.map({ $0[0] })
    where ReplicaTables.tableNames.contains(where: name.isSameSQLName) {
      throw ReplicaError(
        .unsuitable,
        "\(connection.path) has a table \(name) that Tandem cannot read; attaching needs this name. "
          + "If another program made the table, rename it; if another version of Tandem did, detach "
          + "the file with that version")
    }
  }

  /// Makes the file a replica of a space. Its rows become local additions; those that the space has
  /// already are found equal by the first pull.
  ///
  /// The schema of the application's tables stays as it is. Beside them are Tandem's own tables,
  /// whose names begin with `tandem_`, and triggers.
  ///
  /// - Parameter space: The name of the space, for the application.
  /// - Throws: ``ReplicaError`` with code `alreadyAttached` or `unsuitable`; nothing is changed
  ///   then.
  /// - Complexity: O(*n*) in the number of rows.
  package func attach(
    _ choices: [AttachedTable], to space: String, using generator: inout some RandomNumberGenerator
  ) throws {
    try checkIsDetached()
    let declarations = try plan(choices)
    let policies = try zip(choices, declarations).map { try $0.policies(for: $1) }
    for creation in ReplicaTables.creations { try connection.execute(creation) }
    try insert(
      ReplicaState(
        space: space, replica: .random(using: &generator), sequence: 0, revision: nil,
        digest: .empty, spaceDigest: .empty, pullNeed: .first), tables: declarations,
      whole: zip(choices, declarations).filter { $0.0.columns == nil }.map(\.1.name))
    for (declaration, policies) in zip(declarations, policies) {
      for (column, policy) in policies { try insert(policy, column, of: declaration.name) }
    }
    for (choice, declaration) in zip(choices, declarations) {
      for rule in try choice.sameRules(for: declaration) {
        try insert(same: rule, of: declaration.name)
      }
    }
    for declaration in declarations {
      try checkNames(beside: declaration.name)
      let shadow = try TableShadow(
        table: declaration.name, columns: declaration.columns, in: connection)
      try connection.keep(shadow)
      try connection.execute(shadow.creation(of: TableShadow.asideName(declaration.name)))
      try connection.noteNewRows(of: shadow)
    }
    forgetSchema()
  }

  /// Throws if the file has something by a name that attaching a table needs.
  private func checkNames(beside table: String) throws {
    let names = TableShadow.tableNames(beside: table)
    let marks = names.map { _ in "?" }.joined(separator: ", ")
    let found = try rows(
      "SELECT type, name FROM sqlite_schema WHERE name COLLATE NOCASE IN (\(marks))",
      names.map { .text($0) })
    guard case .text(let type)? = found.first?[0], case .text(let name)? = found.first?[1] else {
      return
    }
    throw ReplicaError(
      .unsuitable,
      "\(connection.path) has the \(type) \(name), a name that attaching the table \(table) needs; rename "
        + "it, or drop it if an earlier version of Tandem left it")
  }

  /// Removes all that ``attach(_:to:using:)`` added: the file and its schema are as they were, with
  /// the rows as they are now.
  ///
  /// Changes that were not sent stay in the rows, but those of columns that were dropped have none. Resolved conflicts are
  /// removed.
  ///
  /// - Parameters:
  ///   - discardsRejected: True to remove rejected changes too, and edits of dropped columns.
  ///   - discardsConflicts: True to remove open conflicts too.
  /// - Throws: ``ReplicaError`` with code `notAttached`; with code `rejectedChanges` if some were
  ///   taken out of their rows, and with code `openConflicts` if there are any, unless they are
  ///   discarded.
  package func detach(discardsRejected: Bool = false, discardsConflicts: Bool = false) throws {
    _ = try state()
    let count = try count("\(keptSource()) WHERE kind = 'edit'")
    if count > 0, !discardsRejected {
      let changes = count == 1 ? "1 rejected change exists" : "\(count) rejected changes exist"
      throw ReplicaError(
        .rejectedChanges,
        "\(changes) only in \(connection.path), not in its rows (`keptEdits(.rejected)`); retry "
          + "or discard each one, or detach with `discardsRejected`")
    }
    for table in try declarations() where !discardsRejected {
      let dropped = TableShadow.droppedName(table.name)
      guard try connection.schema(ofTable: dropped) != nil,
        try !rows("SELECT 1 FROM \(dropped.sqlQuoted) LIMIT 1").isEmpty
      else {
        continue
      }
      throw ReplicaError(
        .rejectedChanges,
        "edits of columns that \(table.name) no longer has were not sent, and exist only in \(connection.path); "
          + "synchronize it first, or detach with `discardsRejected`")
    }
    let openCount = try openCount(.conflicts)
    if openCount > 0, !discardsConflicts {
      let conflicts = openCount == 1 ? "1 open conflict has" : "\(openCount) open conflicts have"
      throw ReplicaError(
        .openConflicts,
        "\(conflicts) versions that may exist only in \(connection.path) (`keptEdits(.conflicts)`); "
          + "resolve each one, or detach with `discardsConflicts`")
    }
    for declaration in try declarations() {
      try connection.stopKeeping(declaration.name)
      try connection.execute(
        "DROP TABLE IF EXISTS \(TableShadow.asideName(declaration.name).sqlQuoted)")
    }
    CompanionFile(of: connection)?.remove()
    for name in ReplicaTables.tableNames + ReplicaTables.formerTableNames {
      try connection.execute("DROP TABLE IF EXISTS \(name)")
    }
    forgetSchema()
  }
}
