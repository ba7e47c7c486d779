import Tandem
import TandemPostgreSQL
import TandemServer

/// Where a command finds a space: in a file, or in a PostgreSQL database.
struct SpacePlace {
  private enum Kind {
    case file
    case database(PostgreSQLSpaceStore)
  }

  /// The options that say where a space is, for all commands.
  enum Option {
    static let space = ValueOption<String>(
      "space", "SPACE",
      help: """
        The file of a space or, with --data or --store, the name of
        a space. Required.
        """, offer: .files)
    static let data = ValueOption<String>(
      "data", "DIR", help: "The directory in which a server keeps its spaces.")
    static let store = ValueOption<String>(
      "store", "ADDRESS",
      help: """
        The PostgreSQL database in which servers keep their spaces,
        as in tandem serve --store.
        """)
    static let all: [any CommandOption] = [space, data, store]
  }

  /// The path of the file, or the name of the space in the database, for messages.
  let name: String
  private let kind: Kind

  /// Runs `body` with the space that the arguments name, which must be there.
  static func with<Value>(
    _ arguments: ParsedArguments, _ body: (SpacePlace) async throws -> Value
  ) async throws -> Value {
    let name = try arguments.required(
      Option.space, "the file of a space, or its name and --data or --store")
    guard arguments[Option.data] != nil || arguments[Option.store] != nil else {
      guard access(name, F_OK) == 0 || errno != ENOENT else {
        throw FileError(
          path: name, action: "read",
          reason: "there is no such file; for a space of a server, name the server's directory by "
            + "--data DIR, or its database by --store ADDRESS")
      }
      return try await body(SpacePlace(name: name, kind: .file))
    }
    switch try server(arguments) {
    case .files(let data):
      try checkHasNoCopies(data)
      let path = try directory(data, with: name).file(of: name)
      return try await body(SpacePlace(name: path, kind: .file))
    case .database(let address):
      return try await withDatabase(address) { database in
        let found = try await store(name, in: database)
        return try await body(SpacePlace(name: name, kind: .database(found)))
      }
    }
  }

  /// Where a server keeps its spaces.
  enum Server {
    case files(String)
    case database(String)
  }

  /// The place of all spaces, which the arguments name.
  static func server(_ arguments: ParsedArguments) throws -> Server {
    switch (arguments[Option.data], arguments[Option.store]) {
    case (let data?, nil): return .files(data)
    case (nil, let address?): return .database(address)
    default:
      throw arguments.error(
        "name either the server's directory by --data, or its database by --store")
    }
  }

  /// Runs `body` with a database of spaces, and ends its connections.
  static func withDatabase<Value>(
    _ address: String, _ body: (PostgreSQLDatabase) async throws -> Value
  ) async throws -> Value {
    try PostgreSQLDatabase.check(address: address)
    let database = try await PostgreSQLDatabase.open(address: address, creates: false) {
      TandemCLI.report($0)
    }
    return try await closing(database.close) { try await body(database) }
  }

  /// A directory that has a space.
  static func directory(_ path: String, with name: String) throws -> SpaceDirectory {
    let spaces = try SpaceDirectory(reading: path)
    guard spaces.contains(name) else {
      throw missing(name, in: path, among: try spaces.names())
    }
    return spaces
  }

  /// The names of the spaces to work on, in order: those that were chosen, which must be there, or else all.
  static func names(
    _ chosen: [String], from spaces: SpaceDirectory, in place: String
  ) throws -> [String] {
    let names = try spaces.names()
    for name in chosen where !names.contains(name) {
      throw missing(name, in: place, among: names)
    }
    return chosen.isEmpty ? names : names.filter(chosen.contains)
  }

  /// A space of a database.
  static func store(
    _ name: String, in database: PostgreSQLDatabase
  ) async throws -> PostgreSQLSpaceStore {
    if let store = try await PostgreSQLSpaceStore.open(database, name: name, creates: false) {
      return store
    }
    let names = try await PostgreSQLSpaceStore.names(database)
    throw missing(name, in: "the database", among: names)
  }

  /// Throws if the spaces of a directory are copies of those of another server.
  static func checkHasNoCopies(_ directory: String) throws {
    guard let leader = Following.leader(of: directory) else { return }
    throw FileError(
      path: directory, action: "used",
      reason:
        "its spaces are copies of those of \(leader): work there, or make them spaces of this server "
        + "by tandem promote")
  }

  static func missing(_ name: String, in place: String, among names: [String]) -> FileError {
    let hint = Spelling.closest(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
    return FileError(path: place, action: "read", reason: "there is no space \(name)\(hint)")
  }
}

extension SpacePlace {
  /// Runs `body` with the space at one moment.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    switch kind {
    case .file: try await SQLiteSpaceStore.read(path: name, body)
    case .database(let store): try await store.read(body)
    }
  }

  /// Runs `body` in a transaction of the space.
  func write<Value: Sendable>(
    _ body: @escaping @Sendable (SpaceTables) throws -> Value
  ) async throws -> Value {
    switch kind {
    case .file: try await SQLiteSpaceStore.write(path: name, body)
    case .database(let store): try await store.write(body)
    }
  }
}
