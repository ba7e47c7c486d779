internal import TandemRecords
internal import TandemSpace

extension SpaceStoredTable {
  fileprivate var name: String { "tandem.\(rawValue)" }

  /// The column with the number of the space.
  fileprivate var spaceColumn: String { self == .space ? "id" : "space" }

  fileprivate var columnNames: [String] { columns.map { $0 == "of" ? "\"of\"" : $0 } }

  /// The columns of the primary key behind the number of the space.
  fileprivate var keyColumns: [String] {
    switch self {
    case .space, .usage: []
    case .record: ["tab", "key"]
    case .history: ["version"]
    case .replica, .replicaName: ["id"]
    case .overruled: ["version", "number"]
    case .changeCount: ["version", "tab"]
    case .columnDefinition, .number: ["tab"]
    case .part: ["replica", "part"]
    case .rule: ["number"]
    case .claim: ["rule", "side", "hash", "key"]
    }
  }

  /// Reads rows behind a key, or the first ones; the columns of the key follow the others.
  fileprivate func selection(continues: Bool) -> String {
    let selected = (columnNames + keyColumns).joined(separator: ", ")
    let start = "SELECT \(selected) FROM \(name) WHERE \(spaceColumn) = $1"
    let keys = keyColumns.joined(separator: ", ")
    guard !keys.isEmpty else { return start }
    let places = keyColumns.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
    let bound = continues ? " AND (\(keys)) > (\(places))" : ""
    return "\(start)\(bound) ORDER BY \(keys) LIMIT $\(continues ? keyColumns.count + 2 : 2)"
  }

  fileprivate func insertion(of rowCount: Int) -> String {
    let hash = self == .claim ? ["hash"] : []
    let names = ([spaceColumn] + hash + columnNames).joined(separator: ", ")
    let rows = (0..<rowCount).map { row in
      let places = columns.indices.map { "$\(row * columns.count + $0 + 2)" }
      let value = columns.firstIndex(of: "value").map { ["sha256(\(places[$0]))"] }
      return "(\((["$1"] + (value ?? []) + places).joined(separator: ", ")))"
    }
    return "INSERT INTO \(name) (\(names)) VALUES \(rows.joined(separator: ", "))"
  }
}

extension PostgreSQLSpaceConnection {
  /// The number of rows of one statement.
  private static let insertedRowCount = 32
  private static let (firstRowCount, maxRowCount, maxByteCount) = (64, 10_000, 4 << 20)

  func rowCount(of table: SpaceStoredTable) throws -> Int {
    let text = "SELECT count(*) FROM \(table.name) WHERE \(table.spaceColumn) = $1"
    return try exchange([query(text, [])])[0].first?.first?.integerValue ?? 0
  }

  func forEachRow(of table: SpaceStoredTable, _ body: ([FieldValue]) throws -> Void) throws {
    var (key, rowCount): ([FieldValue], Int) = ([], Self.firstRowCount)
    while true {
      let parameters = table.keyColumns.isEmpty ? [] : key + [.integer(Int64(rowCount))]
      let text = table.selection(continues: !key.isEmpty)
      let rows = try exchange([query(text, parameters.map { .value($0) })])[0]
      var byteCount = 0
      for row in rows {
        try body(Array(row.prefix(table.columns.count)))
        byteCount += row.reduce(0) { $0 + $1.byteCount }
      }
      guard let last = rows.last, !table.keyColumns.isEmpty, rows.count == rowCount else { return }
      key = Array(last.suffix(table.keyColumns.count))
      let length = max(1, byteCount / rows.count)
      rowCount = max(1, min(Self.maxRowCount, Self.maxByteCount / length))
    }
  }

  func insert(_ rows: [[FieldValue]], into table: SpaceStoredTable) throws {
    var queries: [PostgreSQLQuery] = []
    var rest = rows[...]
    while let row = rest.first {
      let count = rest.count >= Self.insertedRowCount ? Self.insertedRowCount : 1
      let values = count == 1 ? row : Array(rest.prefix(count).joined())
      queries.append(query(table.insertion(of: count), values.map { .value($0) }))
      rest = rest.dropFirst(count)
    }
    try writeUnseen(queries)
  }

  /// Locks the space until the end of the transaction.
  func lock() throws {
    try writeUnseen([query("SELECT id FROM tandem.space WHERE id = $1 FOR UPDATE", [])])
  }

  /// Deletes the rows of the space, all but its name.
  func deleteAll() throws {
    try writeUnseen(
      SpaceStoredTable.allCases.map { table in
        query("DELETE FROM \(table.name) WHERE \(table.spaceColumn) = $1", [])
      })
  }

  func prepareCopy() throws {
    // The server waits while the other place is checked and made durable.
    try writeUnseen([PostgreSQLQuery("SET LOCAL idle_in_transaction_session_timeout = 0")])
  }
}
