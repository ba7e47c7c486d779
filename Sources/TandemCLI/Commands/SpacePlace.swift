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
    guard let address = arguments[Option.store] else {
      let path = try file(name, arguments[Option.data])
      return try await body(SpacePlace(name: path, kind: .file))
    }
    guard arguments[Option.data] == nil else {
      throw arguments.error("--data is for files: leave it out with --store")
    }
    return try await withDatabase(address) { database in
      guard let store = try await PostgreSQLSpaceStore.open(database, name: name, creates: false)
      else {
        let names = try await PostgreSQLSpaceStore.names(database)
        throw missing(name, in: "the database", among: names)
      }
      return try await body(SpacePlace(name: name, kind: .database(store)))
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
    let result: Result<Value, any Error>
    do { result = .success(try await body(database)) } catch { result = .failure(error) }
    await database.close()
    return try result.get()
  }

  /// The file of a space, in a directory if there is one.
  private static func file(_ name: String, _ directory: String?) throws -> String {
    guard let directory else {
      guard access(name, F_OK) == 0 || errno != ENOENT else {
        throw FileError(
          path: name, action: "read",
          reason: "there is no such file; for a space of a server, name the server's directory by "
            + "--data DIR, or its database by --store ADDRESS")
      }
      return name
    }
    try checkHasNoCopies(directory)
    let spaces = try SpaceDirectory(reading: directory)
    guard spaces.contains(name) else {
      throw missing(name, in: directory, among: try spaces.names())
    }
    return spaces.file(of: name)
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
