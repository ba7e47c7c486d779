import Tandem
import TandemServer

/// `tandem token`: makes, revokes and lists access tokens.
enum TokenCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let tokens = ValueOption<String>(
      "tokens", "FILE", help: "The file of the access tokens. Required.")
    static let account = ValueOption<String>(
      "account", "NAME", takes: "a name of up to 128 characters, without spaces",
      help: "The account that a token stands for."
    ) { AccessToken.isAccount($0) ? $0 : nil }
    static let space = ValueOption<String>(
      "space", "S", isRepeatable: true, takes: "the name of a space, or * for all",
      help: "A space that the token is for; '*' for all spaces.\nMay be repeated."
    ) { $0 == "*" || SpaceName.isValid($0) ? $0 : nil }
    static let write = Flag(
      "write",
      help:
        "The token may change the spaces, and create them. Without\nit, it may only read.")
    static let inspect = Flag(
      "inspect",
      help: """
        The token may open the page of tandem serve --inspect,
        which shows who changed the spaces and when. It may not
        read records.
        """)
    static let json = Flag(
      "json",
      help:
        """
        Print one JSON object per line:
        {"id":ID,"account":NAME,"access":A,"spaces":[S]}, and with
        create also "token":SECRET
        """)
  }

  /// The actions.
  private enum Action: String, CaseIterable {
    case create, revoke, list
  }

  static let specification = CommandSpecification(
    name: "token",
    summary: "Create, revoke or list the access tokens of a server.",
    discussion: """
      create makes a token for an account, and prints it once, alone on the last line. The file has
      only its hash. revoke removes the token with the given ID, or all tokens of an account. list
      shows all tokens, or those of an account. A running server notices the change with the next
      request, and ends the event streams of a revoked token within a heartbeat.

      A replica belongs to the account that used it first.

      Exit status: 0 success, 1 failure, 2 wrong usage.
      """,
    operands: [
      .init(
        name: "ACTION", help: "create, revoke or list.",
        offer: .words(Action.allCases.map(\.rawValue))),
      .init(name: "[ID]", help: "The token to revoke, as list shows it.", offer: .text),
    ],
    options: [
      Option.tokens, Option.account, Option.space, Option.write, Option.inspect, Option.json,
    ],
    examples: [
      "tandem token create --tokens tokens --account ada --space notes --write",
      "tandem token create --tokens tokens --account ops --space '*' --inspect",
      "tandem token list --tokens tokens", "tandem token revoke 1b2c3d4e5f60 --tokens tokens",
    ],
    repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard let action = Action(rawValue: arguments.operands[0]), arguments.operands.count <= 2 else {
      throw arguments.error(
        "unexpected '\(arguments.operands.joined(separator: " "))': write create, revoke ID or list"
      )
    }
    let path = try arguments.required(Option.tokens, "the file of the access tokens")
    guard action == .revoke || arguments.operands.count == 1 else {
      throw arguments.error("unexpected argument '\(arguments.operands[1])'")
    }
    if action != .create {
      // An option that had no effect could revoke more tokens than a person means.
      for (name, isGiven) in [
        ("--space", !arguments.all(Option.space).isEmpty), ("--write", arguments[Option.write]),
        ("--inspect", arguments[Option.inspect]),
      ] where isGiven { throw arguments.error("\(name) is for create") }
    }
    switch action {
    case .create: try create(path, arguments)
    case .revoke: try revoke(path, arguments)
    case .list:
      let account = arguments[Option.account]
      for token in try TokenFile.read(path).tokens where account == nil || token.account == account
      {
        try print(token, arguments)
      }
    }
    return 0
  }

  private static func create(_ path: String, _ arguments: ParsedArguments) throws {
    let account = try arguments.required(Option.account, "the account that the token stands for")
    let names = arguments.all(Option.space)
    guard let scope = AccessToken.scope(names) else {
      throw arguments.error(
        names.isEmpty
          ? "--space is missing: a space that the token is for, or '*'"
          : "--space: '*' is for all spaces, and stands alone")
    }
    let secret = TokenList.newSecret()
    let token = AccessToken(
      secret: secret, account: account, access: try right(arguments), scope: scope)
    try change(path, creates: true) { list in try list.add(token) }
    do {
      guard !arguments[Option.json] else { return try print(token, secret: secret, arguments) }
      try OutputStream.write(Array("\(secret)\n".utf8), to: STDOUT_FILENO)
    } catch {
      // Nobody has the secret.
      try change(path, creates: false) { list in _ = list.revoke { $0.id == token.id } }
      throw error
    }
    TandemCLI.report(
      "token \(token.id) of \(account) may \(token.access.rawValue) \(token.scopeText); "
        + "keep it: it is not shown again")
  }

  private static func right(_ arguments: ParsedArguments) throws(UsageError) -> AccessToken.Access {
    switch (arguments[Option.write], arguments[Option.inspect]) {
    case (false, false): return .read
    case (true, false): return .write
    case (false, true): return .inspect
    case (true, true):
      throw arguments.error("--write and --inspect are for different tokens: create two")
    }
  }

  private static func revoke(_ path: String, _ arguments: ParsedArguments) throws {
    let id = arguments.operands.dropFirst().first
    let account = arguments[Option.account]
    guard (id == nil) != (account == nil) else {
      throw arguments.error("revoke takes the ID of a token, or --account NAME")
    }
    var revoked: [AccessToken] = []
    try change(path, creates: false) { list in
      revoked = list.revoke { $0.id == id || $0.account == account }
      guard !revoked.isEmpty else {
        throw FileError(
          path: path, action: "changed",
          reason: "it has no token \(id ?? "of \(account ?? "")"): tandem token list shows them")
      }
    }
    TandemCLI.report("revoked \(revoked.map(\.id).joined(separator: ", "))")
  }

  /// Changes the file while no other process does.
  private static func change(
    _ path: String, creates: Bool, _ body: (inout TokenList) throws -> Void
  ) throws {
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw FileError(path: directory, action: "opened", code: errno) }
    // Closing the directory ends the lock.
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FileError(path: directory, action: "locked", code: errno) }
    }
    let isNew = creates && access(path, F_OK) != 0
    var list = isNew ? TokenList() : try TokenFile.read(path)
    try body(&list)
    // Only the owner may read a new file: hashes are no secrets, but accounts and spaces may be.
    try AtomicFile.write(Array(list.text.utf8), to: path, mode: 0o600)
  }

  private static func print(
    _ token: AccessToken, secret: String? = nil, _ arguments: ParsedArguments
  ) throws {
    if arguments[Option.json] {
      try OutputStream.printLine { json in
        json.object { json in
          json.field("id", token.id)
          json.field("account", token.account)
          json.field("access", token.access.rawValue)
          json.field("spaces", token.scopeNames)
          if let secret { json.field("token", secret) }
        }
      }
    } else {
      try OutputStream.printLines([
        "\(token.id) \(token.account) \(token.access.rawValue) \(token.scopeText)"
      ])
    }
  }
}
