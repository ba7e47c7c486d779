internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The constraints of a space.
///
/// The declaration of the tables names the constraints that hold, and those that are pending. Two tables belong to
/// them, ``SpaceTableGroup/constraints``:
///
/// - `rule`: every constraint that was ever declared, with its number. An operator may have dropped it; then it is
///   not declared again.
/// - `claim`: the claims of the live records (``SpaceClaim``), written in the transaction of each commit.
extension SpaceTables {
  /// The rules of a table, and those by which others refer to it.
  func rules(of table: FieldName, _ tables: [SpaceTable]) throws -> [SpaceRule] {
    try rules(.rulesOfTable, [.text(table.text)], tables)
  }

  private func rules(
    _ statement: SpaceStatement, _ parameters: [FieldValue], _ tables: [SpaceTable]
  ) throws -> [SpaceRule] {
    try connection.rows(statement, parameters).map { row in
      guard let number = row[0].integerValue, let table = row[1].textValue,
        let definition = row[2].textValue
      else { throw damaged("the constraints of the space") }
      let constraint = try decoded("a constraint of the table \(table)") {
        () throws(TextFault) in
        try reader.constraint(Array(definition.utf8))
      }
      let name = FieldName(table)
      let declared = tables.first { FieldName($0.name) == name }
      return SpaceRule(
        number, name, constraint, holds: declared?.constraints?.contains(constraint) == true)
    }
  }

  private func insertRule(_ constraint: SpaceConstraint, of table: SpaceTable) throws {
    try connection.run(
      .insertRule,
      [
        .text(table.name), constraint.parent.map { .text($0.text) } ?? .null,
        .text(definition(constraint)),
      ])
  }

  /// True if the constraint holds, is pending, or was dropped.
  private func knows(_ constraint: SpaceConstraint, of table: SpaceTable) throws -> Bool {
    if table.constraints?.contains(constraint) == true { return true }
    if table.pending.contains(where: { $0.constraint == constraint }) { return true }
    guard try connection.has(.constraints) else { return false }
    if constraint.index != nil {
      // Two indexes are equal if their SQL is, whatever else their declarations say.
      return try rules(.rulesAfter, [.integer(0)], []).contains {
        $0.table == FieldName(table.name) && $0.constraint == constraint
      }
    }
    return try connection.row(.rule, [.text(table.name), .text(definition(constraint))]) != nil
  }

  private func definition(_ constraint: SpaceConstraint) -> String {
    String(decoding: SyncMessageWriter.bytes(constraint), as: UTF8.self)
  }
}

// MARK: - Declaring

extension SpaceTables {
  /// The constraints of a declaration that the space does not have yet, and that nobody dropped, with their tables.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` for a constraint of tables or columns that are not those of the
  ///   space.
  func newConstraints(
    _ tables: [SpaceTable], _ declared: [SpaceTable]
  ) throws -> [(table: Int, constraint: SpaceConstraint)] {
    var fresh: [(table: Int, constraint: SpaceConstraint)] = []
    var seen: [Int: Set<SpaceConstraint>] = [:]
    for table in tables {
      guard
        let place = declared.firstIndex(where: { FieldName($0.name) == FieldName(table.name) })
      else { preconditionFailure("the tables of a request have been declared") }
      for constraint in table.constraints ?? []
      where seen[place, default: []].insert(constraint).inserted {
        try constraint.check(in: declared[place], declared)
        if try !knows(constraint, of: declared[place]) { fresh.append((place, constraint)) }
      }
      let count =
        (declared[place].constraints?.count ?? 0) + declared[place].pending.count
        + fresh.lazy.filter { $0.table == place }.count
      guard count <= SyncLimits.maxConstraintCount else {
        throw SyncRequestError(
          .overLimit,
          "the table \(table.name) would have \(count) constraints in the space; the most are "
            + "\(SyncLimits.maxConstraintCount)")
      }
    }
    return fresh
  }

  /// Adds new constraints to tables, each as a pending one, and stores the claims of their records.
  func add(
    _ constraints: [(table: Int, constraint: SpaceConstraint)], to tables: inout [SpaceTable]
  ) throws {
    guard !constraints.isEmpty else { return }
    try connection.make(.constraints)
    try connection.make(.statedClaims)
    let last = try connection.integer(.lastRule)
    for (table, constraint) in constraints {
      try insertRule(constraint, of: tables[table])
      tables[table].pending.append(PendingConstraint(constraint, records: []))
    }
    try insertClaims(of: try rules(.rulesAfter, [.integer(last)], tables), tables)
  }

  /// Stores the claims that the records make under rules without them, but for those that commits state.
  func insertClaims(of rules: [SpaceRule], _ tables: [SpaceTable]) throws {
    let claims = SpaceClaims(rules, tables: tables)
    for table in claims.tables {
      try forEachRecord(of: table) { key, fields in
        for claim in claims.claims(of: key, fields) where claims.stores(claim) {
          try insert(claim, of: key)
        }
      }
    }
  }

  /// Calls `body` with each live record of a table.
  func forEachRecord(
    of table: FieldName, _ body: (SyncKey, Record) throws -> Void
  ) throws {
    var layout: RecordLayout?
    try connection.forEachRow(.liveRecords, [.text(table.text)]) { row in
      let key = try storedKey(table.text, row[0].textValue)
      guard let fields = try fields(row[1], of: key, expecting: layout) else {
        return true
      }
      layout = fields.layout
      try body(key, fields)
      return true
    }
  }

  /// Tries the pending constraints of tables again: those that the records satisfy hold from now on.
  ///
  /// - Parameter changed: The tables whose records have changed; `nil` to try all, and to name the records that break
  ///   them now.
  /// - Complexity: O(*n* log *n*) in the number of records that make claims under a pending constraint.
  func settlePending(
    in tables: inout [SpaceTable], after changed: Set<FieldName>? = nil
  ) throws {
    for place in tables.indices where !tables[place].pending.isEmpty {
      let table = tables[place]
      let name = FieldName(table.name)
      let rules = try rules(.ownRules, [.text(table.name)], tables)
      let claims = SpaceClaims(rules, tables: tables)
      tables[place].pending = []
      for entry in table.pending {
        guard let rule = rules.first(where: { $0.constraint == entry.constraint }) else {
          throw damaged("the constraints of the table \(table.name)")
        }
        let isTried = changed.map { changed in
          changed.contains(name) || entry.constraint.parent.map(changed.contains) == true
        }
        if isTried ?? true, try breaking(rule, claims, maxCount: 1).isEmpty {
          tables[place].constraints = (tables[place].constraints ?? []) + [entry.constraint]
        } else if changed == nil {
          let records = try breaking(rule, claims, maxCount: PendingConstraint.maxRecordCount)
          tables[place].pending.append(PendingConstraint(entry.constraint, records: records))
        } else {
          tables[place].pending.append(entry)
        }
      }
    }
  }

  /// The keys of records that break a rule, the first ones in the order of their versions. Those of which no commit
  /// has stated the value in an index break its rule: any other record may have the same one.
  private func breaking(
    _ rule: SpaceRule, _ claims: SpaceClaims, maxCount: Int
  ) throws -> [[FieldValue]] {
    // One record is enough to know that there are some. It is found without sorting.
    let sorts = maxCount > 1
    let statement: SpaceStatement
    var parent = FieldValue.null
    switch claims.rules[rule.number]?.kind {
    case nil: return []
    case .index: statement = sorts ? .firstBreakingIndex : .breakingIndex
    case .unique: statement = sorts ? .firstBreakingUnique : .breakingUnique
    case .reference: statement = sorts ? .firstBreakingReference : .breakingReference
    case .keyReference(let table):
      parent = .text(table.text)
      statement = sorts ? .firstBreakingKeyReference : .breakingKeyReference
    }
    return try connection.rows(
      statement,
      [
        .integer(Int64(rule.number)), .text(rule.table.text), .integer(Int64(maxCount)), parent,
      ].dropLast(parent.isNull ? 1 : 0)
    ).map { try storedKey(rule.table.text, $0[0].textValue).id }
  }
}

// MARK: - For operators

extension SpaceTables {
  /// The constraints that hold or are pending, in the order of their numbers.
  package func rules() throws -> [SpaceRule] {
    guard try connection.has(.constraints) else { return [] }
    return try rules(.rules, [], try state().tables)
  }

  /// Drops a constraint. Declarations do not add it again.
  ///
  /// - Parameter number: That of ``rules()``.
  /// - Returns: The constraint; `nil` if there is none of this number.
  package func dropConstraint(_ number: Int) throws -> SpaceRule? {
    guard let rule = try rules().first(where: { $0.number == number }) else { return nil }
    var tables = try state().tables
    for place in tables.indices where FieldName(tables[place].name) == rule.table {
      tables[place].pending.removeAll { $0.constraint == rule.constraint }
      tables[place].constraints?.removeAll { $0 == rule.constraint }
      if tables[place].constraints?.isEmpty == true { tables[place].constraints = nil }
    }
    try store(tables)
    try connection.run(.dropRule, [.integer(Int64(number))])
    try connection.run(.dropClaims, [.integer(Int64(number))])
    return rule
  }
}

// MARK: - Parts

extension SpaceTable {
  /// True if a commit may make claims.
  var hasConstraints: Bool { constraints?.isEmpty == false || !pending.isEmpty }
}

extension SpaceConstraint {
  /// The other table of a reference.
  fileprivate var parent: FieldName? {
    if case .reference(_, to: let parent, _) = self { parent } else { nil }
  }

  /// Throws unless the space has the tables and columns.
  fileprivate func check(in table: SpaceTable, _ tables: [SpaceTable]) throws(SyncRequestError) {
    func require(_ names: [FieldName], _ table: SpaceTable) throws(SyncRequestError) {
      let known = Set((table.keyColumns + table.columns).map { FieldName($0) })
      guard let name = names.first(where: { !known.contains($0) }) else { return }
      throw SyncRequestError(
        .differentTables,
        "a constraint names the column \(name), which the table \(table.name) of the space lacks; "
          + "synchronize this column as well")
    }
    switch self {
    case .unique(let columns): try require(columns.map(\.name), table)
    case .index(let index):
      try require(index.columns.lazy.filter { $0.expression == nil }.map(\.name), table)
    case .together(let names): try require(names, table)
    case .reference(let names, to: let parent, let columns):
      try require(names, table)
      guard let other = tables.first(where: { FieldName($0.name) == parent }) else {
        throw SyncRequestError(
          .differentTables,
          "the table \(table.name) refers to the table \(parent), which the space lacks; attach "
            + "it as well")
      }
      try require(columns.map(\.name), other)
    }
  }
}
