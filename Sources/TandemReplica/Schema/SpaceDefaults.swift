internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

// A row that this file makes has no value in a column that only other copies have. If the column is `NOT NULL` there,
// null cannot be meant: those copies write the default of the column. So the insertion states the default. Otherwise the
// space would not know the value that these copies have, and could not check a rule over the column [defaults].
extension ReplicaTables {
  /// The fields that this file's insertions state, by table: constant defaults of columns that it does not synchronize
  /// and that are `NOT NULL` in the space.
  func spaceDefaults(_ schema: ReplicaSchema) throws -> [String: Record] {
    var defaults: [String: Record] = [:]
    for table in try spaceTables() {
      guard let own = schema.table(named: table.name)?.declaration else { continue }
      for definition in table.definitions ?? [] where !own.synchronizes(definition.name) {
        guard definition.isRequired, let value = try constantDefault(of: definition) else {
          continue
        }
        defaults[table.name, default: [:]][field: definition.name] = value
      }
    }
    return defaults
  }

  /// The value that a column stores for a default; `nil` if there is none, or if it is no number, text or blob.
  private func constantDefault(of definition: SpaceColumn) throws -> FieldValue? {
    guard let sql = definition.defaultText else { return nil }
    let tokens = SQLTokens(sql)
    // Another copy has sent the text. It must not call a function, or read a table.
    let isConstant = tokens.tokens.allSatisfy { token in
      switch token.kind {
      case .number, .string: true
      case .word: ["TRUE", "FALSE", "X"].contains(tokens.text(token.range).uppercased())
      case .symbol: ["+", "-", "."].contains(tokens.text(token.range))
      case .quotedName, .parameter: false
      }
    }
    guard isConstant, let statement = try? connection.prepare("SELECT \(tokens.statement)"),
      try statement.step()
    else { return nil }
    let value = try statement.value(at: 0)
    if definition.isStrict, definition.type.isSameSQLName(as: "ANY") { return value }
    return ColumnAffinity(declaredType: definition.type).stored(value)
  }
}

extension Record {
  /// This record with values for fields that are null.
  func completed(by defaults: Record?) -> Record {
    guard let defaults else { return self }
    return zip(defaults.layout.names, defaults.values).reduce(into: self) { record, field in
      if record[field.0].isNull { record[field: FieldName(field.0)] = field.1 }
    }
  }

  /// This record without the fields that have the given values.
  func removing(_ defaults: Record?) -> Record {
    guard let defaults else { return self }
    return zip(defaults.layout.names, defaults.values).reduce(into: self) { record, field in
      if record[field.0].hasSameStorage(as: field.1) { record[field: FieldName(field.0)] = nil }
    }.withoutNulls
  }
}
