internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Rows that two copies made under different keys and that are one record, such as a category of one name.
extension ReplicaTables {
  /// Joins the insertions that a step has just taken out of their rows with the records of the space that have their
  /// unique values, if the file declares these values to mean the same record. Nobody has seen the kept edits yet.
  ///
  /// - Parameter edits: Insertions that the space never had.
  func joinSame(_ edits: [KeptEdit.ID]) throws {
    guard !edits.isEmpty else { return }
    let rules = try sameRules()
    // Without triggers, nothing would note the edits that this makes.
    guard !rules.isEmpty, !isQuiet, try !foreignTriggers().areUnreadable else { return }
    try withoutSilencedTriggers { _ = try joinAll(edits, by: rules) }
  }

  /// Joins all rows that can be joined. What refers to one of them may be joined in turn.
  ///
  /// - Parameter rules: The columns of which one set has to have the other row's values; `nil` for any.
  /// - Returns: The number of rows.
  func joinAll(_ edits: [KeptEdit.ID], by rules: SameRules? = nil) throws -> Int {
    var followers = try Followers(self)
    var waiting = edits
    var count = 0
    while true {
      var left: [KeptEdit.ID] = []
      for id in waiting {
        // The one before may have changed it, or made it again.
        guard let edit = try keptEdits(.one(id)).first else { continue }
        do {
          try connection.savepoint { try join(edit, by: rules, &followers) }
          count += 1
        } catch let error where connection.isInTransaction && error.isRefusal {
          left.append(edit.id)
        }
      }
      guard left.count < waiting.count else { return count }
      waiting = left
    }
  }

  /// Joins a row that was added here with the one that has its unique values, whichever these are.
  func join(_ edit: KeptEdit) throws {
    var followers = try Followers(self)
    try join(edit, by: nil, &followers)
  }

  /// Joins a row that was added here with the one that has its unique values.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownEdit` if it was not added here; with code `constraint` if no other
  ///   row, or more than one, has its unique values, or if the space does not know that one yet.
  private func join(
    _ edit: KeptEdit, by rules: SameRules?, _ followers: inout Followers
  ) throws {
    guard edit.kind == .edit, edit.base == nil, let local = edit.local,
      let table = try schema().table(named: edit.table)
    else {
      throw ReplicaError(
        .unknownEdit,
        "\(edit.label) is not a row that was added here and was refused: choose another version")
    }
    let key = try holder(
      of: edit, local, in: table, by: rules.map { $0[FieldName(table.name)] ?? [] })
    try join(edit, local, into: table.syncKey(key), table, &followers)
  }

  private func join(
    _ edit: KeptEdit, _ local: Record, into key: SyncKey, _ table: ReplicaTable,
    _ followers: inout Followers
  ) throws {
    let row = try row(table, key.id)
    guard let present = row.local else {
      throw ReplicaError(.unknownEdit, "\(edit.label) has changed since: synchronize")
    }
    var filled = present
    var differing: [String] = []
    for (name, value) in zip(local.layout.names, local.values) where !value.isNull {
      if present[name].isNull, table.layout.offset(of: name) != nil {
        filled[field: FieldName(name)] = value
      } else if !present[name].hasSameStorage(as: value) {
        differing.append(name)
      }
    }
    let content = row.content(for: filled)
    do {
      try store(content, over: row.row, table, key.id)
    } catch let error as DatabaseError where error.forbidsRow {
      throw ReplicaError(
        .constraint,
        "the table \(table.name) does not accept the fields of \(edit.key.id.sqlText) in \(key.id.sqlText): "
          + reason(error, filled, key.id, table))
    }
    try checkIsWritten(content, over: row.row, table, key)
    try restore(edit.others, table, key.id, isNew: false)
    if try leavesOpenReference(table, key.id, former: present) { throw refusalOfReference(key) }
    if !differing.isEmpty {
      try record(
        .addAdd(local: local, remote: present), .remote, key, fields: differing)
    }
    try forget(keptEdit: edit.id)
    var alone: [KeptEdit] = []
    for (follower, hasMoved) in try follow(edit, local, to: filled, key, in: table, &followers) {
      // A row of this key may be there: then both are one record as well.
      if follower.base == nil, let version = follower.local,
        let child = try schema().table(named: follower.table),
        try !self.row(child, follower.key.id).row.isMissing
      {
        guard hasMoved else { continue }
        do {
          try connection.savepoint {
            try join(follower, version, into: follower.key, child, &followers)
          }
        } catch let error where connection.isInTransaction && error.isRefusal {}
      } else {
        alone.append(follower)
      }
    }
    _ = try refusedEdits(of: alone)
  }

  /// The key of the row that has the unique values of one that was refused.
  private func holder(
    of edit: KeptEdit, _ local: Record, in table: ReplicaTable, by rules: Set<Set<FieldName>>?
  ) throws -> [FieldValue] {
    var isDeclared = rules == nil
    var holders: [[FieldValue]] = []
    for holder in try self.holders(
      of: local, edit.key.id, in: table, knownTables(schema()))
    {
      let key = holder.key
      if case .unique(let columns) = holder.rule {
        let names = columns.map(\.name)
        // The space has to say so, not an edit of this file.
        guard
          let known = table.declaration.values(of: names, try row(table, key).base, key),
          zip(columns, zip(known, holder.values)).allSatisfy({
            $1.0.canonical($0.collation) == $1.1.canonical($0.collation)
          })
        else {
          throw ReplicaError(
            .constraint,
            "\(edit.label): \(table.name) \(key.sqlText) is not in the space yet: synchronize first"
          )
        }
        if let rules, rules.contains(Set(names)) { isDeclared = true }
      }
      if !holders.contains(key) { holders.append(key) }
    }
    guard isDeclared, let holder = holders.first else {
      throw ReplicaError(
        .constraint, "\(edit.label): no other row has a unique value of it; retry it")
    }
    guard holders.count == 1 else {
      throw ReplicaError(
        .constraint,
        "\(edit.label): several rows have unique values of it, \(holders.map(\.sqlText).joined(separator: " and ")); "
          + "change one of them, or choose other values")
    }
    return holder
  }

  /// A row that is another one since, or has other values.
  private struct MovedRow {
    let table: ReplicaTable
    let key: [FieldValue]
    let record: Record
    let newKey: [FieldValue]
    let newRecord: Record
    /// True for a rejected insertion. What refers to it was rejected with it.
    let isInsertion: Bool
  }

  /// Lets rejected changes that refer to a row refer to another one, and so on if that changes a value by which others
  /// refer to them, such as a key with the reference in it.
  ///
  /// - Returns: All of them, in the order in which they were rejected, and rejected changes that refer to one of their
  ///   insertions and need no change: these have not moved.
  private func follow(
    _ edit: KeptEdit, _ local: Record, to record: Record, _ key: SyncKey, in table: ReplicaTable,
    _ followers: inout Followers
  ) throws -> [(edit: KeptEdit, hasMoved: Bool)] {
    var found: [KeptEdit.ID: Bool] = [:]
    var rows = [
      MovedRow(
        table: table, key: edit.key.id, record: local, newKey: key.id, newRecord: record,
        isInsertion: false)
    ]
    while let row = rows.popLast() {
      for (child, follower) in try moveOtherReferences(to: row, &followers) {
        found[follower.id] = true
        guard follower.base == nil, let version = follower.local else { continue }
        rows.append(
          MovedRow(
            table: child, key: follower.key.id, record: version, newKey: follower.key.id,
            newRecord: version, isInsertion: true))
      }
      for foreignKey in try schema().foreignKeys where foreignKey.parent === row.table {
        guard let old = foreignKey.values(of: row.record, row.key),
          let new = foreignKey.values(of: row.newRecord, row.newKey), old != new || row.isInsertion
        else { continue }
        if old != new { try moveOtherRows(foreignKey, from: old, to: new) }
        for id in followers.edits(foreignKey, old) {
          guard let follower = try keptEdits(.one(id)).first, let version = follower.local,
            let child = foreignKey.attachedChild,
            old == new ? found[id] == nil : true
          else { continue }
          var (newKey, newVersion) = (follower.key, version)
          if old != new {
            guard let moved = follower.moved(foreignKey, from: old, to: new) else { continue }
            (newKey, newVersion) = (moved.key, moved.local)
            try run(
              "UPDATE tandem_kept SET \"key\" = ?, \"local\" = ?, others = ? WHERE id = ?",
              [
                .text(newKey.idText), .text(newVersion.text),
                moved.others.map { .text($0.text) } ?? .null, .integer(id),
              ])
            if let follower = try keptEdits(.one(id)).first { followers.insert(follower) }
          }
          rows.append(
            MovedRow(
              table: child, key: follower.key.id, record: version, newKey: newKey.id,
              newRecord: newVersion, isInsertion: follower.base == nil))
          found[id] = found[id] == true || old != new
        }
      }
    }
    return try found.keys.sorted().flatMap { id in
      try keptEdits(.one(id)).map { ($0, found[id] == true) }
    }
  }

  /// Lets edits of dropped columns that refer to a row refer to another one, and the versions of this file in open conflicts
  /// and in rejected changes with a lost column. Those of several columns that refer to it together stay.
  ///
  /// - Returns: The rejected changes, with their tables.
  private func moveOtherReferences(
    to row: MovedRow, _ followers: inout Followers
  ) throws -> [(child: ReplicaTable, follower: KeptEdit)] {
    var found: [(child: ReplicaTable, follower: KeptEdit)] = []
    for reference in followers.references where reference.parent == FieldName(row.table.name) {
      let (name, child) = (reference.parentColumn.text, reference.table)
      guard let old = row.table.value(of: name, in: row.record, row.key),
        let new = row.table.value(of: name, in: row.newRecord, row.newKey), old != new
      else { continue }
      if child.mayHaveDroppedEdits { try moveDroppedReferences(reference, from: old, to: new) }
      for id in followers.edits(reference, old) {
        guard let edit = try keptEdits(.one(id)).first, var version = edit.local,
          version[reference.column].hasSameStorage(as: old),
          !(edit.base?[reference.column].hasSameStorage(as: old) ?? false)
        else { continue }
        version[field: FieldName(reference.column)] = new
        try run(
          "UPDATE tandem_kept SET \"local\" = ? WHERE id = ?",
          [.text(version.text), .integer(id)])
        guard let moved = try keptEdits(.one(id)).first else { continue }
        followers.insert(moved)
        if moved.kind == .edit { found.append((child, moved)) }
      }
    }
    return found
  }

  /// Lets references that are not synchronized follow, unless they lead to a row that is there.
  private func moveOtherRows(
    _ foreignKey: ForeignKey, from old: [FieldValue], to new: [FieldValue]
  ) throws {
    guard foreignKey.isUnsynchronized, try parentIsGone(foreignKey, old) else { return }
    let names = foreignKey.childNames
    try run(
      """
      UPDATE main.\(foreignKey.child.sqlQuoted) SET \(names.map { "\($0.sqlQuoted) = ?" }.joined(separator: ", "))
      WHERE \(names.sqlEquality)
      """, new + old)
  }

  private func parentIsGone(_ foreignKey: ForeignKey, _ values: [FieldValue]) throws -> Bool {
    let condition = foreignKey.parentNames.sqlEquality
    return try rows(
      "SELECT 1 FROM main.\(foreignKey.parent.name.sqlQuoted) WHERE \(condition) LIMIT 1", values
    ).isEmpty
  }

  /// The table whose rows, which are not synchronized, refer to a row that was added here and taken out again. Its
  /// number may become that of another row. `nil` if there is none.
  func tableReferring(to edit: KeptEdit) throws -> String? {
    guard edit.kind == .edit, edit.base == nil, let local = edit.local,
      let table = try schema().table(named: edit.table), table.declaration.isNumbered
    else { return nil }
    return try schema().foreignKeys.first { foreignKey in
      guard foreignKey.parent === table, foreignKey.isUnsynchronized,
        let values = foreignKey.values(of: local, edit.key.id),
        try parentIsGone(foreignKey, values)
      else { return false }
      let condition = foreignKey.childNames.sqlEquality
      return try !rows(
        "SELECT 1 FROM main.\(foreignKey.child.sqlQuoted) WHERE \(condition) LIMIT 1", values
      ).isEmpty
    }?.child
  }
}

extension Error {
  /// True if it says that a row cannot be joined with another one.
  fileprivate var isRefusal: Bool {
    if let error = self as? ReplicaError {
      return [.unknownEdit, .constraint, .unsuitable].contains(error.code)
    }
    return (self as? DatabaseError)?.forbidsRow ?? false
  }
}

extension ForeignKey {
  /// True if its columns belong to this file alone.
  fileprivate var isUnsynchronized: Bool {
    guard let attachedChild else { return true }
    return columns.allSatisfy { column in
      attachedChild.otherColumns.contains(where: column.child.isSameSQLName)
    }
  }
}
