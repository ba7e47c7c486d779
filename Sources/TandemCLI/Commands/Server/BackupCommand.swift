import Tandem
import TandemServer

/// `tandem backup`: copies the spaces of a server, and checks the copies.
enum BackupCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let data = ValueOption<String>(
      "data", "DIR", help: "The directory of the spaces. Required, unless --check is given.")
    static let space = ValueOption<String>(
      "space", "NAME", isRepeatable: true, help: "Back up only this space. Repeatable.")
    static let tokens = ValueOption<String>(
      "tokens", "FILE", help: "Back up the access tokens too.", offer: .files)
    static let keep = ValueOption(
      "keep", "N", in: 1...Int.max,
      help: "If all spaces were backed up, remove the oldest\nbackups beyond N.")
    static let check = Flag(
      "check", help: "Make no backup, but check one: OUT, or the newest in it.")
    static let json = Flag(
      "json",
      help: """
        Print one JSON object:
        {"backup":PATH,"spaces":N,"unchanged":N,
        "failed":[NAME],"removed":[PATH]}
        """)
  }

  static let specification = CommandSpecification(
    name: "backup",
    summary: "Back up the spaces of a server, or check a backup.",
    discussion: """
      Copies all spaces of a directory into a new directory, OUT/TIME. A server may be using them: the
      copy of each space is its state at one moment, with history. Each copy is read and checked. A
      copy equal to that of the backup before is a hard link to it, and takes no place. A backup
      that was interrupted does not count. A damaged space is named, and the others are backed up. A
      backup without all spaces has a name with -partial, and is never taken for the newest one. Each
      has a list of its files, SHA256SUMS, by which --check notices that one is missing or was changed.

      A backup has all records: keep it as safe as the spaces. tandem restore brings it back.
      Spaces of a PostgreSQL database are backed up by PostgreSQL's own tools.
      """,
    exitStatus: "0 success, 1 failure or a damaged space, 2 wrong usage.",
    operands: [.init(name: "OUT", help: "The directory of the backups; created if it is missing.")],
    options: [
      Option.data, Option.space, Option.tokens, Option.keep, Option.check, Flag.quiet,
      Option.json,
    ],
    examples: [
      "tandem backup --data spaces --tokens tokens --keep 14 /backups/tandem",
      "tandem backup --check /backups/tandem",
    ])

  private struct Result {
    var path: String
    var spaceCount = 0
    var unchangedCount = 0
    var failed: [String] = []
    var removed: [String] = []
  }

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    try arguments.checkQuietJSON(Flag.quiet, Option.json)
    let out = arguments.operands[0]
    let result =
      arguments[Option.check]
      ? try await check(out, arguments) : try await backUp(to: out, arguments)
    if arguments[Option.json] {
      try OutputStream.printObject { json in
        json.field("backup", result.path)
        json.field("spaces", result.spaceCount)
        json.field("unchanged", result.unchangedCount)
        json.field("failed", result.failed)
        json.field("removed", result.removed)
      }
    } else if !arguments[Flag.quiet] {
      let unchanged = result.unchangedCount > 0 ? ", \(result.unchangedCount) unchanged" : ""
      try OutputStream.printLines([
        "\(result.path): \(Quantity.count(result.spaceCount, "space"))\(unchanged)"
      ])
    }
    return result.failed.isEmpty ? ExitStatus.success : failureStatus
  }

  private static func check(_ out: String, _ arguments: ParsedArguments) async throws -> Result {
    try arguments.checkAbsent(
      [Option.data, Option.tokens, Option.keep],
      "is for making a backup: leave it out with --check")
    let backup = try SpaceBackup.newest(at: out)
    let spaces = try backup.spaces
    var result = Result(path: backup.path)
    let bar = ProgressBar("checking", isQuiet: arguments[Flag.quiet])
    let names = try SpacePlace.names(
      arguments.all(Option.space), from: spaces, in: backup.path)
    let list = try backup.list(isWhole: !arguments.has(Option.space))
    for (number, name) in names.enumerated() {
      bar.update(number, of: names.count, unit: "spaces")
      do {
        try await backup.check(name, list)
        result.spaceCount += 1
      } catch {
        TandemCLI.report("\(error)")
        result.failed.append(name)
      }
    }
    bar.finish()
    let tokens = "\(backup.path)/\(SpaceBackup.tokensName)"
    if access(tokens, F_OK) == 0 {
      do {
        try backup.check(file: SpaceBackup.tokensName, list)
        _ = try TokenFile(path: tokens)
      } catch {
        TandemCLI.report("\(error)")
        result.failed.append(SpaceBackup.tokensName)
      }
    }
    if !arguments.has(Option.space) {
      for name in backup.missingFiles(of: list) {
        TandemCLI.report("\(backup.path)/\(name) is missing")
        result.failed.append(SpaceBackup.spaceName(ofFile: name))
      }
    }
    return result
  }

  private static func backUp(
    to out: String, _ arguments: ParsedArguments
  ) async throws -> Result {
    let data = try arguments.required(Option.data, "the directory of the spaces")
    if arguments.has(Option.keep), arguments.has(Option.space) {
      throw arguments.error(
        "--keep would remove backups of other spaces: leave it out with --space")
    }
    try SpacePlace.checkHasNoCopies(data)
    let spaces = try SpaceDirectory(reading: data)
    let names = try SpacePlace.names(arguments.all(Option.space), from: spaces, in: data)
    guard !names.isEmpty else {
      throw FileError(path: data, action: "backed up", reason: "it has no spaces")
    }
    let isNew = mkdir(out, 0o700) == 0
    guard isNew || errno == EEXIST else {
      throw FileError(path: out, action: "created", code: errno)
    }
    guard !isInside(out, data) else {
      if isNew { rmdir(out) }
      throw arguments.error(
        "the backups would be among the spaces: choose a directory outside \(data)")
    }
    let former = try SpaceBackup.all(in: out).last
    let name = SpaceBackup.name(at: millisecondsSince1970() / 1_000)
    let hidden = SpaceBackup.hiddenPath(beside: "\(out)/\(name)")
    guard mkdir(hidden, 0o700) == 0 else {
      throw FileError(path: hidden, action: "created", code: errno)
    }
    var result = Result(path: "")
    do {
      let bar = ProgressBar("backing up", isQuiet: arguments[Flag.quiet])
      for (number, name) in names.enumerated() {
        bar.update(number, of: names.count, unit: "spaces")
        let copy = "\(hidden)/\(name).space"
        do {
          try SpaceSnapshot.make(of: name, in: spaces, at: copy)
          try await SpaceSnapshot.check(copy)
        } catch let error as DatabaseError where error.code.primary == .full {
          throw error
        } catch {
          TandemCLI.report("the space \(name) is not in the backup: \(error)")
          result.failed.append(name)
          DatabaseFile.remove(copy)
          continue
        }
        result.spaceCount += 1
        if let former, try link(copy, to: "\(former.path)/\(name).space") {
          result.unchangedCount += 1
        }
      }
      bar.finish()
      guard result.spaceCount > 0 else {
        throw FileError(path: data, action: "backed up", reason: "no space could be copied")
      }
      if let tokens = arguments[Option.tokens] {
        _ = try TokenFile(path: tokens)
        try SpaceSnapshot.copy(tokens, to: "\(hidden)/\(SpaceBackup.tokensName)")
      }
      try SpaceBackup(path: hidden).writeList()
      try AtomicFile.synchronize(hidden)
      let isComplete = result.failed.isEmpty && !arguments.has(Option.space)
      result.path = try publish(
        hidden, as: "\(out)/\(name)" + (isComplete ? "" : SpaceBackup.partialSuffix))
      try AtomicFile.synchronize(out)
      if isNew { try AtomicFile.synchronize(AtomicFile.directory(of: out)) }
    } catch {
      try? SpaceBackup.removeDirectory(hidden)
      throw error
    }
    if let count = arguments[Option.keep], result.failed.isEmpty {
      for backup in try SpaceBackup.all(in: out).dropLast(count) {
        try backup.remove()
        result.removed.append(backup.path)
      }
    }
    return result
  }

  /// Replaces a copy by a hard link to a former one with the same bytes. Returns false if they differ, or if the file system
  /// has no such links.
  private static func link(_ copy: String, to former: String) throws -> Bool {
    guard SpaceSnapshot.isEqual(copy, former) else { return false }
    let temporary = copy + ".link"
    guard systemLink(former, temporary) == 0 else { return false }
    guard rename(temporary, copy) == 0 else {
      throw FileError(path: copy, action: "written", code: errno)
    }
    return true
  }

  /// Gives a finished backup its name; another one if a backup of the same second has it.
  private static func publish(_ hidden: String, as path: String) throws -> String {
    for number in 1..<1_000 {
      let name = number == 1 ? path : "\(path)-\(String(1_000 + number).dropFirst())"
      // It fails if a directory with files has the name.
      if rename(hidden, name) == 0 { return name }
      guard errno == ENOTEMPTY || errno == EEXIST else { break }
    }
    throw FileError(path: path, action: "written", code: errno)
  }

  private static func isInside(_ path: String, _ directory: String) -> Bool {
    guard let path = resolvedPath(path), let directory = resolvedPath(directory) else {
      return false
    }
    return "\(path)/".hasPrefix("\(directory)/")
  }
}

/// `link(2)`; the method above hides its own name.
private func systemLink(_ old: String, _ new: String) -> Int32 { link(old, new) }
