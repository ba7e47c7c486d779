import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem webhook`: shows the deliveries to a webhook that were given up, and lets them be made again.
enum WebhookCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let json = Flag(
      "json",
      help: """
        With list: print one JSON object per line: {"id":N,
        "space":NAME,"time":T,"reason":TEXT,"due":true|false,
        "body":TEXT}
        """)
  }

  private enum Action: String { case list, retry, discard }

  static let specification = CommandSpecification(
    name: "webhook",
    summary: "Show and retry the deliveries to a webhook that were given up.",
    discussion: """
      tandem serve --webhook URL sends the changes of all commits to a program. A delivery that it
      refuses (status 4xx), or does not accept after --webhook-attempts, is a dead letter: the server
      keeps it, and goes on with later commits of the space.

      list prints the dead letters. retry lets the running server, or the next one, send them
      again, once each, within seconds; those that fail again stay. They come after later changes
      of their records. discard forgets them.
      """,
    exitStatus: "0 success, for list also without letters, 1 failure, 2 wrong usage.",
    operands: [
      .init(
        name: "ACTION", help: "list, retry or discard.",
        offer: .words(["list", "retry", "discard"])),
      .init(name: "[ID|all]", help: "With retry and discard: the number of a letter, or all."),
    ],
    options: [SpacePlace.Option.data, SpacePlace.Option.store, Option.json],
    examples: [
      "tandem webhook list --data spaces", "tandem webhook retry all --data spaces",
      "tandem webhook discard 7 --store service=spaces",
    ], repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // The file has fields of records.
    umask(0o077)
    let operands = arguments.operands
    let chosen = operands.count == 2 ? operands[1] : nil
    guard let action = Action(rawValue: operands[0]), operands.count <= 2,
      (action == .list) == (chosen == nil),
      chosen == nil || chosen == "all" || Int64(chosen ?? "") ?? 0 > 0
    else {
      throw arguments.error(
        "unexpected '\(operands.joined(separator: " "))': write list, retry ID|all or discard ID|all"
      )
    }
    guard !arguments[Option.json] || action == .list else {
      throw arguments.error("--json is for list")
    }
    let id = chosen.flatMap { Int64($0) }
    return try await with(arguments) { store in
      let count: Int
      switch action {
      case .list:
        var last: Int64 = 0
        while true {
          let letters = try await store.letters(
            dueOnly: false, after: last, maxCount: DeadLetter.readCount)
          for letter in letters { try print(letter, arguments) }
          guard let letter = letters.last else { return ExitStatus.success }
          last = letter.id
        }
      case .retry: count = try await store.retry(id)
      case .discard: count = try await store.discard(id)
      }
      guard count > 0 || id == nil else {
        throw arguments.error(
          "there is no dead letter \(chosen ?? ""); tandem webhook list shows all")
      }
      TandemCLI.report(
        "\(Quantity.count(count, "dead letter")) \(action == .retry ? "to be sent again" : "discarded")"
      )
      return ExitStatus.success
    }
  }

  private static func with(
    _ arguments: ParsedArguments, _ body: (any WebhookStore) async throws -> Int32
  ) async throws -> Int32 {
    switch try SpacePlace.server(arguments) {
    case .files(let directory):
      let path = WebhookFile.path(in: directory)
      guard access(path, F_OK) == 0 else {
        throw FileError(
          path: path, action: "read",
          reason: "there is no such file: no server with --webhook has used the directory")
      }
      return try await withFile(path) { try await body($0) }
    case .database(let address):
      return try await SpacePlace.withDatabase(address) { database in
        try await body(try await PostgreSQLWebhooks(database, creates: false))
      }
    }
  }

  private static func withFile<Value>(
    _ path: String, _ body: (WebhookFile) async throws -> Value
  ) async throws -> Value {
    let file = try await WebhookFile(path: path, creates: false)
    return try await closing(file.close) { try await body(file) }
  }

  /// Lets the webhook of a server that follows begin with the present of its copies, which are being promoted.
  static func begin(withCopiesIn spaces: SpaceDirectory, _ directory: String) async {
    let path = WebhookFile.path(in: directory)
    guard access(path, F_OK) == 0 else { return }
    do {
      try await withFile(path) { try await $0.begin(withCopiesIn: spaces) }
    } catch {
      // The spaces are needed more.
      TandemCLI.report(
        "the webhook may miss the first commits, because its state cannot be written: \(error)")
    }
  }

  private static func print(_ letter: DeadLetter, _ arguments: ParsedArguments) throws {
    guard arguments[Option.json] else {
      let due = letter.isDue ? "  due" : ""
      return try OutputStream.printLines([
        "\(letter.id)  \(Quantity.time(letter.time * 1_000))  \(letter.space)  "
          + "\(Quantity.bytes(Double(letter.body.count)))  \(letter.reason)\(due)"
      ])
    }
    try OutputStream.printObject { json in
      json.field("id", Int(letter.id))
      json.field("space", letter.space)
      json.field("time", Quantity.time(letter.time * 1_000))
      json.field("reason", letter.reason)
      json.field("due", letter.isDue)
      json.field("body", String(decoding: letter.body, as: UTF8.self))
    }
  }
}
