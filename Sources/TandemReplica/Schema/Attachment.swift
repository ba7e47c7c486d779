internal import TandemRecords
internal import TandemSQLite
public import TandemSync

/// A choice of what to synchronize: one table, and the columns of it.
public struct AttachedTable: Hashable, Sendable {
  /// The name of the table.
  public var name: String
  /// The columns to synchronize beside the primary key. If `nil`, all that can be written, and those
  /// that the table gets later.
  public var columns: [String]?
  /// The policies for columns that two replicas change at the same time, by the names of columns. The
  /// file keeps them for every program that synchronizes it. A conflict in another column stays
  /// open.
  public var policies: [String: FieldPolicy]
  /// The columns of unique constraints whose values mean one record, such as `[["name"]]` for categories. If two copies
  /// add a row of the same values under different keys, the row of the later one is joined with the record of the
  /// space: see ``KeptEdit/Choice/same``. The file keeps them.
  public var same: [[String]]
  /// The unit of conflicts: records for a table whose fields must fit each other. All replicas of a
  /// space must choose the same.
  public var granularity: ConflictGranularity
  /// True if SQLite chooses the keys, by INTEGER PRIMARY KEY AUTOINCREMENT. Two devices choose the same number for
  /// different rows. The one that synchronizes later gives its row a new number, and its references follow. All
  /// replicas of a space must choose the same.
  public var renumbers: Bool
  /// True if the application itself chooses integer keys that no two devices choose.
  public var allowsAssignedKeys: Bool
  /// True if changes that no trigger can foresee are accepted. They are found later, by comparing
  /// digests.
  public var allowsBlindSpots: Bool

  /// A table with all columns that can be written, and no allowances.
  public init(
    _ name: String, columns: [String]? = nil, policies: [String: FieldPolicy] = [:],
    same: [[String]] = [], granularity: ConflictGranularity = .field, renumbers: Bool = false,
    allowsAssignedKeys: Bool = false, allowsBlindSpots: Bool = false
  ) {
    self.name = name
    self.columns = columns
    self.policies = policies
    self.same = same
    self.granularity = granularity
    self.renumbers = renumbers
    self.allowsAssignedKeys = allowsAssignedKeys
    self.allowsBlindSpots = allowsBlindSpots
  }
}

extension ReplicaTables {
  /// The declaration of the tables that a file would be attached with.
  ///
  /// - Throws: ``ReplicaError`` with code `unsuitable`: it names the table and the remedy.
  package func plan(_ choices: [AttachedTable]) throws -> [SpaceTable] {
    guard !choices.isEmpty else {
      throw ReplicaError(.unsuitable, "name at least one table to synchronize")
    }
    var declarations: [SpaceTable] = []
    for choice in choices {
      let declaration = try TableChoice(choice, in: connection).declaration()
      guard !declarations.contains(where: { $0.name.isSameSQLName(as: declaration.name) }) else {
        throw ReplicaError(.unsuitable, "the table \(declaration.name) is named twice")
      }
      _ = try choice.policies(for: declaration)
      try choice.checkGranularity(of: declaration)
      let table = try ReplicaTable(declaration, in: connection)
      try connection.checkStatements(on: table, .unsuitable)
      try connection.checkDefaults(of: table, .unsuitable)
      declarations.append(declaration)
    }
    declarations = try constrained(declarations)
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
        "\(connection.path) is attached to the space \(space)"
          + (names.isEmpty ? "" : ", with the tables \(names)")
          + "; to attach other tables or to another space, synchronize it, detach it, and attach it "
          + "with all tables")
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
      try connection.execute(shadow.creation(of: ReplicaTable.asideName(declaration.name)))
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
  /// Changes that were not sent stay in the rows. Resolved conflicts are removed.
  ///
  /// - Parameters:
  ///   - discardsRejected: True to remove rejected changes too.
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
        "DROP TABLE IF EXISTS \("tandem_aside_\(declaration.name)".sqlQuoted)")
    }
    CompanionFile(of: connection)?.remove()
    for name in ReplicaTables.tableNames + ReplicaTables.formerTableNames {
      try connection.execute("DROP TABLE IF EXISTS \(name)")
    }
    forgetSchema()
  }
}

/// The checks of one table.
private struct TableChoice {
  private let choice: AttachedTable
  private let connection: DatabaseConnection
  private let schema: TableSchema

  init(_ choice: AttachedTable, in connection: DatabaseConnection) throws {
    guard let schema = try connection.schema(ofTable: choice.name),
      !TriggerSet.isOwnName(schema.name)
    else {
      let names = try connection.tableNames()
      throw ReplicaError(
        .unsuitable,
        "\(connection.path) has no table \(choice.name) to synchronize; it has "
          + (names.isEmpty ? "no tables" : names.joined(separator: ", ")))
    }
    self.choice = choice
    self.connection = connection
    self.schema = schema
  }

  /// The declaration of the table.
  func declaration() throws -> SpaceTable {
    let facts = try TableFacts(schema.name, in: connection)
    guard let facts, facts.isOrdinary else {
      throw unsuitable("is a view or a virtual table; synchronize the tables beneath it")
    }
    guard !schema.primaryKey.isEmpty else {
      throw unsuitable(
        "has no primary key, so that nothing identifies a row on two devices; add one, such as "
          + suggestedKey)
    }
    try checkColumns(of: schema.primaryKey, "its primary key")
    if choice.renumbers {
      try checkNumbers(facts)
    } else if facts.isIdentifiedByRowid, !choice.allowsAssignedKeys {
      throw unsuitable(
        "has the key \(schema.primaryKey[0]) INTEGER PRIMARY KEY, which SQLite numbers: two "
          + "devices would give the same number to different rows; attach it with `renumbers` "
          + "\(schema.name), and a new row whose number another device was quicker to give gets another one, "
          + "which a program does not notice that holds the number in memory; or use a random key, such as "
          + "\(suggestedKey), or allow assigned keys if the application chooses numbers that "
          + "no two devices choose (`allowsAssignedKeys`)")
    }
    let columns = try columns()
    try choice.checkCounters(in: schema)
    let shadow = try TableShadow(table: schema.name, columns: columns, in: connection)
    if !choice.allowsBlindSpots, !shadow.blindSpots.isEmpty {
      throw unsuitable(
        "has changes that no trigger can foresee: \(shadow.blindSpots.joined(separator: "; ")); "
          + "change the index, or allow blind spots if no program uses REPLACE on the table "
          + "(`allowsBlindSpots`)")
    }
    return SpaceTable(
      name: schema.name, columns: columns, keyColumns: schema.primaryKey,
      granularity: choice.granularity, isNumbered: choice.renumbers)
  }

  /// Throws unless SQLite chooses the keys, and never the same one twice.
  private func checkNumbers(_ facts: TableFacts) throws {
    guard facts.isIdentifiedByRowid else {
      throw unsuitable(
        "has no INTEGER PRIMARY KEY, so that SQLite gives no numbers; attach it without `renumbers`"
      )
    }
    let isReference = try connection.rows(
      "SELECT 1 FROM pragma_foreign_key_list(?) WHERE \"from\" = ? COLLATE NOCASE",
      [.text(schema.name), .text(schema.primaryKey[0])])
    guard isReference.isEmpty else {
      throw unsuitable(
        "has a key that refers to another table, whose number it has; attach it without `renumbers` and with "
          + "`allowsAssignedKeys`: the key follows the row that it refers to")
    }
    guard connection.hasAutoincrement(schema) else {
      throw unsuitable(
        "has an INTEGER PRIMARY KEY without AUTOINCREMENT, so that SQLite gives the number of a deleted row "
          + "again, before other devices can notice; rebuild it first (`rekey`), then attach it with "
          + "`renumbers`")
    }
  }

  private var suggestedKey: String { "id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(16))))" }

  /// The columns beside the key, as declared.
  private func columns() throws -> [String] {
    let key = schema.primaryKey
    let isKey = { (name: String) in key.contains(where: name.isSameSQLName) }
    var names: [String] = []
    if let chosen = choice.columns {
      for name in chosen {
        guard let column = schema.column(named: name) else {
          throw unsuitable(
            "has no column \(name); it has \(schema.columnNames.joined(separator: ", "))")
        }
        guard !column.isGenerated else {
          throw unsuitable("computes the column \(name); leave it out, each copy computes it")
        }
        if !isKey(column.name), !names.contains(column.name) { names.append(column.name) }
      }
      try checkOthers(names)
    } else {
      names = schema.columns.filter { !$0.isGenerated && !isKey($0.name) }.map(\.name)
    }
    try checkColumns(of: names, "its columns")
    guard names.count + key.count <= ReplicaTables.maxColumnCount else {
      throw unsuitable(
        "has \(names.count + key.count) columns to synchronize, more than "
          + "\(ReplicaTables.maxColumnCount); name the columns that you need")
    }
    return names
  }

  /// Throws if a name cannot be a column of a shadow.
  private func checkColumns(of names: [String], _ part: String) throws {
    if let name = names.first(where: { $0.isSameSQLName(as: TableShadow.existed) }) {
      throw unsuitable("has \(name) among \(part), which is a name of Tandem's; rename it")
    }
  }

  /// Throws if a row that comes from the space would lack a value that the table requires.
  private func checkOthers(_ names: [String]) throws {
    let required = try connection.prepare(
      "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" AND dflt_value IS NULL AND pk = 0")
    try required.bind([.text(schema.name)])
    while try required.step() {
      guard case .text(let name) = try required.value(at: 0), !names.contains(name) else {
        continue
      }
      throw unsuitable(
        "requires a value in the column \(name), which is not synchronized; synchronize it, or "
          + "give it a default")
    }
  }

  private func unsuitable(_ reason: String) -> ReplicaError {
    ReplicaError(.unsuitable, "the table \(schema.name) \(reason)")
  }
}
