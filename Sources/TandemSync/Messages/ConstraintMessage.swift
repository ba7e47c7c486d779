package import TandemRecords

extension SyncMessageReading {
  /// Reads the constraints of a table.
  mutating func constraints() throws(TextFault) -> [SpaceConstraint] {
    try array(SyncLimits.maxConstraintCount) { (reading) throws(TextFault) in
      try reading.constraint()
    }
  }

  /// Reads the constraints of a table that its records break.
  mutating func pendingConstraints() throws(TextFault) -> [PendingConstraint] {
    try array(SyncLimits.maxConstraintCount) { (reading) throws(TextFault) in
      let start = reading.cursor.index
      var constraint: SpaceConstraint?
      var records: [[FieldValue]]?
      try reading.object { (reading, field) throws(TextFault) in
        switch field.name {
        case "constraint": try field.set(&constraint, try reading.constraint())
        case "records":
          try field.set(
            &records,
            try reading.array(PendingConstraint.maxRecordCount) { (reading) throws(TextFault) in
              try reading.id()
            })
        default: throw field.unknown()
        }
      }
      return PendingConstraint(
        try required(constraint, "constraint", start),
        records: try required(records, "records", start))
    }
  }

  /// Reads a constraint.
  mutating func constraint() throws(TextFault) -> SpaceConstraint {
    let start = cursor.index
    var constraint: SpaceConstraint?
    var reference: [FieldName]?
    var table: FieldName?
    var others: [ComparedColumn]?
    var index: String?
    var sql: String?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "unique": try field.set(&constraint, .unique(try reading.comparedColumns()))
      case "together": try field.set(&constraint, .together(try reading.fieldNames()))
      case "reference": try field.set(&reference, try reading.fieldNames())
      case "table": try field.set(&table, FieldName(try reading.cursor.string()))
      case "columns": try field.set(&others, try reading.comparedColumns())
      case "index": try field.set(&index, try reading.cursor.string())
      case "sql": try field.set(&sql, try reading.cursor.string())
      default: throw field.unknown()
      }
    }
    let isReference = reference != nil || table != nil
    let isIndex = index != nil || sql != nil
    guard isReference || isIndex || others != nil else {
      return try required(
        constraint, "unique\", \"index\", \"reference\" or \"together", start)
    }
    guard constraint == nil, !(isReference && isIndex) else {
      throw TextFault(.malformed, "the object has the fields of two constraints", at: start)
    }
    if isIndex {
      return .index(
        SpaceIndex(
          name: try required(index, "index", start), sql: try required(sql, "sql", start),
          columns: try required(others, "columns", start)))
    }
    let columns = try required(reference, "reference", start)
    let parents = try required(others, "columns", start)
    guard columns.count == parents.count else {
      throw TextFault(.malformed, "a reference has one column for each of the parent's", at: start)
    }
    return .reference(columns, to: try required(table, "table", start), parents)
  }

  private mutating func fieldNames() throws(TextFault) -> [FieldName] {
    try nonempty { (reading) throws(TextFault) in FieldName(try reading.cursor.string()) }
  }

  private mutating func comparedColumns() throws(TextFault) -> [ComparedColumn] {
    try nonempty { (reading) throws(TextFault) in
      let start = reading.cursor.index
      var name: String?
      var collation: ComparedColumn.Collation?
      var affinity: ComparedColumn.Affinity?
      var expression: String?
      try reading.object { (reading, field) throws(TextFault) in
        switch field.name {
        case "column": try field.set(&name, try reading.cursor.string())
        case "collation":
          try field.set(
            &collation,
            try reading.text("a collation of SQLite") { ComparedColumn.Collation(rawValue: $0) })
        case "affinity":
          try field.set(
            &affinity,
            try reading.text("an affinity of SQLite") { ComparedColumn.Affinity(rawValue: $0) })
        case "as": try field.set(&expression, try reading.cursor.string())
        default: throw field.unknown()
        }
      }
      return ComparedColumn(
        FieldName(try required(name, "column", start)), collation ?? .binary, affinity ?? .blob,
        as: expression)
    }
  }

  /// Reads the columns of a constraint, at least one.
  private mutating func nonempty<Element>(
    _ body: (inout SyncMessageReading) throws(TextFault) -> Element
  ) throws(TextFault) -> [Element] {
    let start = cursor.index
    let elements = try array(SyncLimits.maxColumnCount, body)
    guard !elements.isEmpty else {
      throw TextFault(.malformed, "a constraint has at least one column", at: start)
    }
    return elements
  }
}

// MARK: - Writing

extension SpaceConstraint: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      switch self {
      case .unique(let columns): json.field("unique", columns)
      case .index(let index):
        json.field("index", index.name)
        json.field("sql", index.sql)
        json.field("columns", index.columns)
      case .together(let columns): json.field("together", columns.map(\.text))
      case .reference(let columns, let table, let parents):
        json.field("reference", columns.map(\.text))
        json.field("table", table.text)
        json.field("columns", parents)
      }
    }
  }
}

extension ComparedColumn: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("column", name.text)
      if collation != .binary { json.field("collation", collation.rawValue) }
      if affinity != .blob { json.field("affinity", affinity.rawValue) }
      if let expression { json.field("as", expression) }
    }
  }
}

extension PendingConstraint: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("constraint", constraint)
      json.field("records", records)
    }
  }
}
