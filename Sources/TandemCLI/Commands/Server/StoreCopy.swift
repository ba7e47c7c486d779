import Tandem
import TandemPostgreSQL
import TandemServer

/// Moves spaces between a directory of files and a PostgreSQL database.
///
/// A space is locked while it is copied. It is marked as moved before the copy can be used. So replicas wait for a
/// moment at worst, and never find the space in two places. What was interrupted is done again by the same command.
struct StoreCopy {
  /// What came of a space.
  enum Outcome {
    case copied(MovedSpace)
    /// A former run has copied it.
    case copiedBefore
  }

  private let directory: SpaceDirectory
  private let path: String
  private let database: PostgreSQLDatabase
  /// True from files to the database.
  private let isToDatabase: Bool
  private let target: String
  /// True if spaces that were moved before are copied too.
  private let isAgain: Bool

  /// Runs `body` with a copy between two places, one of which is an address; both are locked or connected meanwhile.
  static func with<Value>(
    from source: String, to target: String, _ arguments: ParsedArguments,
    _ body: (StoreCopy) async throws -> Value
  ) async throws -> Value {
    let isToDatabase = isAddress(target)
    guard isAddress(source) != isToDatabase else {
      throw arguments.error(
        "one of FROM and TO is a directory, and the other one the address of a PostgreSQL database, such as "
          + "postgresql://USER@HOST/DATABASE")
    }
    let (path, address) = isToDatabase ? (source, target) : (target, source)
    if isToDatabase { _ = try SpaceDirectory(reading: path) }
    let directory = try SpaceDirectory(path: path)
    return try await closing {
      await directory.close()
    } after: {
      try await SpacePlace.withDatabase(address) { database in
        try await body(
          StoreCopy(
            directory: directory, path: path, database: database, isToDatabase: isToDatabase,
            target: target, isAgain: arguments[StoreCommand.Option.again]))
      }
    }
  }

  private static func isAddress(_ text: String) -> Bool {
    guard let first = text.first, first != "/", first != "." else { return false }
    return text.contains("://") || text.contains("=")
  }

  /// The names of all spaces to copy.
  func names() async throws -> [String] {
    isToDatabase ? try directory.names() : try await PostgreSQLSpaceStore.names(database)
  }

  /// Copies a space.
  func copy(
    _ name: String, progress: @escaping @Sendable (Int, Int) -> Void
  ) async throws -> Outcome {
    try await isToDatabase ? copyToDatabase(name, progress) : copyToFile(name, progress)
  }

  private func isThere(_ name: String) -> FileError {
    FileError(
      path: name, action: "copied",
      reason: "\(target) has a space of this name; delete it there if nobody needs it, or choose "
        + "another place")
  }

  /// Throws if a space was moved before, and its copy may be in use.
  private func checkIsNotMoved(_ name: String, _ position: SpacePosition?) throws(FileError) {
    guard position?.isMoved == true, !isAgain else { return }
    throw FileError(
      path: name, action: "copied",
      reason:
        "it was moved before, and \(target) does not have it; serve the place where it is. If that copy was "
        + "interrupted or is lost, copy it with --again")
  }
}

// MARK: - To a database

extension StoreCopy {
  private func copyToDatabase(
    _ name: String, _ progress: @escaping @Sendable (Int, Int) -> Void
  ) async throws -> Outcome {
    let file = try SpacePlace.directory(path, with: name).file(of: name)
    let position = try await SQLiteSpaceStore.read(path: file) { try $0.position() }
    guard let position else { throw SpacePlace.missing(name, in: path, among: []) }
    if position.isMoved {
      if try await isInDatabase(name, position) { return .copiedBefore }
      try checkIsNotMoved(name, position)
    }
    let members = try directory.memberFile.members(of: name)
    let copy = try await PostgreSQLSpaceStore.receive(
      database, name: name, position, members: members
    ) { target in
      try SQLiteSpaceStore.withFile(file, creates: false) { source in
        try source.move(to: target, progress: progress)
      }
    }
    if let copy { return .copied(copy) }
    // This run may have made it, if the connection broke after the end of its transaction.
    let source = try await SQLiteSpaceStore.read(path: file) { try $0.position() }
    guard let source, source.isMoved, try await isInDatabase(name, source) else {
      throw isThere(name)
    }
    return .copiedBefore
  }

  /// True if the database has the copy of a space.
  private func isInDatabase(_ name: String, _ source: SpacePosition) async throws -> Bool {
    let store = try await PostgreSQLSpaceStore.open(database, name: name, creates: false)
    let found = try await store?.read { try $0.position() }
    return found?.isMoved == false && found?.epoch == source.epoch
  }
}

// MARK: - To a file

extension StoreCopy {
  private func copyToFile(
    _ name: String, _ progress: @escaping @Sendable (Int, Int) -> Void
  ) async throws -> Outcome {
    let store = try await SpacePlace.store(name, in: database)
    guard SpaceName.isValid(name) else {
      throw FileError(
        path: name, action: "copied",
        reason: "a space in a file has a name that matches \(SpaceName.pattern); rename it "
          + "in the table tandem.name")
    }
    let file = directory.file(of: name)
    if access(file, F_OK) == 0 {
      let source = try await store.read { try $0.position() }
      let found = try await SQLiteSpaceStore.read(path: file) { try $0.position() }
      guard let source, let found, source.isMoved, !found.isMoved, source.epoch == found.epoch
      else { throw isThere(name) }
      return .copiedBefore
    }
    try checkIsNotMoved(name, await store.read { try $0.position() })
    // No space has this name. What an interrupted copy has left is removed.
    let temporary = "\(path)/.tandem-copy"
    DatabaseFile.remove(temporary)
    defer { DatabaseFile.remove(temporary) }
    let copy = try await store.write { source in
      let copy = try SQLiteSpaceStore.withFile(temporary, creates: true) { target in
        try source.move(to: target, progress: progress)
      }
      try AtomicFile.synchronize(temporary)
      return copy
    }
    try directory.memberFile.replace(try await database.members(of: name), of: name)
    // Unlike rename(2), it does not replace a file.
    guard link(temporary, file) == 0 else {
      throw FileError(path: file, action: "written", code: errno)
    }
    try AtomicFile.synchronize(path)
    return .copied(copy)
  }
}
