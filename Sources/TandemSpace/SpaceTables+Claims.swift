internal import TandemRecords
internal import TandemSync

/// The claims in the file of a space: how the constraints judge a commit, and what they store of it.
extension SpaceTables {
  /// What the constraints say to the edits of a commit.
  struct ConstraintAnswer {
    /// The objections; `nil` if there are none.
    let verdict: SpaceLedger.Verdict?
    /// The claims that each edit adds and takes away.
    let changes: [ClaimChange]
  }

  /// The claims that commits have stated for a record, by the SQL of the index.
  ///
  /// - Parameter rules: The numbers of the indexes of its table.
  func statedClaims(
    of key: SyncKey, _ rules: [String: Int]
  ) throws -> [String: [UInt8]] {
    var claims: [String: [UInt8]] = [:]
    for (sql, rule) in rules {
      let row = try connection.row(
        .statedClaim, [.integer(Int64(rule)), .blob(key.idBytes)])
      guard let row else { continue }
      guard case .blob(let value) = row[0] else { throw damaged("a claim of the record \(key)") }
      claims[sql] = value
    }
    return claims
  }

  /// The numbers of the unique indexes whose values commits state, by table and by the SQL of the index.
  func indexRules(_ tables: [SpaceTable]) throws -> [FieldName: [String: Int]] {
    let indexed = tables.filter { table in
      ((table.constraints ?? []) + table.pending.map(\.constraint)).contains { $0.index != nil }
    }
    return try indexed.reduce(into: [:]) { indexes, table in
      let name = FieldName(table.name)
      indexes[name] = SpaceClaims(try rules(of: name, tables), tables: tables).indexes[name]
    }
  }

  /// Judges edits by the constraints of their tables; `nil` if these have none.
  func constraintAnswer(
    to edits: [SpaceLedger.Edit], base: Int, _ tables: [SpaceTable]
  ) throws -> ConstraintAnswer? {
    guard tables.contains(where: \.hasConstraints) else { return nil }
    var rules: Set<SpaceRule> = []
    for table in Set(edits.lazy.map { FieldName($0.key.table) }) {
      rules.formUnion(try self.rules(of: table, tables))
    }
    let claims = SpaceClaims(rules.sorted { $0.number < $1.number }, tables: tables)
    guard !claims.rules.isEmpty else { return nil }
    let changes = edits.map { ClaimChange($0, claims) }
    if connection.readsAhead {
      try connection.expect(changes.flatMap { ($0.added + $0.released).flatMap(claims.lookups) })
    }
    var judgement = SpaceJudgement(
      edits, changes, base: base, claims, StoredSpaceClaims(space: self, claims: claims))
    return ConstraintAnswer(
      verdict: try judgement.verdict(),
      changes: changes.map { change in
        ClaimChange(
          added: change.added.filter(claims.stores), released: change.released.filter(claims.stores)
        )
      })
  }

  /// Stores the claims of edits, and lets pending constraints hold that the records now satisfy.
  func write(
    _ answer: ConstraintAnswer, of edits: [SpaceLedger.Edit], _ tables: [SpaceTable]
  ) throws {
    for (edit, change) in zip(edits, answer.changes) {
      for claim in change.released { try delete(claim, of: edit.key) }
      for claim in change.added { try insert(claim, of: edit.key) }
    }
    guard tables.contains(where: { !$0.pending.isEmpty }) else { return }
    var settled = tables
    try settlePending(in: &settled, after: Set(edits.lazy.map { FieldName($0.key.table) }))
    if settled != tables { try store(settled) }
  }

  /// Stores a claim of a record.
  func insert(_ claim: SpaceClaim, of key: SyncKey) throws {
    try connection.run(.insertClaim, claim.parameters + [.blob(key.idBytes)])
  }

  private func delete(_ claim: SpaceClaim, of key: SyncKey) throws {
    try connection.run(.deleteClaim, claim.parameters + [.blob(key.idBytes)])
  }
}

extension SpaceClaims {
  /// What the judgement reads for a claim that changes.
  fileprivate func lookups(of claim: SpaceClaim) -> [SpaceLookup] {
    guard let rule = rules[claim.rule], rule.holds else { return [] }
    func holders(_ claim: SpaceClaim, _ table: FieldName) -> SpaceLookup {
      SpaceLookup(.holders, claim.parameters + [.text(table.text)])
    }
    // A child is judged by its parents, a parent by its children as well.
    let own = claim.side == .stated ? claim : claim.on(.own)
    let children = claim.side == .offer ? [holders(own, rule.table)] : []
    switch rule.kind {
    case .unique, .index: return [holders(own, rule.table)]
    case .reference(let parent): return children + [holders(claim.on(.offer), parent)]
    case .keyReference(let parent):
      return children + [SpaceLookup(.recordVersions, [.text(parent.text), .blob(claim.value)])]
    }
  }
}

extension SpaceClaim {
  var parameters: [FieldValue] {
    [.integer(Int64(rule)), .integer(Int64(side.rawValue)), .blob(value)]
  }
}
