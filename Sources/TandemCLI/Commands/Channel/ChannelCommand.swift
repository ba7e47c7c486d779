import Tandem

/// `tandem channel`: listens to the channels of a program, or sends on them.
enum ChannelCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let subject = ValueOption<String>(
      "subject", "NAME", help: "The subject of the channel. For listen: the only one shown.")
    static let id = ValueOption<String>(
      "id", "JSON", help: "The id: JSON, or else a text. For listen: the only one shown.")
    static let connect = Flag("connect", help: "For listen: connect to a program that listens.")
    static let count = ValueOption(
      "count", in: 1...Int.max, help: "For listen: end after N messages.")
    static let timeout = ValueOption.seconds(
      "timeout", help: "The time in which a peer must answer (default: 10).")
    static let json = Flag(
      "json", help: "For listen: print JSON objects: {\"id\":…,\"subject\":…,\"values\":{…}}.")
  }

  static let specification = CommandSpecification(
    name: "channel",
    summary: "Listen to a program's channels, or send on them.",
    discussion: """
      listen  Prints messages, one on each line. Waits for programs to connect; with --connect,
              connects to a program that listens, and connects again after a break. Ends
              with Ctrl-C, or after --count messages. --id 1 also matches the text "1".
      send    Connects to a program that listens, and sends values of one channel together.

      ADDRESS is unix:PATH, HOST:PORT or :PORT on loopback. Nothing is encrypted.
      Exit status: 0 success, 1 failure, 2 wrong usage. For send, 0 means that the other
      program has read the values. It ignores values of subjects and properties that it does not
      know. A value of a wrong type is a failure, and so is a program with another version of the
      format.
      """,
    exitStatus: nil,
    operands: [
      .init(name: "ACTION", help: "listen or send.", offer: .words(["listen", "send"])),
      .init(
        name: "ADDRESS", help: "An address: unix:/tmp/app.socket, localhost:4000, :4000",
        offer: .text),
      .init(
        name: "[NAME=JSON…]", help: "For send: properties and values, as name='\"Tom\"' age=30",
        offer: .text),
    ],
    options: [
      Option.subject, Option.id, Option.connect, Option.count, Option.timeout, Option.json,
    ],
    examples: [
      "tandem channel listen unix:/tmp/app.socket --subject User",
      "tandem channel send unix:/tmp/app.socket --subject User --id 1 name='\"Tom\"' age=30",
      "tandem channel listen :4000 --connect --json | jq .values.name",
    ],
    repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard let address = SocketAddress(arguments.operands[1]) else {
      throw arguments.error(
        "'\(arguments.operands[1])' is not an address: write unix:PATH, HOST:PORT or :PORT")
    }
    switch arguments.operands[0] {
    case "listen": return try await listen(at: address, arguments)
    case "send": return try await send(to: address, arguments)
    case let other:
      let hint =
        Spelling.closest(to: other, among: ["listen", "send"])
        .map { "; did you mean '\($0)'?" } ?? ""
      throw arguments.error("unknown action '\(other)'\(hint)")
    }
  }

  /// A JSON value, or a string if the text is not JSON.
  static func id(_ text: String) -> JSONValue {
    let maxDepth = ChannelMessage.maxValueNestingDepth
    return (try? JSONValue(parsing: text.utf8, maxNestingDepth: maxDepth)) ?? .string(text)
  }

  /// The time in which a peer must answer.
  static func timeout(_ arguments: ParsedArguments) -> Duration {
    arguments[Option.timeout] ?? ChannelLinkOptions().handshakeTimeout
  }
}

// MARK: - Sending

extension ChannelCommand {
  private static func send(
    to address: SocketAddress, _ arguments: ParsedArguments
  ) async throws -> Int32 {
    try arguments.checkAbsent([Option.connect, Option.count, Option.json], "is for listen")
    guard let subject = arguments[Option.subject], let id = arguments[Option.id].map(id) else {
      throw arguments.error("send needs --subject and --id")
    }
    let message = ChannelMessage(subject: subject, id: id, values: try values(arguments))
    let deadline = PeerDeadline(timeout(arguments))
    let connected: SocketConnection?
    do {
      connected = try await deadline.result {
        try await SocketConnection.connectUntilCancelled(to: address)
      }
    } catch var error as ChannelLinkError where error.code == .connection {
      error.message +=
        "; a program must listen there first, such as: tandem channel listen \(address)"
      throw error
    }
    guard let connection = connected else {
      throw ChannelLinkError(.timedOut, "\(address) has not answered within \(deadline.limit)")
    }
    defer { connection.close() }
    var peer = LinkPeerSession(connection, as: .connecting)
    _ = try await peer.greet(by: deadline)
    try await peer.send(message, by: deadline)
    return 0
  }

  private static func values(_ arguments: ParsedArguments) throws(UsageError) -> [String: JSONValue]
  {
    var values: [String: JSONValue] = [:]
    for assignment in arguments.operands.dropFirst(2) {
      let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw arguments.error("'\(assignment)' is not NAME=JSON")
      }
      guard values[String(parts[0])] == nil else {
        throw arguments.error("'\(parts[0])' is given twice")
      }
      do {
        values[String(parts[0])] = try JSONValue(
          parsing: parts[1].utf8, maxNestingDepth: ChannelMessage.maxValueNestingDepth)
      } catch {
        throw arguments.error(
          "'\(parts[1])' is not a JSON value: \(error); a text needs quotes: \(parts[0])='\"…\"'")
      }
    }
    guard !values.isEmpty else {
      throw arguments.error("send needs values: name='\"Tom\"'")
    }
    return values
  }
}
