package import TandemRecords

extension SyncMessageReading {
  /// Reads the state of a space.
  mutating func state() throws(TextFault) -> SpaceState {
    let start = cursor.index
    var revision: SpaceRevision?
    var digest: RecordDigest?
    var horizon: Int?
    var tables: [SpaceTable]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "revision": try field.set(&revision, try reading.revision())
      case "digest": try field.set(&digest, try reading.digest())
      case "horizon": try field.set(&horizon, try reading.count(from: 0))
      case "tables": try field.set(&tables, try reading.tables())
      default: throw field.unknown()
      }
    }
    return SpaceState(
      head: try required(revision, "revision", start),
      digest: try required(digest, "digest", start),
      horizon: try required(horizon, "horizon", start),
      tables: try required(tables, "tables", start))
  }

  /// Reads a declaration of tables.
  mutating func tables() throws(TextFault) -> [SpaceTable] {
    try array(SyncLimits.maxTableCount) { (reading) throws(TextFault) in try reading.table() }
  }

  private mutating func table() throws(TextFault) -> SpaceTable {
    let start = cursor.index
    var name: String?
    var key: [String]?
    var columns: [String]?
    var granularity: ConflictGranularity?
    var isNumbered: Bool?
    var constraints: [SpaceConstraint]?
    var pending: [PendingConstraint]?
    var definitions: [SpaceColumn]?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "name": try field.set(&name, try reading.cursor.string())
      case "key": try field.set(&key, try reading.names())
      case "columns": try field.set(&columns, try reading.names())
      case "granularity":
        try field.set(
          &granularity,
          try reading.text("a granularity") { ConflictGranularity(rawValue: $0) })
      case "numbered":
        try reading.literalTrue()
        try field.set(&isNumbered, true)
      case "constraints": try field.set(&constraints, try reading.constraints())
      case "pending": try field.set(&pending, try reading.pendingConstraints())
      case "definitions": try field.set(&definitions, try reading.definitions())
      default: throw field.unknown()
      }
    }
    var table = SpaceTable(
      name: try required(name, "name", start), columns: try required(columns, "columns", start),
      keyColumns: try required(key, "key", start),
      granularity: try required(granularity, "granularity", start), isNumbered: isNumbered ?? false,
      constraints: constraints)
    table.pending = pending ?? []
    table.definitions = definitions
    return table
  }

  /// Reads the definitions of columns.
  mutating func definitions() throws(TextFault) -> [SpaceColumn] {
    try array(SyncLimits.maxColumnCount) { (reading) throws(TextFault) in
      try reading.definition()
    }
  }

  private mutating func definition() throws(TextFault) -> SpaceColumn {
    let start = cursor.index
    var name: String?
    var type: String?
    var isStrict: Bool?
    var isRequired: Bool?
    var defaultText: String?
    var checks: [String]?
    var policy: String?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "column": try field.set(&name, try reading.cursor.string())
      case "type": try field.set(&type, try reading.cursor.string())
      case "strict": try field.set(&isStrict, try reading.literalTrue())
      case "notNull": try field.set(&isRequired, try reading.literalTrue())
      case "default": try field.set(&defaultText, try reading.cursor.string())
      case "checks":
        try field.set(
          &checks,
          try reading.array(SyncLimits.maxConstraintCount) { (reading) throws(TextFault) in
            try reading.cursor.string()
          })
      case "policy": try field.set(&policy, try reading.cursor.string())
      default: throw field.unknown()
      }
    }
    return SpaceColumn(
      FieldName(try required(name, "column", start)), type: try required(type, "type", start),
      isStrict: isStrict ?? false, isRequired: isRequired ?? false, defaultText: defaultText,
      checks: checks ?? [], policy: policy)
  }

  private mutating func names() throws(TextFault) -> [String] {
    try array(SyncLimits.maxColumnCount) { (reading) throws(TextFault) in
      try reading.cursor.string()
    }
  }

  /// Reads a list of spaces.
  mutating func listings() throws(TextFault) -> [SpaceListing] {
    let start = cursor.index
    var listings: [SpaceListing]?
    try object { (reading, field) throws(TextFault) in
      guard field.name == "spaces" else { throw field.unknown() }
      try field.set(
        &listings,
        try reading.array(SyncLimits.maxListedSpaceCount) { (reading) throws(TextFault) in
          try reading.listing()
        })
    }
    return try required(listings, "spaces", start)
  }

  private mutating func listing() throws(TextFault) -> SpaceListing {
    let start = cursor.index
    var name: String?
    var access: SpaceListing.Access?
    try object { (reading, field) throws(TextFault) in
      switch field.name {
      case "name": try field.set(&name, try reading.cursor.string())
      case "access":
        try field.set(
          &access, try reading.text("a right") { SpaceListing.Access(rawValue: $0) })
      default: throw field.unknown()
      }
    }
    return SpaceListing(
      name: try required(name, "name", start), access: try required(access, "access", start))
  }
}

// MARK: - Writing

extension SpaceState: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("revision", head)
      json.field("digest", digest)
      json.field("horizon", horizon)
      json.field("tables", tables)
    }
  }
}

extension SpaceTable: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("name", name)
      json.field("key", keyColumns)
      json.field("columns", columns)
      json.field("granularity", granularity.rawValue)
      if isNumbered { json.field("numbered", true) }
      if let constraints { json.field("constraints", constraints) }
      if !pending.isEmpty { json.field("pending", pending) }
      if let definitions { json.field("definitions", definitions) }
    }
  }
}

extension SpaceColumn: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("column", name.text)
      json.field("type", type)
      if isStrict { json.field("strict", true) }
      if isRequired { json.field("notNull", true) }
      if let defaultText { json.field("default", defaultText) }
      if !checks.isEmpty { json.field("checks", checks) }
      if let policy { json.field("policy", policy) }
    }
  }
}

extension SpaceListing: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("name", name)
      json.field("access", access.rawValue)
    }
  }
}
