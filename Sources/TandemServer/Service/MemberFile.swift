internal import Synchronization
internal import SystemLibrary
internal import TandemRecords
internal import TandemSQLite
package import TandemSpace
internal import TandemSync

/// The members of the spaces in a directory, in the SQLite file `members.sqlite` beside them. Other programs may change
/// it at any time. It is made when the first space gets a member. It has no write-ahead log, so that a copy of it is
/// complete.
///
/// Members of a name without a space have no effect, and are removed when a space of that name is created.
///
/// Unchecked: the lock guards the connection.
package final class MemberFile: SpaceMemberships, @unchecked Sendable {
  private static let name = "members.sqlite"
  private static let format: Int64 = 1

  private let path: String
  private let lock = Mutex(())
  private var connection: DatabaseConnection?
  /// The tags of the members of spaces, and which changes by other programs they have. Never locked within ``lock``.
  private let known = Mutex<(version: Int64?, tags: [String: String])>((nil, [:]))

  /// The file in a directory.
  package init(in directory: String) { path = "\(directory)/\(Self.name)" }

  package func refresh() {}

  package func role(of account: String, in space: String) throws -> SpaceRole? {
    try with(creates: false) { connection in
      try connection.row(
        "SELECT role FROM member WHERE account = ? AND space = ?", [.text(account), .text(space)]
      ).flatMap { $0[0].textValue }.flatMap { SpaceRole(rawValue: $0) }
    } ?? nil
  }

  package func roles(of account: String) throws -> [String: SpaceRole] {
    let rows = try with(creates: false) { connection in
      try connection.rows("SELECT space, role FROM member WHERE account = ?", [.text(account)])
    }
    var roles: [String: SpaceRole] = [:]
    for row in rows ?? [] {
      if let space = row[0].textValue {
        roles[space] = row[1].textValue.flatMap { SpaceRole(rawValue: $0) }
      }
    }
    return roles
  }

  package func members(of space: String) throws -> [SpaceMember] {
    try with(creates: false) { try Self.members(of: space, $0) } ?? []
  }

  /// A tag of the members of each space (``TandemSpace/SpaceMember``), for servers that follow. The members of a space are
  /// read again only after this object has changed them, and those of all spaces after another program has changed the file.
  func tags(of spaces: [String]) throws -> [String: String] {
    try known.withLock { known in
      let version = try with(creates: false) { try $0.integer("PRAGMA data_version") } ?? nil
      let former = known.version == version ? known.tags : [:]
      var tags: [String: String] = [:]
      for space in spaces {
        tags[space] = try former[space] ?? SpaceMember.tag(of: members(of: space))
      }
      known = (version, tags)
      return tags
    }
  }

  package func change(
    _ change: SpaceMemberChange, in space: String
  ) throws -> [SpaceMember] {
    try write([space], creates: true) { connection in
      let old = try Self.members(of: space, connection)
      let new = try change.applied(to: old)
      if new != old { try Self.replace(new, of: space, connection) }
      return new
    } ?? []
  }

  /// Replaces all members of a space, which was imported or deleted.
  package func replace(_ members: [SpaceMember], of space: String) throws {
    _ = try write([space], creates: !members.isEmpty) { connection in
      try connection.run("DELETE FROM creation WHERE space = ?", [.text(space)])
      try Self.replace(members, of: space, connection)
    }
  }

  /// Gives a new space an owner.
  ///
  /// - Parameter maxCount: The number of spaces that the account may have created.
  /// - Throws: `SyncRequestError` with code `overQuota`.
  func create(_ space: String, owner account: String, maxCount: Int?) throws {
    _ = try write([space], creates: true) { connection in
      let count = try connection.integer(
        "SELECT count(*) FROM creation WHERE account = ? AND space <> ?", .text(account),
        .text(space))
      if let maxCount, count ?? 0 >= maxCount { throw SyncRequestError.tooManySpaces(maxCount) }
      try connection.run(
        "INSERT OR REPLACE INTO creation (space, account) VALUES (?, ?)",
        [.text(space), .text(account)])
      try Self.replace([SpaceMember(account: account, role: .owner)], of: space, connection)
    }
  }

  /// Gives a space another name, at which there may be leftovers.
  ///
  /// - Parameter body: Renames the space. After a crash meanwhile, both names have the members.
  package func rename(_ space: String, to name: String, _ body: () throws -> Void) throws {
    try replace([], of: name)
    _ = try write([name], creates: false) { connection in
      for statement in [
        "INSERT INTO creation (space, account) SELECT ?2, account FROM creation WHERE space = ?1",
        "INSERT INTO member (space, account, role) SELECT ?2, account, role FROM member WHERE space = ?1",
      ] { try connection.run(statement, [.text(space), .text(name)]) }
    }
    try body()
    try replace([], of: space)
  }

  private static func members(
    of space: String, _ connection: DatabaseConnection
  ) throws -> [SpaceMember] {
    try connection.rows(
      "SELECT account, role FROM member WHERE space = ? ORDER BY account", [.text(space)]
    ).compactMap { SpaceMember($0) }
  }

  private static func replace(
    _ members: [SpaceMember], of space: String, _ connection: DatabaseConnection
  ) throws {
    try connection.run("DELETE FROM member WHERE space = ?", [.text(space)])
    for member in members {
      try connection.run(
        "INSERT INTO member (account, space, role) VALUES (?, ?, ?)",
        [.text(member.account), .text(space), .text(member.role.rawValue)])
    }
  }

  /// Runs `body`, which changes the members of some spaces, in a transaction; `nil` if there is no file and it is not created.
  private func write<Value: Sendable>(
    _ spaces: [String], creates: Bool, _ body: (DatabaseConnection) throws -> Value
  ) throws -> Value? {
    // Not before the transaction: the tags of the former members could be read meanwhile.
    defer { known.withLock { for space in spaces { $0.tags[space] = nil } } }
    return try with(creates: creates) { connection in
      try connection.transaction { try body(connection) }
    }
  }

  /// Runs `body` with the file; `nil` if there is none and it is not created.
  private func with<Value: Sendable>(
    creates: Bool, _ body: (DatabaseConnection) throws -> Value
  ) throws -> Value? {
    try lock.withLock { _ in
      guard let connection = try open(creates: creates) else { return nil }
      return try body(connection)
    }
  }

  private func open(creates: Bool) throws -> DatabaseConnection? {
    if let connection { return connection }
    let isNew = access(path, F_OK) != 0
    guard creates || !isNew else { return nil }
    let opened = try DatabaseConnection(path: path, journal: .asItIs)
    if isNew { Self.giveToOwnerOfDirectory(path) }
    try opened.transaction {
      let format = try opened.integer("PRAGMA user_version") ?? 0
      guard format <= Self.format else {
        throw ServerError(
          .directory, "a newer version of Tandem made \(path) (format \(format)); update this one")
      }
      guard format == 0 else { return }
      try opened.execute(
        """
        CREATE TABLE member (
          account TEXT NOT NULL, space TEXT NOT NULL, role TEXT NOT NULL,
          PRIMARY KEY (account, space)) WITHOUT ROWID
        """)
      try opened.execute("CREATE INDEX member_space ON member (space)")
      try opened.execute(
        "CREATE TABLE creation (space TEXT PRIMARY KEY, account TEXT NOT NULL) WITHOUT ROWID")
      try opened.execute("CREATE INDEX creation_account ON creation (account)")
      try opened.execute("PRAGMA user_version = \(Self.format)")
    }
    connection = opened
    return opened
  }

  /// The server has to use a file that its operator has made as another user.
  private static func giveToOwnerOfDirectory(_ path: String) {
    var status = stat()
    let directory = path.dropLast(name.count)
    guard geteuid() == 0, stat(String(directory), &status) == 0 else { return }
    _ = chown(path, status.st_uid, status.st_gid)
  }
}

// MARK: - Copies of spaces

extension MemberFile {
  /// Writes members into a copy of a space, which takes them along. The copy is durable afterwards.
  package static func embed(_ members: [SpaceMember], in copy: String) throws {
    guard !members.isEmpty else { return }
    try change(copy) { try SpaceMember.take(members, along: $0) }
  }

  /// The members that a copy of a space has taken along.
  package static func members(inCopy copy: String) throws -> [SpaceMember] {
    let connection = try DatabaseConnection(path: copy, access: .readOnly)
    return (try SpaceMember.taken(along: connection) ?? []).filter {
      AccessToken.isAccount($0.account)
    }
  }

  /// Takes the members out of a copy, which is to be used as a space.
  package static func takeMembers(fromCopy copy: String) throws -> [SpaceMember] {
    let members = try members(inCopy: copy)
    guard !members.isEmpty else { return [] }
    try change(copy) { try SpaceMember.take(nil, along: $0) }
    return members
  }

  /// Changes a file that nobody else uses, and leaves no log beside it.
  private static func change(
    _ copy: String, _ body: (DatabaseConnection) throws -> Void
  ) throws {
    let connection = try DatabaseConnection(path: copy, access: .readWrite)
    try connection.transaction { try body(connection) }
    try connection.execute("PRAGMA journal_mode=DELETE")
  }
}
