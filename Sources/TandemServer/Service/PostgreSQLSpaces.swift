internal import Synchronization
package import TandemPostgreSQL
package import TandemSpace
package import TandemSync

/// The spaces of a PostgreSQL database, as a node serves them. Other nodes may serve the same ones.
package final class PostgreSQLSpaces: ServedSpaces {
  package let database: PostgreSQLDatabase
  private let memberships: PostgreSQLMembers
  private let maxSpaceCount: Int
  private let maxCreatedCount: Int?
  private let limits: SyncLimits
  /// The spaces that were used, and when their names were looked up: all commits of one wait in the same queue.
  private let stores = Mutex<[String: Opened]>([:])
  private typealias Opened = (store: PostgreSQLSpaceStore, lookup: ContinuousClock.Instant)
  /// The number of spaces that are kept: then all are looked up again, so that memory does not grow with spaces.
  private static let maxStoreCount = 10_000
  /// The time after which a name is looked up again, because the space may have been renamed or deleted.
  private static let lookupInterval = Duration.seconds(2)

  /// The spaces of a database.
  ///
  /// - Parameters:
  ///   - maxSpaceCount: The number of spaces beyond which none is created.
  ///   - maxCreatedCount: The number of spaces that an account may create; `nil` for any number.
  ///   - metrics: The counts of the server, which get those of the connections.
  package init(
    _ database: PostgreSQLDatabase, maxSpaceCount: Int = SpaceDirectory.defaultSpaceCount,
    maxCreatedCount: Int? = nil, limits: SyncLimits, metrics: ServerMetrics? = nil
  ) {
    self.database = database
    memberships = PostgreSQLMembers(database)
    self.maxSpaceCount = maxSpaceCount
    self.maxCreatedCount = maxCreatedCount
    self.limits = limits
    metrics?.add { Self.gauges(database.usage) }
  }

  static func gauges(
    _ usage: (connectionCount: Int, waitingCount: Int)
  ) -> [ServerMetrics.Gauge] {
    [
      ServerMetrics.Gauge(
        name: "tandem_store_connections", help: "Connections of the database in use.",
        value: usage.connectionCount),
      ServerMetrics.Gauge(
        name: "tandem_store_waiting_requests", help: "Requests that wait for a connection.",
        value: usage.waitingCount),
    ]
  }

  package func names() async throws -> [String] {
    try await PostgreSQLSpaceStore.names(database).filter { SpaceName.isValid($0) }
  }

  package func marks() async throws -> [String: String] {
    try await PostgreSQLSpaceStore.marks(database)
  }

  package var members: (any SpaceMemberships)? { memberships }

  package func create(_ name: String, owner: String) async throws -> Bool {
    guard SpaceName.isValid(name) else { throw SyncRequestError.unknownSpace(name) }
    if try await open(name, creates: false) != nil { return false }
    try await checkCount()
    return try await PostgreSQLSpaceStore.create(
      database, name: name, owner: owner, maxCount: maxCreatedCount)
  }

  package func successor(of name: String) async throws -> String? {
    try await PostgreSQLSpaceStore.successor(of: name, database)
  }

  package func rename(_ name: String, to newName: String) async throws -> Bool {
    guard SpaceName.isValid(newName) else {
      throw SyncRequestError(.malformed, "the name of a space matches \(SpaceName.pattern)")
    }
    defer { stores.withLock { $0[name] = nil } }
    return try await store(name, creates: false).rename(to: newName)
  }

  package func delete(_ name: String) async throws {
    defer { stores.withLock { $0[name] = nil } }
    try await store(name, creates: false).delete()
  }

  package func with<Result: Sendable>(
    _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
  ) async throws -> Result {
    let store = try await store(name, creates: creates)
    do {
      return try await body(store)
    } catch let error as SpaceError {
      // It may have been deleted since its name was looked up, which is what clients have to hear.
      stores.withLock { $0[name] = nil }
      _ = try await self.store(name, creates: false)
      throw error
    }
  }

  package func follow(
    _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
  ) async throws {
    try await with(name, creates: false, body)
  }

  private func store(_ name: String, creates: Bool) async throws -> PostgreSQLSpaceStore {
    // Rights of members follow a name to another space at once.
    let number = memberships.number(of: name)
    if let known = stores.withLock({ $0[name] }), number == nil || number == known.store.space,
      known.lookup + Self.lookupInterval > .now
    {
      return known.store
    }
    guard SpaceName.isValid(name) else { throw SyncRequestError.unknownSpace(name) }
    if let store = try await open(name, creates: false) { return store }
    guard creates else { throw SyncRequestError.unknownSpace(name) }
    try await checkCount()
    guard let store = try await open(name, creates: true) else {
      throw SyncRequestError.unknownSpace(name)
    }
    return store
  }

  private func checkCount() async throws {
    guard try await PostgreSQLSpaceStore.count(database) < maxSpaceCount else {
      throw SyncRequestError(
        .overLimit, "the server has \(maxSpaceCount) spaces, the most that it may create")
    }
  }

  private func open(_ name: String, creates: Bool) async throws -> PostgreSQLSpaceStore? {
    let opened = try await PostgreSQLSpaceStore.open(
      database, name: name, creates: creates, limits: limits)
    guard let opened else { return nil }
    return stores.withLock { stores in
      // Another request may have opened it before.
      let known = stores[name]?.store
      let store = known?.space == opened.space ? known ?? opened : opened
      if stores.count >= Self.maxStoreCount { stores = [:] }
      stores[name] = (store, .now)
      return store
    }
  }

  /// Ends the connections.
  package func close() async { await database.close() }
}
