internal import TandemDifferences
internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// Rows that two copies made under different keys and that are one record, such as a category of one name.
extension ReplicaTables {
  /// Joins all rows that can be joined. What refers to one of them may be joined in turn.
  ///
  /// - Returns: The number of rows.
  func joinAll(_ edits: [KeptEdit]) throws -> Int {
    var waiting = edits.map(\.id)
    var count = 0
    while true {
      var left: [KeptEdit.ID] = []
      for id in waiting {
        // The one before may have changed it, or made it again.
        guard let edit = try keptEdits(.one(id)).first else { continue }
        do {
          try connection.savepoint { try join(edit) }
          count += 1
        } catch let error as ReplicaError
          where [.unknownEdit, .constraint].contains(error.code) && connection.isInTransaction
        {
          left.append(edit.id)
        }
      }
      guard left.count < waiting.count else { return count }
      waiting = left
    }
  }

  /// Joins a row that was added here with the one that has its unique values.
  ///
  /// - Throws: ``ReplicaError`` with code `unknownEdit` if it was not added here; with code `constraint` if no other
  ///   row, or more than one, has its unique values, or if the space does not know that one yet.
  func join(_ edit: KeptEdit) throws {
    guard edit.kind == .edit, edit.base == nil, let local = edit.local,
      let table = try schema().table(named: edit.table)
    else {
      throw ReplicaError(
        .unknownEdit,
        "\(edit.label) is not a row that was added here and was refused: choose another version")
    }
    try join(edit, local, into: table.syncKey(try holder(of: edit, local, in: table)), table)
  }

  private func join(
    _ edit: KeptEdit, _ local: Record, into key: SyncKey, _ table: ReplicaTable
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
    if connection.violatesDeferredKeys { throw refusalOfReference(key) }
    if !differing.isEmpty {
      try record(
        .addAdd(local: local, remote: present), .remote, key, fields: differing,
        version: try state().revision?.version ?? 0)
    }
    try forget(keptEdit: edit.id)
    var alone: [KeptEdit] = []
    for follower in try follow(edit, local, to: filled, key, in: table) {
      // A row of this key may be there: then both are one record as well.
      if follower.base == nil, let version = follower.local,
        let child = try schema().table(named: follower.table),
        try !self.row(child, follower.key.id).row.isMissing
      {
        try join(follower, version, into: follower.key, child)
      } else {
        alone.append(follower)
      }
    }
    _ = try refusedEdits(of: alone)
  }

  /// The key of the row that has the unique values of one that was refused.
  private func holder(
    of edit: KeptEdit, _ local: Record, in table: ReplicaTable
  ) throws -> [FieldValue] {
    let declaration = table.declaration
    var holders: [[FieldValue]] = []
    for case .unique(let columns) in try knownTables(schema()).table(named: table.name)?.constraints
      ?? []
    {
      let names = columns.map(\.name)
      guard let values = declaration.values(of: names, local, edit.key.id) else { continue }
      for key in try keys(of: declaration, where: columns, values) where key != edit.key.id {
        // The space has to say so, not an edit of this file.
        guard
          let known = declaration.values(of: names, try row(table, key).base, key),
          zip(columns, zip(known, values)).allSatisfy({
            $1.0.canonical($0.collation) == $1.1.canonical($0.collation)
          })
        else {
          throw ReplicaError(
            .constraint,
            "\(edit.label): \(table.name) \(key.sqlText) is not in the space yet: synchronize first"
          )
        }
        if !holders.contains(key) { holders.append(key) }
      }
    }
    for index in try indexClaims(schema()).values[FieldName(table.name)] ?? [] {
      for key in try keys(with: index, of: local, edit.key.id, in: table)
      where !holders.contains(key) {
        holders.append(key)
      }
    }
    guard let holder = holders.first else {
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

  /// Lets rejected changes that refer to a row refer to another one; returns them.
  private func follow(
    _ edit: KeptEdit, _ local: Record, to record: Record, _ key: SyncKey, in table: ReplicaTable
  ) throws -> [KeptEdit] {
    var followers: Set<KeptEdit.ID> = []
    for foreignKey in try schema().foreignKeys where foreignKey.parent === table {
      guard let old = foreignKey.values(of: local, edit.key.id),
        let new = foreignKey.values(of: record, key.id), old != new
      else { continue }
      try moveOtherRows(foreignKey, from: old, to: new)
      guard let child = foreignKey.attachedChild else { continue }
      for follower in try keptEdits(.rejected)
      where follower.kind == .edit && UTF8Order.areEqual(follower.table, child.name) {
        guard var version = follower.local else { continue }
        var (id, others) = (follower.key.id, follower.others)
        var isFollower = true
        for (column, values) in zip(foreignKey.columns, zip(old, new)) {
          if let place = child.keyNames.firstIndex(where: column.child.isSameSQLName) {
            isFollower = isFollower && id[place].hasSameStorage(as: values.0)
            id[place] = values.1
          } else if let name = child.columnNames.first(where: column.child.isSameSQLName) {
            isFollower = isFollower && version[name].hasSameStorage(as: values.0)
            version[field: FieldName(name)] = values.1
          } else {
            let name = child.otherColumns.first(where: column.child.isSameSQLName)
            isFollower = isFollower && name.map { others?[$0] } == values.0
            if let name { others?[field: FieldName(name)] = values.1 }
          }
        }
        guard isFollower else { continue }
        try run(
          "UPDATE tandem_kept SET \"key\" = ?, \"local\" = ?, others = ? WHERE id = ?",
          [
            .text(child.syncKey(id).idText), .text(version.text),
            others.map { .text($0.text) } ?? .null, .integer(follower.id),
          ])
        followers.insert(follower.id)
      }
    }
    if followers.isEmpty { return [] }
    return try keptEdits(.rejected).filter { followers.contains($0.id) }
  }

  /// Lets references that are not synchronized follow, unless they lead to a row that is there.
  private func moveOtherRows(
    _ foreignKey: ForeignKey, from old: [FieldValue], to new: [FieldValue]
  ) throws {
    guard foreignKey.isUnsynchronized, try parentIsGone(foreignKey, old) else { return }
    let names = foreignKey.columns.map(\.child.sqlQuoted)
    try run(
      """
      UPDATE main.\(foreignKey.child.sqlQuoted) SET \(names.map { "\($0) = ?" }.joined(separator: ", "))
      WHERE \(names.map { "\($0) = ?" }.joined(separator: " AND "))
      """, new + old)
  }

  private func parentIsGone(_ foreignKey: ForeignKey, _ values: [FieldValue]) throws -> Bool {
    let condition = foreignKey.columns.map { "\($0.parent.sqlQuoted) = ?" }.joined(
      separator: " AND ")
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
      let condition = foreignKey.columns.map { "\($0.child.sqlQuoted) = ?" }.joined(
        separator: " AND ")
      return try !rows(
        "SELECT 1 FROM main.\(foreignKey.child.sqlQuoted) WHERE \(condition) LIMIT 1", values
      ).isEmpty
    }?.child
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
