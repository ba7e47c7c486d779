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
      "force", help: "Promote although the leader still answers.")
    static let cacert = ValueOption<String>(
      "cacert", "FILE",
      help: "Trust the certificates in this PEM file, instead of the\nsystem's, to ask the leader.")
    static let quiet = Flag("quiet", letter: "q", help: "Report nothing but errors.")
  }

  static let specification = CommandSpecification(
    name: "promote",
    summary: "Let a server that follows another one take its place.",
    discussion: """
      Makes the copies of tandem serve --follow spaces that take commits, with the history of the leader.
      The server may be running, and serves them at once; --follow may stay in its configuration, but has no
      effect any more. The leader must not come back: each of two servers would take commits. So this
      command asks it first, and refuses if it answers.

      All records are read and checked. Replicas whose commits have reached the follower go on as usual.
      The others notice that the space lacks their commits, and stop; tandem sync DB --lost-history union
      keeps the records of both sides. A space that the leader had no more is not promoted, but kept as
      DIR/NAME.kept-VERSION; tandem space import brings it back.

      If the command was interrupted, run it again.

      Exit status: 0 success, 1 failure, also of a single space, 2 wrong usage.
      """,
    operands: [],
    options: [Option.data, Option.space, Option.force, Option.cacert, Option.quiet],
    examples: ["tandem promote --data spaces"])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let data = try arguments.required(Option.data, "the directory of the server that follows")
    let spaces = try SpaceDirectory(reading: data)
    let leader = Following.leader(of: data)
    guard leader != nil || Following.isPromoted(data) else {
      throw FileError(
        path: data, action: "promoted",
        reason: "its spaces are no copies of those of another server")
    }
    let chosen = arguments.all(Option.space)
    for name in chosen where !spaces.contains(name) {
      throw SpacePlace.missing(name, in: data, among: try spaces.names())
    }
    if let leader {
      if !arguments[Option.force], !Following.isPromoted(data) {
        let server = try FollowedServer(
          leader, token: nil, certificateAuthorityFile: arguments[Option.cacert])
        guard await !server.isServing() else {
          throw FileError(
            path: data, action: "promoted",
            reason:
              "the leader answers at \(leader), and its replicas would go on there: stop it first, "
              + "or write --force")
        }
      }
      // From here on, the server that follows writes no copy.
      try Following.beginPromotion(of: data, leader: leader)
    }
    var failureCount = 0
    var lines: [String] = []
    let names = try spaces.names()
    let bar = ProgressBar("promoting", isQuiet: arguments[Option.quiet])
    for (number, name) in names.enumerated() {
      bar.update(number, of: names.count, unit: "spaces")
      do {
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
      await WebhookCommand.begin(withCopiesIn: spaces, data)
      try Following.endPromotion(of: data)
    }
    if !arguments[Option.quiet] { try OutputStream.printLines(lines) }
    return failureCount == 0 ? ExitStatus.success : failureStatus
  }

  /// Promotes a space; returns what came of it, or `nil` if it is no copy, as after a run that was interrupted.
  private static func promote(
    _ name: String, in spaces: SpaceDirectory, _ data: String, isChosen: Bool
  ) async throws -> String? {
    let file = spaces.file(of: name)
    let copy = try await SQLiteSpaceStore.read(path: file) { try $0.copy() }
    guard let copy else { return nil }
    guard copy.isAbsent, !isChosen else {
      try await SQLiteSpaceStore.write(path: file) { try $0.promoteCopy() }
      return "\(name): promoted at version \(copy.position.head.version)"
    }
    let kept = try await SpaceKeeping(spaces: spaces, path: data).keep(name, copy)
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(file + suffix) }
    try AtomicFile.synchronize(data)
    return "\(name): not promoted, because the leader had it no more; kept as \(kept)"
  }
}
