internal import TandemRecords
internal import TandemSQLite
package import TandemSync

/// What only people read.
extension SpaceTables {
  /// Stores the number of records that a commit changed, by table.
  func insertCounts(of keys: some Sequence<SyncKey>, in version: Int) throws {
    var counts: [String: Int] = [:]
    for key in keys { counts[key.table, default: 0] += 1 }
    guard !counts.isEmpty else { return }
    try connection.make(.changeCounts)
    for (table, count) in counts {
      try connection.run(
        .storeCount, [.integer(Int64(version)), .text(table), .integer(Int64(count))])
    }
  }

  /// The number of records that a commit changed, by table; empty if an earlier version of this program wrote the
  /// commit.
  func counts(in version: Int) throws -> [String: Int] {
    let rows = try connection.rows(.counts, [.integer(Int64(version))])
    return try Dictionary(
      uniqueKeysWithValues: rows.map { row in
        guard let table = row[0].textValue, let count = row[1].integerValue else {
          throw damaged("the numbers of changes")
        }
        return (table, count)
      })
  }

  /// The replicas that have sent commits and whose identity begins with a text.
  package func replicas(beginningWith text: String) throws -> [SyncToken] {
    try connection.rows(.replicasBeginning, [.text(text)]).compactMap {
      $0[0].textValue.flatMap { SyncToken($0) }
    }
  }

  /// Gives a replica a name; an empty one removes it.
  package func setName(_ name: String, of replica: SyncToken) throws {
    try connection.make(.replicaNames)
    if name.isEmpty {
      try connection.run(.removeName, [.text(replica.description)])
    } else {
      try connection.run(.setName, [.text(replica.description), .text(name)])
    }
  }

  /// Stores how a replica that attaches defines the columns that nobody has defined yet.
  func insertDefinitions(of tables: [SpaceTable], _ declared: [SpaceTable]) throws {
    for table in tables where table.definitions != nil {
      guard let known = declared.first(where: { FieldName($0.name) == FieldName(table.name) })
      else { preconditionFailure("the tables of a request have been declared") }
      let columns = Set((known.keyColumns + known.columns).map { FieldName($0) })
      var definitions = try definitions(of: table.name)
      let count = definitions.count
      for definition in table.definitions ?? []
      where columns.contains(definition.name)
        && !definitions.contains(where: { $0.name == definition.name })
      {
        definitions.append(definition)
      }
      guard definitions.count > count else { continue }
      try connection.make(.columnDefinitions)
      try connection.run(
        .storeDefinitions,
        [
          .text(table.name),
          .text(String(decoding: SyncMessageWriter.bytes(definitions), as: UTF8.self)),
        ])
      let byteCount = try connection.integer(.definitionByteCount)
      guard byteCount <= SyncLimits.maxDeclarationByteCount else {
        throw SyncRequestError(
          .overLimit,
          "the types, defaults, CHECKs and policies of all columns of the space would need more than "
            + "\(SyncLimits.maxDeclarationByteCount) bytes; attach fewer tables")
      }
    }
  }

  /// Forgets how the columns of a table are defined. The next copy that declares the table defines them.
  ///
  /// - Returns: The name of the table; `nil` if the space has none of this name.
  package func forgetDefinitions(of name: String) throws -> String? {
    let known = try state().tables.first { $0.name.isSameSQLName(as: name) }
    guard let known else { return nil }
    if try connection.has(.columnDefinitions) {
      try connection.run(.forgetDefinitions, [.text(known.name)])
    }
    return known.name
  }

  /// The tables of the space with the definitions of their columns.
  package func definedTables() throws -> [SpaceTable] { try state().tables.map(defined) }

  /// A table with the definitions of its columns.
  func defined(_ table: SpaceTable) throws -> SpaceTable {
    var defined = table
    defined.definitions = try definitions(of: table.name)
    return defined
  }

  /// How the first replica of each column of a table has defined it.
  private func definitions(of table: String) throws -> [SpaceColumn] {
    guard try connection.has(.columnDefinitions),
      let row = try connection.row(.definitions, [.text(table)])
    else { return [] }
    return try decoded("the definitions of the table \(table)") { () throws(TextFault) in
      try reader.definitions(Array((row[0].textValue ?? "").utf8))
    }
  }
}
