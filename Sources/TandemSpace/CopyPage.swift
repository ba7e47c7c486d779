internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// The lines of a page.
struct CopyPage {
  let limits: SyncLimits
  private(set) var bytes: [UInt8] = []
  private var count = 0

  init(limits: SyncLimits) { self.limits = limits }

  private var isFull: Bool {
    count >= limits.maxPageChangeCount || bytes.count >= limits.maxPageByteCount
  }

  private mutating func add(_ table: SpaceStoredTable, _ values: [FieldValue]) {
    bytes += SpaceCopyLines.line([.text(table.rawValue)] + values)
    count += 1
  }

  /// Adds the rows after a place up to the limits. Returns true if there are no others.
  mutating func add(after place: inout SpaceCopyCursor, from file: SQLiteSpaceConnection) throws
    -> Bool
  {
    try add(.history, file, "version > ? ORDER BY version", [.integer(Int64(place.history))]) {
      place.history = $0[0].integerValue ?? place.history
    }
    try add(
      .changeCount, file, "(version, tab) > (?, ?) ORDER BY version, tab",
      [.integer(Int64(place.count.version)), .text(place.count.table)]
    ) { place.count = ($0[0].integerValue ?? 0, $0[1].textValue ?? "") }
    try add(
      .overruled, file, "(version, rowid) > (?, ?) ORDER BY version, rowid", and: ["rowid"],
      [.integer(Int64(place.overruled.version)), .integer(Int64(place.overruled.row))]
    ) { place.overruled = ($0[0].integerValue ?? 0, $0[5].integerValue ?? 0) }
    try add(
      .record, file, "(version, tab, key) > (?, ?, ?) ORDER BY version, tab, key",
      [
        .integer(Int64(place.record.version)), .text(place.record.table), .blob(place.record.key),
      ]
    ) { row in
      guard case .blob(let key) = row[1] else { return }
      place.record = (row[4].integerValue ?? 0, row[0].textValue ?? "", key)
    }
    while !isFull {
      let entry = try file.connection.row(
        "SELECT seq, tab, rule, key FROM touched WHERE seq > ? AND tab <> '' ORDER BY seq",
        [.integer(Int64(place.entry))])
      guard let entry, let number = entry[0].integerValue else { return true }
      try add(entry, from: file)
      place.entry = number
    }
    return false
  }

  private mutating func add(
    _ table: SpaceStoredTable, _ file: SQLiteSpaceConnection, _ condition: String,
    and others: [String] = [], _ parameters: [FieldValue], _ body: ([FieldValue]) -> Void
  ) throws {
    guard !isFull, try table.groups.allSatisfy(file.has) else { return }
    let columns = (table.columns + others).sqlList
    let sql = "SELECT \(columns) FROM \(table.rawValue) WHERE \(condition)"
    try file.connection.forEachRow(sql, parameters) { statement in
      guard !isFull else { return false }
      let row = try statement.values()
      add(table, Array(row.prefix(table.columns.count)))
      body(row)
      return true
    }
  }

  /// Adds the row that an entry of the journal names, or that it is not there any more.
  private mutating func add(_ entry: [FieldValue], from file: SQLiteSpaceConnection) throws {
    guard let name = entry[1].textValue, let table = SpaceStoredTable(rawValue: name) else {
      return
    }
    let columns = table.columns.sqlList
    let isClaim = table == .claim
    let key = isClaim ? [entry[2], entry[3]] : [entry[3]]
    let row = try file.connection.row(
      isClaim
        ? "SELECT \(columns) FROM claim WHERE rule = ? AND key = ? AND side = 2"
        : "SELECT \(columns) FROM \(table.rawValue) WHERE id = ?", key)
    add(table, row ?? key)
  }

  /// Adds all rows of a table.
  mutating func addAll(_ table: SpaceStoredTable, of file: SQLiteSpaceConnection) throws {
    guard try table.groups.allSatisfy(file.has) else { return }
    try file.forEachRow(of: table) { add(table, $0) }
  }

  mutating func addSchema(of file: SQLiteSpaceConnection) throws {
    try addAll(.space, of: file)
    try addAll(.rule, of: file)
    try addAll(.columnDefinition, of: file)
  }
}
