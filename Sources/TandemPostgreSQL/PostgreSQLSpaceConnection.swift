internal import TandemRecords
internal import TandemSpace

/// The rows of one space, in a transaction on a connection.
///
/// A round trip to the server takes longer than a statement on it. So writes wait until the next read, or until the
/// end, and travel with it. Rows that are announced (``expect(_:)``) are read by one statement for all of their kind.
/// What was read is known until the end of the transaction, because the row of the space is its lock; writes of this
/// transaction change what is known. A batch of commits takes two round trips, and one or two more for each commit with
/// constraints.
final class PostgreSQLSpaceConnection {
  /// The number of writes that wait at most.
  private static let maxWriteCount = 5_000
  /// The number of bytes of rows that one read should not exceed, and of rows that the first one of a scan returns.
  private static let maxReadByteCount = 4 << 20
  private static let firstRowCount = 64

  let place: String
  private let space: Int64
  private let connection: PostgreSQLConnection
  private(set) var isInTransaction = true
  private var writes: [PostgreSQLQuery]
  /// The rows of lookups that writes keep up to date.
  private var known: [SpaceLookup: [[FieldValue]]] = [:]
  /// The rows of lookups that hold until the next write.
  private var passing: [SpaceLookup: [[FieldValue]]] = [:]
  /// The mark and the digest of the version that was inserted last.
  private var newest: (version: FieldValue, mark: FieldValue, digest: FieldValue)?
  /// The place among the writes of the savepoint that the server does not have yet; `nil` outside of one, and if the
  /// server has it.
  private var firstOfSavepoint: Int?

  /// Begins a transaction, which locks the space if it writes.
  init(_ connection: PostgreSQLConnection, space: Int64, place: String, writes: Bool) {
    self.connection = connection
    self.space = space
    self.place = place
    self.writes =
      writes
      ? connection.begin("READ COMMITTED READ WRITE") + [
        PostgreSQLQuery(
          "SELECT id FROM tandem.space WHERE id = $1 FOR UPDATE", [.value(.integer(space))])
      ] : connection.begin("REPEATABLE READ READ ONLY")
  }

  /// Continues a transaction that is open, in which the space is made.
  init(continuing connection: PostgreSQLConnection, space: Int64, place: String) {
    self.connection = connection
    self.space = space
    self.place = place
    writes = []
  }

  /// Ends the transaction, and makes its writes durable.
  ///
  /// - Throws: ``PostgreSQLError`` with code `lost` if nobody knows whether it was committed.
  func commit() throws(PostgreSQLError) {
    let answers = try exchange([PostgreSQLQuery("COMMIT")])
    isInTransaction = false
    guard answers[0] == [[.text("COMMIT")]] else {
      throw PostgreSQLError(.statement("25P02"), "the transaction was rolled back")
    }
  }

  /// Ends the transaction without its writes.
  func rollBack() {
    writes = []
    isInTransaction = false
    guard !connection.isLost else { return }
    _ = try? connection.exchange([PostgreSQLQuery("ROLLBACK")])
  }

  func query(_ text: String, _ parameters: [PostgreSQLParameter]) -> PostgreSQLQuery {
    PostgreSQLQuery(text, [.value(.integer(space))] + parameters)
  }

  private func query(_ statement: SpaceStatement, _ parameters: [FieldValue]) -> PostgreSQLQuery {
    query(statement.postgreSQLText, parameters.map { .value($0) })
  }

  /// Runs the writes that wait, and then reads.
  func exchange(
    _ reads: [PostgreSQLQuery]
  ) throws(PostgreSQLError) -> [[[FieldValue]]] {
    var queries = writes
    if let place = firstOfSavepoint {
      queries.insert(PostgreSQLQuery("SAVEPOINT tandem"), at: place)
      firstOfSavepoint = nil
    }
    writes = []
    do {
      return Array(try connection.exchange(queries + reads).suffix(reads.count))
    } catch {
      isInTransaction = false
      throw error
    }
  }
}

// MARK: - Reading

extension PostgreSQLSpaceConnection: SpaceConnection {
  var readsAhead: Bool { true }

  func row(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws -> [FieldValue]? {
    try found(statement, parameters).first
  }

  func forEachRow(
    _ statement: SpaceStatement, _ parameters: [FieldValue],
    _ body: ([FieldValue]) throws -> Bool
  ) throws {
    switch statement {
    case .changes: try scan(statement, parameters, place: 0..<3, of: 5, body)
    case .holders where passing[SpaceLookup(statement, parameters)] == nil:
      try scan(statement, parameters + [.blob([])], place: 4..<5, of: 2, body)
    case .liveRecords:
      try scan(statement, parameters + [.blob([])], place: 1..<2, column: 2, of: 2, body)
    default: for row in try found(statement, parameters) where try !body(row) { return }
    }
  }

  /// Reads rows in several steps, because most callers need only the first ones.
  ///
  /// - Parameters:
  ///   - place: The parameters that say after which row to begin.
  ///   - column: The first of the columns that have the place of a row.
  ///   - count: The number of columns that `body` sees.
  private func scan(
    _ statement: SpaceStatement, _ parameters: [FieldValue], place: Range<Int>, column: Int = 0,
    of count: Int, _ body: ([FieldValue]) throws -> Bool
  ) throws {
    var parameters = parameters
    var rowCount = Self.firstRowCount
    while true {
      let rows = try exchange([query(statement, parameters + [.integer(Int64(rowCount))])])[0]
      var byteCount = 0
      for row in rows {
        guard try body(Array(row.prefix(count))) else { return }
        byteCount += row.reduce(0) { $0 + $1.byteCount }
      }
      guard rows.count == rowCount, let last = rows.last else { return }
      parameters.replaceSubrange(place, with: last[column..<column + place.count])
      rowCount = max(1, min(10_000, Self.maxReadByteCount / max(1, byteCount / rows.count)))
    }
  }

  private func found(
    _ statement: SpaceStatement, _ parameters: [FieldValue]
  ) throws -> [[FieldValue]] {
    if case .recordVersions = statement {
      // The record is known, or will be needed.
      return try found(.record, parameters).map { row in
        [row[1], .integer(row[0].isNull ? 0 : 1), row[2]]
      }
    }
    let lookup = SpaceLookup(statement, parameters)
    if let rows = known[lookup] ?? passing[lookup] { return rows }
    let rows = try exchange([query(statement, parameters)])[0]
    switch statement {
    case .state, .mark, .revisionOfCommit, .replica, .record, .rulesOfTable, .ownRules, .rules,
      .numbers, .usage:
      known[lookup] = rows
    default: break
    }
    return rows
  }

  func byteCount() -> Int64? {
    // The server keeps the rows of all spaces in the same files.
    nil
  }
}

// MARK: - Reading ahead

extension PostgreSQLSpaceConnection {
  func expect(_ lookups: [SpaceLookup]) throws {
    var wanted: [SpaceStatement: [SpaceLookup]] = [:]
    var seen: Set<SpaceLookup> = []
    for lookup in lookups {
      // A version of a record is read with the record.
      let lookup =
        lookup.statement == .recordVersions ? SpaceLookup(.record, lookup.parameters) : lookup
      guard known[lookup] == nil, passing[lookup] == nil, seen.insert(lookup).inserted else {
        continue
      }
      wanted[lookup.statement, default: []].append(lookup)
    }
    let groups = wanted.sorted { $0.key.rawValue < $1.key.rawValue }.map { Group($0, $1) }
    guard !groups.isEmpty else { return }
    let answers = try exchange(groups.map { query($0.text, $0.parameters) })
    for (group, rows) in zip(groups, answers) { take(rows, of: group) }
  }

  /// Lookups of one kind, and the statement that reads all of them.
  private struct Group {
    let lookups: [SpaceLookup]
    let text: String
    let parameters: [PostgreSQLParameter]
    /// The number of the first columns that say which lookup a row belongs to.
    let keyCount: Int
    /// True for lookups whose first column is the number of the lookup, from 1 on.
    var isNumbered = false

    init(_ statement: SpaceStatement, _ lookups: [SpaceLookup]) {
      self.lookups = lookups
      func integers(_ place: Int) -> PostgreSQLParameter {
        .integers(
          lookups.map { if case .integer(let number) = $0.parameters[place] { number } else { 0 } })
      }
      func texts(_ place: Int) -> PostgreSQLParameter {
        .texts(
          lookups.map { if case .text(let text) = $0.parameters[place] { text } else { "" } })
      }
      func blobs(_ place: Int) -> PostgreSQLParameter {
        .blobs(
          lookups.map { if case .blob(let blob) = $0.parameters[place] { blob } else { [] } })
      }
      switch statement {
      case .replica:
        (text, parameters, keyCount) = (PostgreSQLLookup.replicas, [texts(0)], 1)
      case .revisionOfCommit:
        (text, parameters, keyCount) = (PostgreSQLLookup.commits, [texts(0)], 1)
      case .mark: (text, parameters, keyCount) = (PostgreSQLLookup.marks, [integers(0)], 1)
      case .record:
        (text, parameters, keyCount) = (PostgreSQLLookup.records, [texts(0), blobs(1)], 2)
      case .statedClaim:
        (text, parameters, keyCount) = (PostgreSQLLookup.statedClaims, [integers(0), blobs(1)], 2)
      case .holders:
        (text, parameters, keyCount) = (
          PostgreSQLLookup.holders, [integers(0), integers(1), blobs(2), texts(3)], 1
        )
        isNumbered = true
      default:
        precondition(lookups.count == 1, "a statement that is announced once reads one lookup")
        text = statement.postgreSQLText
        parameters = lookups[0].parameters.map { .value($0) }
        keyCount = 0
      }
    }
  }

  private func take(_ rows: [[FieldValue]], of group: Group) {
    var found: [SpaceLookup: [[FieldValue]]] = [:]
    // What has no rows is known, too.
    for lookup in group.lookups { found[lookup] = [] }
    for row in rows {
      let lookup: SpaceLookup
      if group.isNumbered, case .integer(let number) = row[0] {
        lookup = group.lookups[Int(number) - 1]
      } else {
        lookup = SpaceLookup(
          group.lookups[0].statement,
          group.keyCount == 0
            ? group.lookups[0].parameters : Array(row.prefix(group.keyCount)))
      }
      found[lookup]?.append(Array(row.dropFirst(group.keyCount)))
    }
    switch group.lookups[0].statement {
    case .holders:
      // If there are more, those that are needed are read later.
      passing.merge(found.filter { $0.value.count <= PostgreSQLLookup.maxHolderCount }) { $1 }
    case .statedClaim: passing.merge(found) { $1 }
    default: known.merge(found) { $1 }
    }
  }
}

// MARK: - Writing

extension PostgreSQLSpaceConnection {
  func run(_ statement: SpaceStatement, _ parameters: [FieldValue]) throws {
    writes.append(query(statement, parameters))
    passing = [:]
    learn(statement, parameters)
    if writes.count >= Self.maxWriteCount { _ = try exchange([]) }
  }

  /// Runs writes that nothing is learned from.
  func writeUnseen(_ queries: [PostgreSQLQuery]) throws {
    (known, passing, newest) = ([:], [:], nil)
    writes += queries
    _ = try exchange([])
  }

  /// Changes what is known by a write.
  private func learn(_ statement: SpaceStatement, _ parameters: [FieldValue]) {
    func set(_ statement: SpaceStatement, _ key: [FieldValue], _ row: [FieldValue]) {
      known[SpaceLookup(statement, key)] = [row]
    }
    let state = SpaceLookup(.state, [])
    switch statement {
    case .insertRecord, .updateRecord:
      set(.record, Array(parameters[0..<2]), Array(parameters[2..<6]))
    case .insertHistory:
      newest = (parameters[0], parameters[1], parameters[2])
      set(.mark, [parameters[0]], [parameters[1]])
      set(.revisionOfCommit, [parameters[3]], [parameters[0], parameters[1]])
    case .setHead:
      if let newest, newest.version == parameters[0], let row = known[state]?.first {
        known[state] = [
          [row[0], parameters[0], row[2], row[3], newest.mark, newest.digest]
        ]
      } else {
        known[state] = nil
      }
    case .storeReplica:
      let key = SpaceLookup(.replica, [parameters[0]])
      guard let rows = known[key] else { return }
      let account = rows.first.flatMap { $0[0].isNull ? nil : $0[0] } ?? parameters[1]
      known[key] = [[account] + parameters[2...]]
    case .setUsage: set(.usage, [], parameters)
    case .insertClaim, .deleteClaim, .insertOverruled, .storeCount, .dropParts, .dropOldParts,
      .storePart:
      // Nothing that is known says anything of these rows.
      break
    default:
      // Seldom, and outside of batches: what is needed is read again.
      known = [:]
      newest = nil
    }
  }

  func savepoint<Value>(_ body: () throws -> Value) throws -> Value {
    let former = writes.count
    firstOfSavepoint = former
    defer { firstOfSavepoint = nil }
    do {
      let value = try body()
      // Most commits end before the server has heard of a savepoint: their writes still wait.
      if firstOfSavepoint == nil { writes.append(PostgreSQLQuery("RELEASE SAVEPOINT tandem")) }
      return value
    } catch {
      guard isInTransaction else { throw error }
      if firstOfSavepoint != nil {
        writes.removeSubrange(former...)
      } else {
        // The writes since the last exchange belong to the savepoint.
        writes = [
          PostgreSQLQuery("ROLLBACK TO SAVEPOINT tandem"),
          PostgreSQLQuery("RELEASE SAVEPOINT tandem"),
        ]
      }
      (known, passing, newest) = ([:], [:], nil)
      throw error
    }
  }
}

// MARK: - The tables

extension PostgreSQLSpaceConnection {
  /// The tables of all spaces are there; this one is not, if it has no row.
  func createTables() throws -> Bool { try found(.state, []).isEmpty }

  func check(allowsEmptyFile: Bool) throws {}

  func has(_ group: SpaceTableGroup) -> Bool { true }

  func make(_ group: SpaceTableGroup) {}
}
