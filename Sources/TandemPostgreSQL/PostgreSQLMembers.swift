internal import Synchronization
internal import TandemRecords
package import TandemSpace
internal import TandemSync

/// The members of the spaces of a PostgreSQL database, as a node knows them.
///
/// Each change has a number, and what changed has the number of its last change, so that a node reads only that. A
/// member that was removed stays without a role. The row of `tandem.meta` is the lock: numbers become visible in their
/// order.
package final class PostgreSQLMembers: SpaceMemberships {
  fileprivate struct State {
    /// The number of the last change that is known.
    var version: Int64 = 0
    var roles: [String: [Int64: SpaceRole]] = [:]
    /// The names of the spaces that have or had members, and their numbers.
    var names: [Int64: String] = [:]
    var spaces: [String: Int64] = [:]
  }

  private let database: PostgreSQLDatabase
  private let state = Mutex(State())

  /// The members, of which none is known before ``refresh()``.
  package init(_ database: PostgreSQLDatabase) { self.database = database }

  package func refresh() async throws {
    let known = state.withLock { $0.version }
    var changes = try await database.memberChanges(after: known)
    let isOlder = changes.version < known
    // The database was restored from a backup.
    if isOlder { changes = try await database.memberChanges(after: 0) }
    state.withLock { state in
      if isOlder { state = State() }
      // Another task may have read more meanwhile.
      guard changes.version > state.version else { return }
      state.version = changes.version
      for change in changes.members { state.apply(change) }
    }
  }

  package func role(of account: String, in space: String) -> SpaceRole? {
    state.withLock { state in state.spaces[space].flatMap { state.roles[account]?[$0] } }
  }

  /// The number of the space of a name; `nil` if no space of this name has or had members.
  package func number(of space: String) -> Int64? { state.withLock { $0.spaces[space] } }

  package func roles(of account: String) -> [String: SpaceRole] {
    state.withLock { state in
      var roles: [String: SpaceRole] = [:]
      for (space, role) in state.roles[account] ?? [:] {
        if let name = state.names[space] { roles[name] = role }
      }
      return roles
    }
  }

  package func members(of space: String) async throws -> [SpaceMember] {
    try await database.members(of: space)
  }

  package func change(
    _ change: SpaceMemberChange, in space: String
  ) async throws -> [SpaceMember] {
    try await database.changeMembers(of: space, change)
  }
}

extension PostgreSQLMembers.State {
  fileprivate mutating func apply(_ change: StoredMember) {
    if let former = names[change.space], former != change.name {
      names[change.space] = nil
      if spaces[former] == change.space { spaces[former] = nil }
    }
    if let name = change.name {
      names[change.space] = name
      spaces[name] = change.space
    }
    // The roles in a space without a name are those in a space that was deleted.
    roles[change.account, default: [:]][change.space] = change.name == nil ? nil : change.role
    if roles[change.account]?.isEmpty == true { roles[change.account] = nil }
  }
}

/// A member of a space as the database keeps it.
struct StoredMember: Sendable {
  /// The number and the name of the space; without a name, it was deleted.
  let space: Int64
  let name: String?
  let account: String
  /// `nil` if the member was removed.
  let role: SpaceRole?
}

// MARK: - Statements

extension PostgreSQLDatabase {
  /// The members that have changed since the change of a number, and the number of the last change.
  func memberChanges(
    after version: Int64
  ) async throws -> (version: Int64, members: [StoredMember]) {
    let rows = try await rows(.memberChanges(after: version))
    guard case .integer(let newest)? = rows.first?.first else { throw PostgreSQLError.damaged }
    let members = rows.compactMap { row -> StoredMember? in
      guard case .integer(let space) = row[1], let account = row[3].textValue else { return nil }
      return StoredMember(
        space: space, name: row[2].textValue, account: account,
        role: row[4].textValue.flatMap { SpaceRole(rawValue: $0) })
    }
    return (newest, members)
  }

  /// The members of a space, sorted by the bytes of their accounts.
  package func members(of name: String) async throws -> [SpaceMember] {
    try await rows(.members(of: name)).compactMap { SpaceMember($0) }
  }

  /// Changes the members of a space while nobody else does. All nodes see it from then on.
  ///
  /// - Returns: The members after the change.
  func changeMembers(
    of name: String, _ change: SpaceMemberChange
  ) async throws -> [SpaceMember] {
    let space = PostgreSQLQuery(
      "SELECT space FROM tandem.name WHERE name = $1 AND former IS NULL", [.value(.text(name))])
    return try await request { connection in
      try connection.transaction([.noteMemberChange, space, .members(of: name)]) { answers in
        guard case .integer(let space)? = answers[1].first?.first else {
          throw SyncRequestError(
            .unknownSpace, "there is no space \(name); it may have been deleted or renamed")
        }
        let old = answers[2].compactMap { SpaceMember($0) }
        let new = try change.applied(to: old)
        if new != old {
          try connection.exchange([
            .setMember(change.account, to: change.role, in: space), PostgreSQLQuery("COMMIT"),
          ])
        } else {
          try connection.exchange([PostgreSQLQuery("ROLLBACK")])
        }
        return new
      }
    }
  }
}

extension PostgreSQLSpaceStore {
  /// The members of the space, sorted by the bytes of their accounts.
  package func members() async throws -> [SpaceMember] { try await database.members(of: name) }
}

extension PostgreSQLQuery {
  fileprivate static func memberChanges(after version: Int64) -> PostgreSQLQuery {
    PostgreSQLQuery(
      """
      SELECT meta.members, member.space, name.name, member.account, member.role
        FROM tandem.meta LEFT JOIN tandem.member ON member.change > $1
        LEFT JOIN tandem.name ON name.space = member.space AND name.former IS NULL
      """, [.value(.integer(version))])
  }

  fileprivate static func members(of name: String) -> PostgreSQLQuery {
    PostgreSQLQuery(
      """
      SELECT account, role FROM tandem.member WHERE role IS NOT NULL
        AND space = (SELECT space FROM tandem.name WHERE name = $1 AND former IS NULL)
        ORDER BY account
      """, [.value(.text(name))])
  }

  /// Gives a change its number, and locks the members until the end of the transaction.
  fileprivate static let noteMemberChange = PostgreSQLQuery(
    "UPDATE tandem.meta SET members = members + 1")

  fileprivate static func setMember(
    _ account: String, to role: SpaceRole?, in space: Int64
  ) -> PostgreSQLQuery {
    PostgreSQLQuery(
      """
      INSERT INTO tandem.member (space, account, role, change)
        SELECT $1::bigint, $2::text, $3::text, members FROM tandem.meta
        ON CONFLICT (space, account) DO UPDATE
          SET role = excluded.role, change = excluded.change
      """,
      [
        .value(.integer(space)), .value(.text(account)),
        .value(role.map { .text($0.rawValue) } ?? .null),
      ])
  }

  /// Tells all nodes that the name of a space has changed.
  static func noteName(of space: Int64) -> [PostgreSQLQuery] {
    [
      noteMemberChange,
      PostgreSQLQuery(
        """
        UPDATE tandem.member SET change = (SELECT members FROM tandem.meta) WHERE space = $1
        """, [.value(.integer(space))]),
    ]
  }

  /// Replaces all members of a space.
  static func replaceMembers(
    _ members: [SpaceMember], in space: Int64
  ) -> [PostgreSQLQuery] {
    [
      noteMemberChange,
      PostgreSQLQuery(
        """
        UPDATE tandem.member SET role = NULL, change = (SELECT members FROM tandem.meta)
          WHERE space = $1
        """, [.value(.integer(space))]),
    ] + members.map { setMember($0.account, to: $0.role, in: space) }
  }
}
