internal import TandemRecords
internal import TandemSQLite
internal import TandemSync

/// What a leader sends to the servers that follow it: the rows of a space as they are stored, in pages.
///
/// Rows of the history and of records carry the version that wrote them. Rows of replicas, their names, and the values
/// that commits have stated for unique indexes do not; their keys are in the journal of the file
/// (``SQLiteSpaceConnection``). The declarations are few: they are sent as a whole when they have changed. Parts of
/// commits that are under way are not sent, nor what can be computed: claims and usage.
extension SpaceTables {
  /// A page of the rows that were written after a position, or of all.
  ///
  /// The rows of all pages, in this order, give the state at the position of the last one: later rows replace earlier ones.
  ///
  /// - Parameter cursor: The one of the page before.
  /// - Returns: `nil` if the file has no journal yet (``makeJournal(using:)``).
  /// - Throws: ``TandemSync/SyncRequestError`` with code `malformed` for a cursor that no page had, and with `unauthorized`
  ///   for a space in a database.
  package func copyPage(
    since: SpaceCopyPosition?, cursor: String?
  ) throws -> SpaceCopyAnswer? {
    let file = try file()
    let state = try state()
    if let since, let gone = try gone(since.head, state) { return .gone(gone) }
    guard let journal = try file.journal() else { return nil }
    // The file is an older one than that which the copy was made of.
    if let since, since.journal == journal.id, since.entry > journal.last {
      return .gone(.history)
    }
    var place = CopyPlace(
      anchor: since?.head ?? state.head, since: since?.head.version,
      entry: since?.journal == journal.id ? since?.entry ?? 0 : 0)
    if let cursor {
      guard let given = CopyPlace(cursor) else {
        throw SyncRequestError(
          .malformed, "the cursor is not that of a page of this request; start again")
      }
      place = given
      if let gone = try gone(place.anchor, state) { return .gone(gone) }
    }
    var page = CopyPage(limits: limits)
    let isLast = try page.add(after: &place, from: file)
    let schema = try file.schemaSum()
    if isLast {
      if schema != since?.schema { try page.addSchema(of: file) }
      try page.addAll(.number, of: file)
    }
    let header = SpaceCopyHeader(
      position: SpaceCopyPosition(
        head: state.head, journal: journal.id, entry: place.entry, schema: schema),
      horizon: state.horizon, next: isLast ? nil : place.description)
    return .page(SpaceCopyLines.line(header.values) + page.bytes)
  }

  /// Makes the journal of the file, unless there is one.
  package func makeJournal(using generator: inout some RandomNumberGenerator) throws {
    try file().makeJournal(SyncToken.random(using: &generator))
  }

  func file() throws(SyncRequestError) -> SQLiteSpaceConnection {
    guard let file = connection as? SQLiteSpaceConnection else {
      throw SyncRequestError(
        .unauthorized, "the spaces of this server are in a database, which has standbys of its own")
    }
    return file
  }
}

extension SQLiteSpaceStore {
  /// A page of the rows that were written after a position (``SpaceTables/copyPage(since:cursor:)``).
  package func copyPage(
    since: SpaceCopyPosition?, cursor: String?
  ) async throws -> SpaceCopyAnswer {
    if let answer = try await read({ try $0.copyPage(since: since, cursor: cursor) }) {
      return answer
    }
    try await write { space in
      var generator = SystemRandomNumberGenerator()
      try space.makeJournal(using: &generator)
    }
    guard let answer = try await read({ try $0.copyPage(since: since, cursor: cursor) }) else {
      throw SyncRequestError(.unavailable, "the journal of the space is missing; try again")
    }
    return answer
  }
}

extension SpaceCopyHeader {
  /// True if there is a next page, and its place is after that of the page that a cursor was for. So the pages end.
  package func isBeyond(_ cursor: String?) -> Bool {
    guard let next = next.flatMap({ CopyPlace($0) }) else { return false }
    guard let cursor else { return true }
    return CopyPlace(cursor).map(next.isBeyond) ?? false
  }
}

/// The last row of each kind that the pages before had.
private struct CopyPlace: CustomStringConvertible {
  /// The state that the first page was read at, or follows.
  let anchor: SpaceRevision
  var history: Int
  var count: (version: Int, table: String)
  var overruled: (version: Int, row: Int)
  var record: (version: Int, table: String, key: [UInt8])
  var entry: Int

  /// Before the rows that were written after a version, or before all.
  init(anchor: SpaceRevision, since: Int?, entry: Int) {
    let version = since ?? -1
    self.anchor = anchor
    history = version
    // No table has an empty name, no record an empty key.
    count = (version + 1, "")
    overruled = (version + 1, 0)
    record = (version + 1, "", [])
    self.entry = entry
  }

  /// Reads the form of ``description``; `nil` for any other text.
  init?(_ text: String) {
    let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    guard digits.count == text.utf8.count, digits.count % 2 == 0,
      let values = try? SpaceCopyLines.values(
        stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }),
      values.count == 10, let anchor = values[0].textValue.flatMap({ SpaceRevision($0) }),
      let history = values[1].integerValue, let countVersion = values[2].integerValue,
      let countTable = values[3].textValue, let overruledVersion = values[4].integerValue,
      let overruledRow = values[5].integerValue, let recordVersion = values[6].integerValue,
      let recordTable = values[7].textValue, case .blob(let key) = values[8],
      let entry = values[9].integerValue
    else { return nil }
    self.anchor = anchor
    self.history = history
    count = (countVersion, countTable)
    overruled = (overruledVersion, overruledRow)
    record = (recordVersion, recordTable, key)
    self.entry = entry
  }

  var description: String {
    let values: [FieldValue] = [
      .text(anchor.description), .integer(Int64(history)), .integer(Int64(count.version)),
      .text(count.table), .integer(Int64(overruled.version)), .integer(Int64(overruled.row)),
      .integer(Int64(record.version)), .text(record.table), .blob(record.key),
      .integer(Int64(entry)),
    ]
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: SyncMessageWriter.bytes(id: values).flatMap {
        [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]]
      }, as: UTF8.self)
  }
}

// MARK: - The order of places

extension CopyPlace {
  /// A place among the rows of one kind.
  private typealias Place = (version: Int, row: Int, table: [UInt8], key: [UInt8])

  private var places: [Place] {
    [
      (history, 0, [], []), (count.version, 0, Array(count.table.utf8), []),
      (overruled.version, overruled.row, [], []),
      (record.version, 0, Array(record.table.utf8), record.key), (entry, 0, [], []),
    ]
  }

  /// True if this place is after another one among the rows of some kind, and before it among those of none.
  func isBeyond(_ other: CopyPlace) -> Bool {
    let pairs = Array(zip(places, other.places))
    return pairs.contains { pair in Self.isBefore(pair.1, pair.0) }
      && !pairs.contains { pair in Self.isBefore(pair.0, pair.1) }
  }

  /// The order of the statements that read the rows: texts are compared by their bytes.
  private static func isBefore(_ one: Place, _ other: Place) -> Bool {
    if one.version != other.version { return one.version < other.version }
    if one.row != other.row { return one.row < other.row }
    if one.table != other.table { return one.table.lexicographicallyPrecedes(other.table) }
    return one.key.lexicographicallyPrecedes(other.key)
  }
}

/// The lines of a page.
private struct CopyPage {
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
  mutating func add(after place: inout CopyPlace, from file: SQLiteSpaceConnection) throws -> Bool {
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

extension SQLiteSpaceConnection {
  /// The sum of the declarations.
  fileprivate func schemaSum() throws -> RecordDigest {
    var sum = RecordDigest.empty
    let hasher = RecordHasher()
    let noFields = Record(uncheckedLayout: RecordLayout(uniqueNames: []), values: [])
    func add(_ table: SpaceStoredTable, _ row: [FieldValue]) {
      sum.add(SyncKey(table: table.rawValue, id: row), noFields, by: hasher)
    }
    if let row = try connection.row("SELECT tables FROM space") { add(.space, row) }
    for table in [SpaceStoredTable.rule, .columnDefinition]
    where try table.groups.allSatisfy(has) {
      try forEachRow(of: table) { add(table, $0) }
    }
    return sum
  }
}
