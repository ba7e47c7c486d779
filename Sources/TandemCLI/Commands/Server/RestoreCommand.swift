import Tandem
import TandemServer

/// `tandem restore`: brings spaces back from a backup.
enum RestoreCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let data = ValueOption<String>(
      "data", "DIR", help: "The directory of the spaces; created if it is missing.\nRequired.")
    static let space = ValueOption<String>(
      "space", "NAME", isRepeatable: true, help: "Restore only this space. Repeatable.")
    static let tokens = ValueOption<String>(
      "tokens", "FILE", help: "Restore the access tokens too, into this file.")
  }

  static let specification = CommandSpecification(
    name: "restore",
    summary: "Bring the spaces of a backup back.",
    discussion: """
      Copies the spaces of a backup into a directory, from which a server serves them. No server may
      be using the directory. A space that is there is never replaced: move its file, its -wal and its
      -shm away first. All copies are checked before the first one is restored.

      Replicas that have not synchronized since the backup go on as usual. The others notice that
      the space lacks their commits, and stop; tandem sync DB --lost-history union keeps the records
      of both sides.
      """,
    operands: [
      .init(name: "BACKUP", help: "A backup, or the directory of backups for the newest one.")
    ],
    options: [Option.data, Option.space, Option.tokens, Flag.quiet],
    examples: [
      "tandem restore --data spaces --tokens tokens /backups/tandem",
      "tandem restore --data spaces --space notes /backups/tandem/2027-01-31T03-00-00Z",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // Other users may not read spaces and members.
    umask(0o077)
    let data = try arguments.required(Option.data, "the directory of the spaces")
    let backup = try SpaceBackup.newest(at: arguments.operands[0])
    let copies = try backup.spaces
    let names = try SpacePlace.names(
      arguments.all(Option.space), from: copies, in: backup.path)
    let list = try backup.list(isWhole: !arguments.has(Option.space))
    let missing = backup.missingFiles(of: list).filter { $0 != SpaceBackup.tokensName }
    if !arguments.has(Option.space), let name = missing.first {
      throw FileError(
        path: "\(backup.path)/\(name)", action: "restored",
        reason: "it is missing in the backup; restore the others by --space")
    }
    // Locks the directory against servers.
    let spaces = try SpaceDirectory(path: data)
    for name in names {
      for path in DatabaseFile.paths(spaces.file(of: name)) where access(path, F_OK) == 0 {
        throw FileError(
          path: path, action: "restored",
          reason: "it exists; move it and what belongs to it (-wal, -shm) away first")
      }
    }
    let tokens = "\(backup.path)/\(SpaceBackup.tokensName)"
    if let target = arguments[Option.tokens] {
      guard access(target, F_OK) != 0 else {
        throw FileError(
          path: target, action: "restored", reason: "it exists; move it away first")
      }
      _ = try TokenFile(path: tokens)
      try backup.check(file: SpaceBackup.tokensName, list)
      guard access(AtomicFile.directory(of: target), W_OK | X_OK) == 0 else {
        throw FileError(path: target, action: "restored", code: errno)
      }
    }
    let bar = ProgressBar("restoring", isQuiet: arguments[Flag.quiet])
    for (number, name) in names.enumerated() {
      bar.update(number, of: 2 * names.count, unit: "steps")
      try await backup.check(name, list)
    }
    for (number, name) in names.enumerated() {
      bar.update(names.count + number, of: 2 * names.count, unit: "steps")
      let hidden = SpaceBackup.hiddenPath(beside: spaces.file(of: name))
      do {
        try SpaceSnapshot.copy(copies.file(of: name), to: hidden)
        try spaces.memberFile.replace(
          MemberFile.takeMembers(fromCopy: hidden), of: name)
        guard link(hidden, spaces.file(of: name)) == 0 else {
          throw FileError(path: spaces.file(of: name), action: "restored", code: errno)
        }
        unlink(hidden)
      } catch {
        unlink(hidden)
        throw error
      }
    }
    bar.finish()
    if let target = arguments[Option.tokens] {
      try SpaceSnapshot.copy(tokens, to: target)
      try AtomicFile.synchronize(AtomicFile.directory(of: target))
    }
    try AtomicFile.synchronize(data)
    try AtomicFile.synchronize(AtomicFile.directory(of: data))
    await spaces.close()
    if !arguments[Flag.quiet] {
      try OutputStream.printLines([
        "\(data): \(Quantity.count(names.count, "space")) of \(backup.path)"
      ])
    }
    return ExitStatus.success
  }
}
