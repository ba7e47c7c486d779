import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem space rename|delete|export|import`.
extension SpaceCommand {
  static func administer(
    _ action: String, _ operands: [String], _ arguments: ParsedArguments
  ) async throws {
    switch (action, operands.count) {
    case ("rename", 1): try await rename(to: operands[0], arguments)
    case ("delete", 0): try await delete(arguments)
    case ("export", 1): try await export(to: operands[0], arguments)
    case ("import", 1): try await importSpace(from: operands[0], arguments)
    default:
      throw arguments.error(
        "unexpected '\(([action] + operands).joined(separator: " "))': write rename NAME, delete, export FILE or "
          + "import FILE")
    }
  }

  private static func rename(to newName: String, _ arguments: ParsedArguments) async throws {
    guard SpaceName.isValid(newName) else {
      throw arguments.error("the name of a space matches \(SpaceName.pattern), not '\(newName)'")
    }
    let name = try confirmed("rename", arguments)
    let taken = FileError(
      path: name, action: "renamed", reason: "there is a space \(newName); choose another name")
    try await withSpaces(having: name, arguments) { spaces in
      guard try await spaces.rename(name, to: newName) else { throw taken }
    }
    TandemCLI.report(
      "\(name) is called \(newName) now: change the access tokens, and attach the files of users to it (tandem attach "
        + "DB --server URL --space \(newName))")
  }

  private static func delete(_ arguments: ParsedArguments) async throws {
    let name = try confirmed("delete", arguments)
    try await withSpaces(having: name, arguments) { try await $0.delete(name) }
    TandemCLI.report("\(name) is deleted; the rows of its copies stay in the files of users")
  }

  private static func export(to path: String, _ arguments: ParsedArguments) async throws {
    let name = try arguments.required(SpacePlace.Option.space, "the name of the space")
    guard access(path, F_OK) != 0 else {
      throw FileError(path: path, action: "written", reason: "it exists; choose another name")
    }
    let server = try SpacePlace.server(arguments)
    try await withNewFile(path) { hidden in
      switch server {
      case .files(let data):
        try SpacePlace.checkHasNoCopies(data)
        let spaces = try SpacePlace.directory(data, with: name)
        try SpaceSnapshot.make(of: name, in: spaces, at: hidden)
      case .database(let address):
        try await SpacePlace.withDatabase(address) { database in
          let store = try await SpacePlace.store(name, in: database)
          try await store.read { source in
            _ = try SQLiteSpaceStore.withFile(hidden, creates: true) { try source.copy(to: $0) }
          }
          try MemberFile.embed(try await store.members(), in: hidden)
        }
        try AtomicFile.synchronize(hidden)
      }
    }
    TandemCLI.report("\(name) is exported to \(path), with its history and members")
  }

  private static func importSpace(from path: String, _ arguments: ParsedArguments) async throws {
    let name = try arguments.required(SpacePlace.Option.space, "the name of the new space")
    guard SpaceName.isValid(name) else {
      throw arguments.error("the name of a space matches \(SpaceName.pattern), not '\(name)'")
    }
    let taken = FileError(
      path: name, action: "imported", reason: "there is a space of this name; choose another one")
    switch try SpacePlace.server(arguments) {
    case .files(let data):
      try SpacePlace.checkHasNoCopies(data)
      let spaces = try SpaceDirectory(reading: data)
      guard access(spaces.file(of: name), F_OK) != 0 else { throw taken }
      var members: [SpaceMember] = []
      try await withNewFile(spaces.file(of: name)) { hidden in
        try SpaceSnapshot.make(of: path, at: hidden)
        members = try MemberFile.takeMembers(fromCopy: hidden)
      }
      // Not before: an account may have created a space of this name meanwhile.
      try spaces.memberFile.replace(members, of: name)
      unlink(spaces.formerPath(of: name))
    case .database(let address):
      try await SpacePlace.withDatabase(address) { database in
        let position = try await SQLiteSpaceStore.read(path: path) { try $0.position() }
        guard let position else { throw SpacePlace.missing(name, in: path, among: []) }
        let copy = try await PostgreSQLSpaceStore.receive(
          database, name: name, position, members: MemberFile.members(inCopy: path)
        ) { target in
          try SQLiteSpaceStore.withFile(path, creates: false) { try $0.copy(to: target) }
        }
        guard copy != nil else { throw taken }
      }
    }
    TandemCLI.report("\(path) is imported as \(name)")
  }
}

// MARK: - Places

extension SpaceCommand {
  /// The name of the space, which was typed twice.
  private static func confirmed(
    _ action: String, _ arguments: ParsedArguments
  ) throws -> String {
    let name = try arguments.required(SpacePlace.Option.space, "the name of the space")
    _ = try SpacePlace.server(arguments)
    var typed = arguments[Option.confirm]
    if typed == nil, Terminal(descriptor: STDIN_FILENO).isTerminal {
      TandemCLI.report("type the name of the space once more to \(action) it:")
      typed = readLine()
    }
    guard typed == name else {
      throw arguments.error(
        "to \(action) the space, give its name once more: --confirm \(name)")
    }
    return name
  }

  /// Runs `body` with the spaces of a server, one of which has the name. No server uses those in files meanwhile.
  private static func withSpaces(
    having name: String, _ arguments: ParsedArguments,
    _ body: (any ServedSpaces) async throws -> Void
  ) async throws {
    switch try SpacePlace.server(arguments) {
    case .files(let data):
      try SpacePlace.checkHasNoCopies(data)
      // Of a space that was not copied completely, there is only the name.
      if try SpaceDirectory(reading: data).former(name) != .incomplete {
        _ = try SpacePlace.directory(data, with: name)
      }
      let spaces = try SpaceDirectory(path: data)
      try await closing {
        await spaces.close()
      } after: {
        try await body(spaces)
      }
    case .database(let address):
      try await SpacePlace.withDatabase(address) { database in
        _ = try await SpacePlace.store(name, in: database)
        try await body(PostgreSQLSpaces(database, limits: SyncLimits()))
      }
    }
  }

  /// Makes a file of a space by `body`, checks it, and gives it its path, which no file has.
  private static func withNewFile(
    _ path: String, _ body: (_ hidden: String) async throws -> Void
  ) async throws {
    let hidden = SpaceBackup.hiddenPath(beside: path)
    defer { DatabaseFile.remove(hidden) }
    try await body(hidden)
    try await SpaceSnapshot.check(hidden)
    guard link(hidden, path) == 0 else {
      throw FileError(path: path, action: "written", code: errno)
    }
    try AtomicFile.synchronize(AtomicFile.directory(of: path))
  }
}
