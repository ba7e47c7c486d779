internal import TandemSQLite
public import TandemSync

extension DatabaseReplica {
  /// Makes the file a replica of a space. The rows that it has become local additions; those that
  /// the space already has are found equal by the first synchronization.
  ///
  /// The application's tables keep their schema. Nothing is sent or received yet but the names, columns and rules of
  /// the tables, which the space checks: it has to be reached.
  ///
  /// - Parameters:
  ///   - tables: The tables to synchronize, at least one. Each needs a primary key that no two
  ///     devices assign to different rows, or ``AttachedTable/renumbers``.
  ///   - space: The space. Its name is kept in the file, see ``ReplicaStatus/space``.
  /// - Returns: Sentences for people. They name what the space cannot check: unique indexes that not every copy can
  ///   compute, and foreign keys that rows of the file break; synchronized columns that triggers of other tables
  ///   write; and what other copies define differently (``ReplicaStatus/notices``).
  /// - Throws: ``ReplicaError`` with code `alreadyAttached` or `unsuitable`, which names the table
  ///   and the remedy; `SyncRequestError` with code `differentTables` if the space has other tables of
  ///   these names, and other errors if the space cannot be reached; `DatabaseError`. The file is unchanged
  ///   then.
  /// - Complexity: O(*n*) in the number of rows, O(*n* log *n*) in that of tables with foreign keys.
  @discardableResult
  public func attach(_ tables: [AttachedTable], to space: SyncSpace) async throws -> [String] {
    let declared = try await plan(tables)
    let known = try await space.remote.declare(declared)
    let notices = try await database.write { transaction in
      var generator = SystemRandomNumberGenerator()
      let replica = ReplicaTables(transaction.connection)
      try replica.checkReferences(declared, inSpace: known)
      try replica.attach(tables, to: space.name, using: &generator)
      try replica.noteSpaceTables(known)
      return try replica.notices()
    }
    forgetTables()
    return notices
  }

  /// Checks whether tables can be attached; nothing is changed.
  ///
  /// - Returns: The declaration of the tables.
  /// - Throws: As ``attach(_:to:)``.
  package func plan(_ tables: [AttachedTable]) async throws -> [SpaceTable] {
    try await database.read { transaction in
      let replica = ReplicaTables(transaction.connection)
      try replica.checkIsDetached()
      return try replica.plan(tables)
    }
  }

  /// Changes the address of the space that the file is attached to, as after the file of the space was
  /// moved, or a server got another name.
  ///
  /// - Parameters:
  ///   - space: The space at its new address.
  ///   - allowsLostCommits: True to accept a space that lacks commits which the file has, as after its server was lost and
  ///     another one took its place. The next synchronization notices it, and needs an `EpochPolicy`.
  /// - Throws: ``ReplicaError`` with code `notAttached`, and with code `otherHistory` if the space at
  ///   the address is another one, or lacks commits that the file has; `SyncRequestError` and other errors
  ///   if the space cannot be read; `DatabaseError`. The file is unchanged then.
  public func move(to space: SyncSpace, allowsLostCommits: Bool = false) async throws {
    let head = try await space.revision()
    try await writingTables { tables in
      var state = try tables.state()
      if !allowsLostCommits, let known = state.revision, known.epoch == head.epoch,
        known.version > head.version
      {
        throw ReplicaError(
          .otherHistory,
          "\(SyncSpace.place(ofName: space.name)) lacks commits that the file has. If it is another "
            + "space, name that of the file; if it took the place of a space that was lost, permit it "
            + "(`allowsLostCommits`)")
      }
      if let known = state.revision, known.epoch != head.epoch {
        throw ReplicaError(
          .otherHistory,
          "\(SyncSpace.place(ofName: space.name)) does not have the history of the space that the file "
            + "is attached to; name the space itself, or detach the file and attach it again")
      }
      state.space = space.name
      try tables.save(state)
    }
  }

  /// Throws unless the file is attached to the space of this name: rows must not be sent to another one.
  ///
  /// - Returns: The name by which the file knows the space.
  func requireAttachment(toSpaceNamed name: String) async throws -> String {
    try await readingTables { tables in
      let known = try tables.state().space
      guard SyncSpace.place(ofName: known) != SyncSpace.place(ofName: name) else { return known }
      throw ReplicaError(
        .otherSpace,
        "the file is attached to \(SyncSpace.place(ofName: known)), not to "
          + "\(SyncSpace.place(ofName: name)); synchronize it with that space, or call "
          + "move(to:) if the space has another address now")
    }
  }

  /// Removes all that attaching added. The rows stay as they are; the space and other replicas do
  /// not notice.
  ///
  /// Changes that were not sent stay in the rows; deletions that were not sent have no row, and come
  /// back if the file is attached again. Resolved conflicts are removed.
  ///
  /// - Parameters:
  ///   - discardsRejected: True to remove rejected changes too, although those of kind `edit` exist
  ///     nowhere else.
  ///   - discardsConflicts: True to remove open conflicts too, although the versions that they
  ///     overruled may exist nowhere else.
  /// - Throws: ``ReplicaError`` with code `notAttached`, and with code `rejectedChanges` or
  ///   `openConflicts` if there are some that are not to be discarded; `DatabaseError`. Nothing is
  ///   changed then.
  public func detach(
    discardsRejected: Bool = false, discardsConflicts: Bool = false
  ) async throws {
    try await database.write {
      try ReplicaTables($0.connection)
        .detach(discardsRejected: discardsRejected, discardsConflicts: discardsConflicts)
    }
    forgetTables()
  }
}

// MARK: - Changes of the schema

extension DatabaseReplica {
  /// Prepares attached tables for a change of their schema by another program or connection:
  /// removes the triggers, which SQLite does not allow to name a column that is dropped.
  ///
  /// Until ``endSchemaChange()``, the file cannot be synchronized. Programs may write it meanwhile:
  /// the present rows are kept, so that all changes are found by comparing. `Database.migrate` needs
  /// neither of the two calls, and adding a column does not either.
  ///
  /// - Throws: ``ReplicaError`` with code `notAttached` or `schema`; `DatabaseError`.
  /// - Complexity: O(*n*) in the number of rows of the attached tables.
  public func beginSchemaChange() async throws {
    try await database.write { try ReplicaTables($0.connection).beginSchemaChange() }
    forgetTables()
  }

  /// Takes over all changes of the schema. A synchronization does the same, unless
  /// ``beginSchemaChange()`` was called.
  ///
  /// Columns that a table got are synchronized from now on if the table was attached with all its
  /// columns. The values of columns that it lost are kept aside, as those of other replicas.
  ///
  /// - Throws: ``ReplicaError`` with code `schema` if a table is gone or has another primary key: the
  ///   change has not ended then; `notAttached`; `DatabaseError`.
  /// - Complexity: O(*n*) in the number of rows of the attached tables.
  public func endSchemaChange() async throws {
    try await database.write { try ReplicaTables($0.connection).endSchemaChange() }
    forgetTables()
  }

  /// Changes the schema by SQL statements, in one transaction. Foreign keys are checked at its end. A
  /// column that is renamed keeps its policy.
  ///
  /// - Throws: ``ReplicaError`` with code `schema` if a column is dropped and comes back without its values.
  package func changeSchema(by statements: [String]) async throws {
    try await database.write(foreignKeys: .ignored) { transaction in
      let tables = ReplicaTables(transaction.connection)
      _ = try tables.schema()
      try tables.noteMissedChanges()
      try transaction.changeSchema("this change") { transaction in
        var (gone, back): (Set<[String]>, Set<[String]>) = ([], [])
        for sql in statements {
          let columns = try tables.policyColumns()
          try transaction.connection.execute(sql)
          try tables.movePolicies(of: columns)
          try tables.note(&gone, &back)
        }
        for column in back { try tables.checkIsNotCleared(column[1], of: column[0]) }
      }
      tables.forgetSchema()
      _ = try tables.schema()
    }
    forgetTables()
  }
}

extension ReplicaTables {
  /// Takes note of the columns that are gone, and of those that are back.
  fileprivate func note(_ gone: inout Set<[String]>, _ back: inout Set<[String]>) throws {
    for table in try declarations() {
      guard let schema = try connection.schema(ofTable: table.name) else { continue }
      for column in table.columns {
        if schema.column(named: column) == nil {
          gone.insert([table.name, column])
        } else if gone.contains([table.name, column]) {
          back.insert([table.name, column])
        }
      }
    }
  }

  /// Throws if a column that was gone has lost all its values: its rows would seem to have been cleared by an edit. The shadow
  /// still has all rows.
  fileprivate func checkIsNotCleared(_ column: String, of table: String) throws {
    let standard = try connection.defaults(of: table, among: [column]).first?.sql ?? "NULL"
    func hasValues(_ table: String) throws -> Bool {
      guard try connection.schema(ofTable: table)?.column(named: column) != nil else {
        return false
      }
      let name = column.sqlQuoted
      return try !rows(
        "SELECT 1 FROM main.\(table.sqlQuoted) WHERE \(name) NOT NULL AND \(name) IS NOT (\(standard)) LIMIT 1"
      ).isEmpty
    }
    if try hasValues(table) { return }
    let former = [TableShadow.name(table), TableShadow.presentName(table)]
    guard try former.contains(where: hasValues) else { return }
    throw ReplicaError(
      .schema,
      "the column \(column) of \(table) is dropped and added again, which would clear it in all copies; "
        + "make two changes of it, so that its values come back")
  }
}

// MARK: - Policies

extension DatabaseReplica {
  /// Sets the policy by which edits of both sides of a column are merged from now on. The file keeps
  /// it. Set the same policy in all copies.
  ///
  /// - Parameters:
  ///   - policy: The policy; `nil` for none, so that such edits are open conflicts.
  ///   - column: The name of the column.
  ///   - table: The name of the table.
  /// - Throws: ``ReplicaError`` with code `unsuitable` if the column is not synchronized, or is to be
  ///   a counter and turns integers into other values; `notAttached`; `DatabaseError`.
  public func setPolicy(
    _ policy: FieldPolicy?, forColumn column: String, of table: String
  ) async throws {
    try await setPolicies([(policy, column, table)])
  }

  /// Sets policies of columns, all or none of them.
  package func setPolicies(
    _ policies: [(policy: FieldPolicy?, column: String, table: String)]
  ) async throws {
    try await writingTables { tables in
      for choice in policies {
        try tables.setPolicy(choice.policy, choice.column, of: choice.table)
      }
    }
  }

  /// The policies that the file keeps.
  package func policies() async throws -> [(table: String, column: String, policy: String)] {
    try await readingTables { try $0.policies() }
  }
}

// MARK: - Status

extension DatabaseReplica {
  /// The condition of the file. Nothing is written, and the space is not contacted.
  ///
  /// - Complexity: O(*n*) in the number of rows that wait. All rows are read during a change of the schema, and
  ///   the keys of all rows where a key of several columns may have a `NULL`.
  /// - Throws: ``ReplicaError`` with code `notAttached` or `schema`; `DatabaseError`.
  public func status() async throws -> ReplicaStatus {
    try await readingTables { try $0.status() }
  }

  /// The condition of the file, at the start and whenever it changes, by whichever program.
  ///
  public var statusUpdates: ReplicaSequence<ReplicaStatus> {
    ReplicaSequence(database) {
      try $0.declarations().map { TableShadow.name($0.name) } + ReplicaTables.tableNames
    } read: {
      try $0.status()
    }
  }
}

// MARK: - Kept edits

extension DatabaseReplica {
  /// Edits that are kept beside their rows, in the order in which they came: conflicts, and changes that could not be
  /// synchronized.
  ///
  /// - Parameters:
  ///   - selection: Some of them.
  ///   - includesResolved: False for open ones only. Resolved conflicts show the version that was overruled;
  ///     the file keeps the last 10,000 of them.
  /// - Throws: ``ReplicaError`` with code `notAttached`; `DatabaseError`.
  public func keptEdits(
    _ selection: KeptEdit.Selection = .all, includingResolved includesResolved: Bool = false
  ) async throws -> [KeptEdit] {
    try await readingTables {
      try $0.keptEdits(selection, includingResolved: includesResolved)
    }
  }

  /// The open edits that are kept, in the order in which they came: at the start, and whenever they change, by whichever
  /// program. Each iterator ends with an error when the file is detached or closed, and when its task is cancelled.
  public func keptEditUpdates(
    _ selection: KeptEdit.Selection = .all
  ) -> ReplicaSequence<[KeptEdit]> {
    ReplicaSequence(database) { _ in
      ["tandem_kept"]
    } read: {
      _ = try $0.state()
      return try $0.keptEdits(selection)
    }
  }

  /// Resolves open edits by a version of each, in one transaction: by ordinary edits of their rows, which the next
  /// synchronization sends. Rows may exchange unique values.
  ///
  /// If a conflict is about some fields, only these are written. The remote version leaves the row as it is. If the
  /// row has changed since, another version replaces that change too, and the replaced version is kept as a resolved
  /// conflict. Older open conflicts of the record in the same fields are resolved with this one: in each field of a
  /// record, the version of its last conflict counts.
  ///
  /// A rejected change is forgotten when it is resolved. Its local version is made again in the row, as
  /// ``retry(_:)`` does; with the remote version the row stays as it is. Those that are still in their row, and
  /// records of the space that the table does not accept, have no version to choose.
  ///
  /// - Returns: The number of edits.
  /// - Throws: ``ReplicaError`` with code `unknownEdit`; with code `unsuitable` if a version needs a column that the
  ///   table no longer has; with code `constraint` if the table does not accept it; with code `waitingCommit` if a
  ///   rejected change is to be made again and the file does not know the outcome of a commit yet: synchronize
  ///   first. Nothing is changed then.
  /// - Complexity: O(*n*) statements in the number of edits.
  @discardableResult
  public func resolve(
    _ selection: KeptEdit.Selection, by choice: KeptEdit.Choice
  ) async throws -> Int {
    try await writingTables { try $0.resolve(selection, by: choice) }
  }

  /// Makes edits again, in one transaction: conflicts get their local versions, all or none, and of the rejected
  /// changes those are made that the tables accept. A change that depends on another one, as a row on its parent,
  /// follows it. A record of the space that its table did not accept gets its row.
  ///
  /// Only the fields that an edit changed are written, so that later edits of the row remain. If the row has another
  /// new value in one of these, the version that is replaced is kept as a resolved conflict.
  ///
  /// - Returns: The number of edits. The others remain in ``keptEdits(_:includingResolved:)``, among them those that
  ///   are still in their rows.
  /// - Throws: As ``resolve(_:by:)``; the error of the first edit if the tables accept none of them.
  @discardableResult
  public func retry(_ selection: KeptEdit.Selection) async throws -> Int {
    try await writingTables { try $0.retry(selection) }
  }

  /// Forgets edits: conflicts are resolved by the remote version, and rejected changes are removed. A record of the
  /// space stays until the table has it: without the note, the file would seem to be in step.
  ///
  /// - Returns: The number of edits.
  /// - Throws: ``ReplicaError`` with code `unknownEdit`; with code `constraint` if the only one is a record of the
  ///   space; `DatabaseError`.
  @discardableResult
  public func discard(_ selection: KeptEdit.Selection) async throws -> Int {
    try await writingTables { try $0.discard(selection) }
  }

  private func readingTables<Value: Sendable>(
    _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    try await database.read { transaction in
      let tables = ReplicaTables(transaction.connection)
      // Throws if the file is not attached.
      _ = try tables.state()
      return try body(tables)
    }
  }

  /// Writes rows as the application does: foreign keys are enforced.
  private func writingTables<Value: Sendable>(
    _ body: @escaping @Sendable (ReplicaTables) throws -> Value
  ) async throws -> Value {
    try await database.write { transaction in
      let tables = ReplicaTables(transaction.connection)
      _ = try tables.state()
      return try body(tables)
    }
  }
}
