internal import TandemRecords
package import TandemSpace
package import TandemSync

/// A space in a PostgreSQL database. Several nodes may serve it at the same time.
///
/// The row of the space is the lock: a transaction that writes holds it from its first statement to its end, so that
/// versions have no gaps and become visible in their order. Commits that wait at the same time on one node share a
/// transaction (``TandemSpace/CommitQueue``). Nothing is kept between transactions.
package final class PostgreSQLSpaceStore: TransactionalSpaceStore {
  let database: PostgreSQLDatabase
  /// The number of the space.
  package let space: Int64
  /// The name of the space.
  package let name: String
  private let limits: SyncLimits
  private let queue = CommitQueue()

  private init(
    _ database: PostgreSQLDatabase, space: Int64, name: String, limits: SyncLimits
  ) {
    self.database = database
    self.space = space
    self.name = name
    self.limits = limits
  }

  /// Opens a space.
  ///
  /// - Parameter creates: True if a space that is missing is created, with a new history.
  /// - Returns: `nil` if it is missing.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unknownSpace` if it was deleted or renamed.
  package static func open(
    _ database: PostgreSQLDatabase, name: String, creates: Bool, limits: SyncLimits = SyncLimits()
  ) async throws -> PostgreSQLSpaceStore? {
    let space = try await database.request { connection -> Int64? in
      if let space = try number(of: name, connection) { return space }
      guard creates else { return nil }
      _ = try create(name, connection)
      return try number(of: name, connection)
    }
    return space.map { PostgreSQLSpaceStore(database, space: $0, name: name, limits: limits) }
  }

  private static func number(
    of name: String, _ connection: PostgreSQLConnection
  ) throws -> Int64? {
    let query = PostgreSQLQuery(
      "SELECT space, former FROM tandem.name WHERE name = $1", [.value(.text(name))])
    guard let row = try connection.exchange([query])[0].first, case .integer(let space) = row[0]
    else { return nil }
    if let text = row[1].textValue { throw FormerSpace(text: text).refusal(of: name) }
    return space
  }

  /// Creates a space with a new history; false if there is one of this name.
  private static func create(
    _ name: String, _ connection: PostgreSQLConnection, members: [SpaceMember] = [],
    creator: (account: String, maxCount: Int?)? = nil
  ) throws -> Bool {
    let created: Void? = try create(name, connection, members: members, creator: creator) { space in
      var generator = SystemRandomNumberGenerator()
      _ = try space.create(using: &generator)
    }
    return created != nil
  }

  /// Creates a space with a new history, and makes an account its owner.
  ///
  /// - Parameter maxCount: The number of spaces that the account may have created.
  /// - Returns: False if there is a space of this name.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unknownSpace` if it was deleted or renamed, and `overQuota` if
  ///   the account has created as many as it may.
  package static func create(
    _ database: PostgreSQLDatabase, name: String, owner: String, maxCount: Int? = nil
  ) async throws -> Bool {
    try await database.request { connection in
      guard try number(of: name, connection) == nil else { return false }
      return try create(
        name, connection, members: [SpaceMember(account: owner, role: .owner)],
        creator: (owner, maxCount))
    }
  }

  /// The name that a space was given when it was renamed; `nil` if none was.
  package static func successor(
    of name: String, _ database: PostgreSQLDatabase
  ) async throws -> String? {
    let query = PostgreSQLQuery(
      "SELECT former FROM tandem.name WHERE name = $1", [.value(.text(name))])
    guard let text = try await database.rows(query).first?.first?.textValue,
      case .renamed(let successor) = FormerSpace(text: text)
    else { return nil }
    return successor
  }

  /// Creates a space with the rows that `body` inserts, in one transaction.
  ///
  /// - Parameter former: A space of this name that was moved is replaced if it is an earlier state of this one.
  /// - Returns: `nil` if there is another space of this name. If another node creates it now, this waits until it is
  ///   there.
  private static func create<Value>(
    _ name: String, _ connection: PostgreSQLConnection, replacing former: SpacePosition? = nil,
    members: [SpaceMember], creator: (account: String, maxCount: Int?)? = nil,
    _ body: (SpaceTables) throws -> Value
  ) throws -> Value? {
    try connection.transaction([
      // A name that is free again, which only copies of a space take.
      PostgreSQLQuery(
        "DELETE FROM tandem.name WHERE name = $1 AND former IS NOT NULL\(former == nil ? " AND false" : "")",
        [.value(.text(name))]),
      PostgreSQLQuery(
        "INSERT INTO tandem.name (name) VALUES ($1) ON CONFLICT DO NOTHING RETURNING space",
        [.value(.text(name))]),
    ]) { answers -> Value? in
      let created = answers[1].first?.first?.integerValue.map { Int64($0) }
      if let space = try created ?? former.flatMap({ _ in try number(of: name, connection) }) {
        let rows = PostgreSQLSpaceConnection(continuing: connection, space: space, place: name)
        if try created != nil || former.map({ try replace(rows, $0) }) == true {
          let value = try body(SpaceTables(rows))
          if created == nil || !members.isEmpty {
            try rows.writeUnseen(PostgreSQLQuery.replaceMembers(members, in: space))
          }
          if let creator { try note(creator, of: name, rows) }
          try rows.commit()
          return value
        }
      }
      try connection.exchange([PostgreSQLQuery("ROLLBACK")])
      return nil
    }
  }

  /// Notes who created a space, while nobody else changes members.
  private static func note(
    _ creator: (account: String, maxCount: Int?), of name: String,
    _ rows: PostgreSQLSpaceConnection
  ) throws {
    let parameters = [name, creator.account].map { PostgreSQLParameter.value(.text($0)) }
    try rows.writeUnseen([
      PostgreSQLQuery("UPDATE tandem.name SET creator = $2 WHERE name = $1", parameters)
    ])
    let count = PostgreSQLQuery(
      "SELECT count(*) FROM tandem.name WHERE creator = $1 AND former IS NULL", [parameters[1]])
    let found = try rows.exchange([count])[0].first?.first?.integerValue ?? 0
    if let maxCount = creator.maxCount, found > maxCount {
      throw SyncRequestError.tooManySpaces(maxCount)
    }
  }

  /// Deletes the rows of a space that was moved, if it is an earlier state of another one.
  private static func replace(
    _ rows: PostgreSQLSpaceConnection, _ position: SpacePosition
  ) throws -> Bool {
    try rows.lock()
    guard let former = try SpaceTables(rows).position(), former.isMoved,
      former.epoch == position.epoch, former.version <= position.version
    else { return false }
    try rows.deleteAll()
    return true
  }

  /// Creates a space with the rows that `body` inserts (``TandemSpace/SpaceTables/move(to:progress:)``).
  ///
  /// - Parameters:
  ///   - position: That of the space that is moved here.
  ///   - members: Its members.
  /// - Returns: `nil` if there is a space of this name already, other than an earlier state that was moved from here.
  package static func receive<Value: Sendable>(
    _ database: PostgreSQLDatabase, name: String, _ position: SpacePosition,
    members: [SpaceMember], _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value? {
    try await database.request {
      try create(name, $0, replacing: position, members: members, body)
    }
  }

  /// The names of all spaces of a database, sorted by their bytes.
  package static func names(_ database: PostgreSQLDatabase) async throws -> [String] {
    let query = PostgreSQLQuery("SELECT name FROM tandem.name WHERE former IS NULL ORDER BY name")
    return try await database.rows(query).compactMap { $0[0].textValue }
  }

  /// The number of spaces of a database.
  package static func count(_ database: PostgreSQLDatabase) async throws -> Int {
    let query = PostgreSQLQuery("SELECT count(*) FROM tandem.name WHERE former IS NULL")
    return try await database.rows(query).first?[0].integerValue ?? 0
  }

  /// A text for each space of a database that changes with each commit.
  package static func marks(_ database: PostgreSQLDatabase) async throws -> [String: String] {
    let rows = try await database.rows(
      PostgreSQLQuery(
        """
        SELECT n.name, s.epoch, s.head FROM tandem.name n JOIN tandem.space s ON s.id = n.space
          WHERE n.former IS NULL
        """))
    return Dictionary(
      rows.compactMap { row in
        row[0].textValue.map { ($0, "\(row[1]) \(row[2])") }
      }
    ) { first, _ in first }
  }
}

// MARK: - Names

extension PostgreSQLSpaceStore {
  /// Gives the space another name. Servers that are running notice it within seconds.
  ///
  /// - Returns: False if there is a space of that name.
  package func rename(to newName: String) async throws -> Bool {
    let names = [name, newName].map { PostgreSQLParameter.value(.text($0)) }
    return try await administer { [space] rows in
      let answers = try rows.exchange([
        PostgreSQLQuery(
          "DELETE FROM tandem.name WHERE name = $1 AND former IS NOT NULL", [names[1]]),
        PostgreSQLQuery("SELECT name FROM tandem.name WHERE name = $1", [names[1]]),
      ])
      guard answers[1].isEmpty else { return false }
      try rows.writeUnseen([
        PostgreSQLQuery("UPDATE tandem.name SET name = $2 WHERE name = $1", names),
        PostgreSQLQuery("INSERT INTO tandem.name (name, former) VALUES ($1, $2)", names),
      ])
      try rows.writeUnseen(PostgreSQLQuery.noteName(of: space))
      return true
    }
  }

  /// Deletes the space with all that it has. Servers that are running notice it within seconds.
  package func delete() async throws {
    let name = PostgreSQLParameter.value(.text(name))
    try await administer { [space] rows in
      try rows.deleteAll()
      let mark = PostgreSQLParameter.value(.text(FormerSpace.deleted.text))
      try rows.writeUnseen([
        PostgreSQLQuery("UPDATE tandem.name SET former = $2 WHERE name = $1", [name, mark])
      ])
      try rows.writeUnseen(PostgreSQLQuery.replaceMembers([], in: space))
    }
  }

  /// Runs `body` in a transaction of any length that locks the space, also if it was moved.
  private func administer<Value: Sendable>(
    _ body: @escaping @Sendable (PostgreSQLSpaceConnection) throws -> Value
  ) async throws -> Value {
    try await database.request { [space, name] connection in
      let rows = PostgreSQLSpaceConnection(connection, space: space, place: name, writes: true)
      do {
        try rows.writeUnseen([PostgreSQLQuery("SET LOCAL statement_timeout = 0")])
        let value = try body(rows)
        try rows.commit()
        return value
      } catch {
        rows.rollBack()
        throw error
      }
    }
  }
}

// MARK: - Requests

extension PostgreSQLSpaceStore {
  package func commit(
    _ commit: SyncCommit, account: String?, ruling: SpaceRuling?
  ) async throws -> SyncOutcome {
    let entry = CommitQueue.Entry(commit: commit, account: account, ruling: ruling)
    let outcome = try await queue.commit(entry) { try await write($0) }
    if case .accepted(let revision, _) = outcome {
      database.hints.note(revision.version, of: space)
    }
    return outcome
  }

  @discardableResult
  package func waitForCommit(after revision: SpaceRevision) async throws -> SpaceRevision {
    // From here on, the stream has an element for each commit that the read below does not see.
    let (commits, end) = database.hints.follow(space)
    defer { end() }
    var iterator = commits.makeAsyncIterator()
    while true {
      let head = try await state().head
      guard head == revision else { return head }
      _ = await iterator.next()
      try Task.checkCancellation()
    }
  }

  private func write(
    _ entries: [CommitQueue.Entry]
  ) async throws -> [Result<SyncOutcome, any Error>] {
    do {
      return try await write { space in
        var generator = SystemRandomNumberGenerator()
        return try space.answer(entries, at: millisecondsSince1970(), using: &generator)
      }
    } catch  where entries.count > 1 && !error.isPassing {
      // The server refused a statement, so that nothing was committed. Others must not suffer from one commit.
      var results: [Result<SyncOutcome, any Error>] = []
      for entry in entries {
        do { results += try await write([entry]) } catch { results.append(.failure(error)) }
      }
      return results
    }
  }

  package func read<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    try await database.transaction(
      of: space, place: name, writes: false, limits: limits, body)
  }

  /// Locks the space until the end of the transaction.
  package func write<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    try await database.transaction(of: space, place: name, writes: true, limits: limits, body)
  }
}

extension Error {
  /// True if the server cannot answer now, or if nobody knows what it did.
  fileprivate var isPassing: Bool {
    self is CancellationError || (self as? SyncRequestError)?.code == .unavailable
  }
}
