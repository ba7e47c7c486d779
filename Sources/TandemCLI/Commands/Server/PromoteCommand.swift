import Tandem
import TandemServer

/// `tandem promote`: makes the copies of a server that follows another one spaces that take commits.
enum PromoteCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let data = ValueOption<String>(
      "data", "DIR", help: "The directory of the server that follows. Required.")
    static let space = ValueOption<String>(
      "space", "NAME", isRepeatable: true,
      help: "Promote this space too, although the leader had it no\nmore. Repeatable.")
    static let force = Flag(
      "force",
      help: """
        Promote although the leader answers, or could not be
        asked. Make sure that it is stopped, and stays so.
        """)
    static let cacert = ValueOption<String>(
      "cacert", "FILE",
      help: "Trust the certificates in this PEM file, instead of the\nsystem's, to ask the leader.")
  }

  static let specification = CommandSpecification(
    name: "promote",
    summary: "Let a server that follows another one take its place.",
    discussion: """
      Makes the copies of tandem serve --follow spaces that take commits, with the history of the leader
      and the members that they had there.
      The server may be running, and serves them at once; --follow may stay in its configuration, but has no
      effect any more. The leader must not come back: each of two servers would take commits. So this
      command asks it first, and refuses unless nobody listens at its address. A leader whose machine is
      off or cut off does not answer at all: make sure that it is off, and write --force.

      All records are read and checked. Replicas whose commits have reached the follower go on as usual.
      The others notice that the space lacks their commits, and stop; tandem sync DB --lost-history union
      keeps the records of both sides. A space that the leader had no more is not promoted, but kept as
      DIR/NAME.kept-VERSION; tandem space import brings it back. A space whose copy was not complete is
      not served, and no replica makes an empty one of its name: import it from the disk of the leader.

      If the command was interrupted, run it again.
      """,
    exitStatus: "0 success, 1 failure, also of a single space, 2 wrong usage.",
    operands: [],
    options: [Option.data, Option.space, Option.force, Option.cacert, Flag.quiet],
    examples: ["tandem promote --data spaces"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // The file of the members is for the user of the server.
    umask(0o077)
    let data = try arguments.required(Option.data, "the directory of the server that follows")
    let spaces = try SpaceDirectory(reading: data)
    let leader = Following.leader(of: data)
    guard leader != nil || Following.isPromoted(data) else {
      throw FileError(
        path: data, action: "promoted",
        reason: "its spaces are no copies of those of another server")
    }
    let chosen = arguments.all(Option.space)
    _ = try SpacePlace.names(chosen, from: spaces, in: data)
    if let leader {
      if !arguments[Option.force], !Following.isPromoted(data) {
        try await checkIsStopped(leader, data, arguments)
      }
      // From here on, the server that follows writes no copy.
      try Following.beginPromotion(of: data, leader: leader)
    }
    var failureCount = 0
    var lines: [String] = []
    let names = try spaces.names()
    let bar = ProgressBar("promoting", isQuiet: arguments[Flag.quiet])
    for (number, name) in names.enumerated() {
      bar.update(number, of: names.count, unit: "spaces")
      do {
        // Later, the server may be making a space of this name.
        if leader != nil, try await isEmpty(spaces.file(of: name)) {
          if spaces.former(name) == nil { try spaces.noteIncomplete([name]) }
          try removeFiles(of: name, in: spaces, data)
          continue
        }
        if let line = try await promote(name, in: spaces, data, isChosen: chosen.contains(name)) {
          lines.append(line)
        }
      } catch {
        TandemCLI.report("\(name) is not promoted: \(error)")
        failureCount += 1
      }
    }
    bar.finish()
    if leader != nil {
      failureCount += try blockIncomplete(in: spaces, data)
      await WebhookCommand.begin(withCopiesIn: spaces, data)
      try Following.endPromotion(of: data)
    } else if lines.isEmpty, failureCount == 0 {
      lines.append("\(data): the spaces were promoted before")
    }
    if !arguments[Flag.quiet] { try OutputStream.printLines(lines) }
    return failureCount == 0 ? ExitStatus.success : failureStatus
  }

  /// Throws unless it is certain that the leader takes no commits.
  private static func checkIsStopped(
    _ leader: String, _ data: String, _ arguments: ParsedArguments
  ) async throws {
    let server = try FollowedServer(
      leader, token: nil, certificateAuthorityFile: arguments[Option.cacert])
    let reason: String
    switch await server.standing() {
    case .stopped: return
    case .serving:
      reason =
        "the leader answers at \(leader), and its replicas would go on there: stop it first, "
        + "or write --\(Option.force.name)"
    case .unknown(let fault):
      reason =
        "the leader may still take commits, and could not be asked: \(fault). Make sure that it is "
        + "stopped, and write --\(Option.force.name)"
    }
    throw FileError(path: data, action: "promoted", reason: reason)
  }

  /// Promotes a space; returns what came of it, or `nil` if it is no copy, as after a run that was interrupted.
  private static func promote(
    _ name: String, in spaces: SpaceDirectory, _ data: String, isChosen: Bool
  ) async throws -> String? {
    let file = spaces.file(of: name)
    let copy = try await SQLiteSpaceStore.read(path: file) { try $0.copy() }
    guard let copy else { return nil }
    // Of what became of the space there, the follower may have noted the name only.
    let former = spaces.former(name)
    let isAbsent = copy.isAbsent || (former != nil && former != .incomplete)
    guard isAbsent, !isChosen else {
      let memberFile = spaces.memberFile
      try await SQLiteSpaceStore.write(path: file) { space in
        let members = try space.takeMembers()
        try space.promoteCopy()
        // While the space is a copy, nobody changes its members. A run after an interruption writes them again.
        if let members { try memberFile.replace(members, of: name) }
      }
      return "\(name): promoted at version \(copy.position.head.version)"
    }
    let kept = try await SpaceKeeping(spaces: spaces, path: data).keep(name, copy)
    try removeFiles(of: name, in: spaces, data)
    return "\(name): not promoted, because the leader had it no more; kept as \(kept)"
  }

  private static func removeFiles(
    of name: String, in spaces: SpaceDirectory, _ data: String
  ) throws {
    DatabaseFile.remove(spaces.file(of: name))
    try AtomicFile.synchronize(data)
  }

  /// True if a file has nothing of a space, as a copy that was only begun.
  private static func isEmpty(_ file: String) async throws -> Bool {
    for _ in 0..<2 {
      do {
        _ = try await SQLiteSpaceStore.read(path: file) { try $0.position() }
        return false
      } catch let error as SpaceError where error.code == .empty {
        do {
          // Waits for a transaction that may be written, because it began before the promotion.
          try SQLiteSpaceStore.withFile(file, creates: true) { _ in }
        } catch let error as DatabaseError where error.code.primary == .busy {
          // A longer one asks at its end, and may not write.
          return true
        }
      }
    }
    return true
  }

  /// Keeps the names of spaces that were not copied completely, and reports these; returns their number.
  private static func blockIncomplete(in spaces: SpaceDirectory, _ data: String) throws -> Int {
    let names = try spaces.incompleteNames()
    for name in names {
      try removeFiles(of: name, in: spaces, data)
      TandemCLI.report(
        "\(name) is not promoted: its copy was not complete, and it is not served. Copy "
          + "\(name).space and \(name).space-wal from the disk of the leader, and run tandem space "
          + "import \(name).space --space \(name) --data \(data); or give the space up by tandem "
          + "space delete --space \(name) --data \(data)")
    }
    return names.count
  }
}
