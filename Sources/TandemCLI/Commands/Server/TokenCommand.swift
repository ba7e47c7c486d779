import Synchronization
import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem token`: makes, revokes and lists access tokens.
enum TokenCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let tokens = ValueOption<String>(
      "tokens", "FILE", help: "The file of the access tokens.")
    static let store = ValueOption<String>(
      "store", "ADDRESS",
      help: "The database that keeps the access tokens instead, as\ntandem serve --store takes it.")
    static let account = ValueOption<String>(
      "account", "NAME", takes: "a name of up to 128 characters, without spaces",
      help: "The account that a token stands for."
    ) { AccessToken.isAccount($0) ? $0 : nil }
    static let space = ValueOption<String>(
      "space", "S", isRepeatable: true,
      takes: "the name of a space, the begin of names and a star, or * for all",
      help:
        "A space that the token is for; 'notes-*' for all whose\nnames begin so, '*' for all. May be repeated."
    ) { $0 == "*" || SpaceName.isPattern($0) ? $0 : nil }
    static let create = ValueOption<String>(
      "create", "S", isRepeatable: true,
      takes: "the name of a space, the begin of names and a star, or * for all",
      help: """
        The account may create the space, and then owns it: it may
        write, and change the members (tandem member).
        'lists-*' for all whose names begin so. May be repeated.
        """
    ) { $0 == "*" || SpaceName.isPattern($0) ? $0 : nil }
    static let members = Flag(
      "members",
      help: """
        Instead of --space: the token is only for the spaces of
        which the account is a member.
        """)
    static let expires = ValueOption<TokenEnd>(
      "expires", "WHEN", takes: "a date such as 2027-01-31, a time, or an age such as 90d or 12h",
      help: """
        The token is refused from then on: an age such as 90d, or
        a date such as 2027-01-31 or 2027-01-31T12:00+02:00. A
        date is its begin. Without an offset, it is in UTC.
        """
    ) { TokenEnd($0) }
    static let overlap = ValueOption<Duration>(
      "overlap", "AGE", takes: "an age such as 7d, 12h or 30m",
      help: "With rotate: how long the old token is accepted beside\nthe new one (default: 1d)."
    ) { ForgetCommand.age($0) }
    static let note = ValueOption<String>(
      "note", "TEXT", takes: "a line of up to 200 characters",
      help: "A text for people, which list shows."
    ) { AccessToken.isNote($0) ? $0 : nil }
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
    static let admin = Flag(
      "admin",
      help: """
        As --inspect, and on the page it may change the members of
        the spaces, forget commits, rename and delete spaces; with
        --space '*', also make and revoke access tokens.
        """)
    static let follow = Flag(
      "follow",
      help: """
        The token is for tandem serve --follow: it may copy the
        spaces with all that they have, and nothing else. With
        --space '*'.
        """)
    static let metrics = Flag(
      "metrics",
      help: """
        The token is for Prometheus: it may read /metrics, and
        nothing else. Without --space.
        """)
    static let json = Flag(
      "json",
      help:
        """
        Print one JSON object per line:
        {"id":ID,"account":NAME,"access":A,"spaces":[S],
        "create":[S],"expires":TIME,"used":TIME,"note":TEXT}, and with create
        and rotate also "token":SECRET
        """)
  }

  /// The actions.
  private enum Action: String, CaseIterable {
    case create, rotate, revoke, list
  }

  static let specification = CommandSpecification(
    name: "token",
    summary: "Create, rotate, revoke or list the access tokens of a server.",
    discussion: """
      create makes a token for an account, and prints it once, alone on the last line. The file, or
      the database, has only its hash. revoke removes the token with the given ID, or all tokens of
      an account. list shows all tokens, or those of an account, with the time of the last use, which
      is up to an hour old. A running server notices a changed file with the next request, and a
      changed database within two seconds; then it ends the event streams of a revoked token.

      rotate makes another token with the rights and the note of one, and prints it. Both are
      accepted until the old one ends, by --overlap, so that devices can change over.

      A replica belongs to the account that used it first. If the account is a member of a space (tandem
      member), all its tokens that may read or write something have the rights of its role, too.
      """,
    operands: [
      .init(
        name: "ACTION", help: "create, rotate, revoke or list.",
        offer: .words(Action.allCases.map(\.rawValue))),
      .init(
        name: "[ID]", help: "The token to rotate or revoke, as list shows it.", offer: .text),
    ],
    options: [
      Option.tokens, Option.store, ServeCommand.Option.createStore, Option.account, Option.space,
      Option.write, Option.inspect, Option.admin, Option.follow, Option.metrics, Option.create,
      Option.members,
      Option.expires,
      Option.overlap,
      Option.note, Option.json,
    ],
    examples: [
      "tandem token create --tokens tokens --account ada --space notes --write --expires 90d",
      "tandem token create --tokens tokens --account ops --space '*' --inspect",
      "tandem token create --tokens tokens --account ada --members --create 'ada-*'",
      "tandem token create --tokens tokens --account standby --space '*' --follow",
      "tandem token create --tokens tokens --account prometheus --metrics",
      "tandem token list --tokens tokens", "tandem token revoke 1b2c3d4e5f60 --tokens tokens",
      "tandem token rotate 1b2c3d4e5f60 --tokens tokens --expires 90d --overlap 7d",
      "tandem token create --store service=spaces --account ada --space 'ada-*' --write",
    ],
    repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    guard let action = Action(rawValue: arguments.operands[0]), arguments.operands.count <= 2 else {
      throw arguments.error(
        "unexpected '\(arguments.operands.joined(separator: " "))': write create, rotate ID, revoke ID "
          + "or list")
    }
    guard [.revoke, .rotate].contains(action) || arguments.operands.count == 1 else {
      throw arguments.error("unexpected argument '\(arguments.operands[1])'")
    }
    // An option that had no effect could revoke more tokens than a person means.
    let others: [(option: any CommandOption, actions: [Action])] = [
      (Option.space, [.create]), (Option.write, [.create]), (Option.inspect, [.create]),
      (Option.admin, [.create]),
      (Option.create, [.create]), (Option.members, [.create]),
      (Option.follow, [.create]), (Option.metrics, [.create]),
      (Option.note, [.create]), (Option.expires, [.create, .rotate]), (Option.overlap, [.rotate]),
      (Option.account, [.create, .revoke, .list]), (ServeCommand.Option.createStore, [.create]),
    ]
    for (option, actions) in others where arguments.has(option) && !actions.contains(action) {
      throw arguments.error(
        "--\(option.name) is for \(actions.map(\.rawValue).joined(separator: ", "))")
    }
    let issue = try action == .create ? new(arguments) : nil
    let end = try arguments[Option.expires].map { try $0.time(arguments) }
    let place = try await place(arguments)
    return try await closing(place.end) {
      switch action {
      case .create: if let issue { try await create(issue, in: place, arguments) }
      case .rotate: try await rotate(until: end, in: place, arguments)
      case .revoke: try await revoke(in: place, arguments)
      case .list: try await list(place, arguments)
      }
      return 0
    }
  }

  private static func place(_ arguments: ParsedArguments) async throws -> any TokenPlace {
    switch (arguments[Option.tokens], arguments[Option.store]) {
    case (let path?, nil) where !arguments[ServeCommand.Option.createStore]:
      return TokenFilePlace(name: path)
    case (nil, let address?):
      try PostgreSQLDatabase.check(address: address)
      return TokenStorePlace(
        database: try await PostgreSQLDatabase.open(
          address: address, creates: arguments[ServeCommand.Option.createStore],
          maxConnectionCount: 1))
    case (_?, nil): throw arguments.error("--create-store belongs to --store")
    case (nil, nil):
      throw arguments.error(
        "say where the access tokens are: --tokens FILE, or --store ADDRESS of a database")
    case (_?, _?): throw arguments.error("--tokens and --store exclude each other")
    }
  }
}

// MARK: - Actions

extension TokenCommand {
  private static func list(_ place: any TokenPlace, _ arguments: ParsedArguments) async throws {
    let (tokens, uses) = try await place.read()
    for fault in tokens.faults { TandemCLI.report("\(place.name): \(fault)") }
    let account = arguments[Option.account]
    for token in tokens.tokens where account == nil || token.account == account {
      try print(token, used: uses[token.hash], arguments)
    }
  }

  /// The token that the arguments describe, with its secret.
  private static func new(
    _ arguments: ParsedArguments
  ) throws -> (token: AccessToken, secret: String) {
    let account = try arguments.required(Option.account, "the account that the token stands for")
    let names = arguments.all(Option.space)
    let other = arguments[Option.metrics] ? Option.metrics : Option.members
    guard arguments[other] != !names.isEmpty else {
      throw arguments.error(
        names.isEmpty
          ? "--space is missing: a space that the token is for, or '*'; or --members"
          : "--space and --\(other.name) are for different tokens")
    }
    let access = try right(arguments)
    guard !arguments[Option.members] || access == .read else {
      throw arguments.error(
        "--members stands without --write, --inspect, --admin and --metrics: a member has the rights of its role"
      )
    }
    guard [.read, .write].contains(access) || !arguments.has(Option.create) else {
      throw arguments.error(
        "--\(access.rawValue) is for a token that creates no spaces: leave --create out")
    }
    let scope = try Self.scope(names, of: Option.space, arguments)
    let creates = try Self.scope(
      arguments.all(Option.create), of: Option.create, arguments)
    let secret = TokenList.newSecret()
    let token = AccessToken(
      secret: secret, account: account, access: access, scope: scope, creates: creates,
      expiry: try arguments[Option.expires]?.time(arguments), note: arguments[Option.note])
    return (token, secret)
  }

  private static func scope(
    _ names: [String], of option: ValueOption<String>, _ arguments: ParsedArguments
  ) throws(UsageError) -> AccessToken.Scope {
    guard !names.isEmpty else { return .noSpaces }
    guard let scope = AccessToken.scope(names) else {
      throw arguments.error("--\(option.name): '*' is for all spaces, and stands alone")
    }
    return scope
  }

  private static func right(_ arguments: ParsedArguments) throws(UsageError) -> AccessToken.Access {
    let flags: [(Flag, AccessToken.Access)] = [
      (Option.write, .write), (Option.inspect, .inspect), (Option.admin, .admin),
      (Option.follow, .follow), (Option.metrics, .metrics),
    ]
    let given = flags.filter { arguments[$0.0] }
    guard given.count <= 1 else {
      let names = given.map { "--\($0.0.name)" }.joined(separator: " and ")
      throw arguments.error("\(names) are for different tokens: create one for each")
    }
    guard given.first?.1 != .follow || arguments.all(Option.space) == ["*"] else {
      throw arguments.error("--follow is for all spaces: write --space '*'")
    }
    return given.first?.1 ?? .read
  }

  private static func create(
    _ issue: (token: AccessToken, secret: String), in place: any TokenPlace,
    _ arguments: ParsedArguments
  ) async throws {
    let (token, secret) = issue
    try await place.change(creates: true) { list in try list.add(token) }
    try await show(token, secret, in: place, arguments)
    guard !arguments[Option.json] else { return }
    TandemCLI.report(
      "token \(token.id) of \(token.account) may "
        + (token.access == .metrics ? "read " : "\(token.access.rawValue) ")
        + (token.access == .metrics
          ? "/metrics"
          : token.scope == .noSpaces ? "the spaces of which it is a member" : token.scope.text)
        + (token.creates == .noSpaces ? "" : " and create \(token.creates.text)")
        + (token.expiryText.map { " until \($0)" } ?? "") + "; keep it: it is not shown again")
  }

  /// Prints a new token. If that fails, nobody has the secret, and the token is removed.
  private static func show(
    _ token: AccessToken, _ secret: String, in place: any TokenPlace, _ arguments: ParsedArguments
  ) async throws {
    do {
      guard !arguments[Option.json] else { return try print(token, secret: secret, arguments) }
      try OutputStream.write(Array("\(secret)\n".utf8), to: STDOUT_FILENO)
    } catch {
      try await place.change(creates: false) { list in _ = list.revoke { $0.id == token.id } }
      throw error
    }
  }

  private static func rotate(
    until end: Double?, in place: any TokenPlace, _ arguments: ParsedArguments
  ) async throws {
    guard let id = arguments.operands.dropFirst().first else {
      throw arguments.error("rotate takes the ID of a token")
    }
    guard let old = try await place.read().tokens.tokens.first(where: { $0.id == id }) else {
      throw missing("token \(id)", in: place)
    }
    guard old.expiry == nil || end != nil else {
      throw arguments.error(
        "the token ends at \(old.expiryText ?? ""): say when the new one does, by --expires")
    }
    let secret = TokenList.newSecret()
    let token = AccessToken(
      secret: secret, account: old.account, access: old.access, scope: old.scope,
      creates: old.creates,
      expiry: end, note: old.note)
    let lost = missing("token \(id)", in: place)
    try await place.change(creates: false) { list in
      // It may have been revoked meanwhile.
      guard list.token(hash: old.hash) != nil else { throw lost }
      try list.add(token)
    }
    try await show(token, secret, in: place, arguments)
    // In whole seconds, as the text has it.
    let overlap = arguments[Option.overlap] ?? .seconds(86_400)
    let time = (WallClock.seconds() + overlap / .seconds(1)).rounded(.up)
    try await place.change(creates: false) { list in list.end(old, at: time) }
    guard !arguments[Option.json] else { return }
    var ended = old
    if !old.hasExpired(at: time) { ended.expiry = time }
    TandemCLI.report(
      "token \(token.id) of \(token.account) replaces \(old.id), which is accepted until "
        + "\(ended.expiryText ?? ""); keep it: it is not shown again")
  }

  private static func revoke(in place: any TokenPlace, _ arguments: ParsedArguments) async throws {
    let id = arguments.operands.dropFirst().first
    let account = arguments[Option.account]
    guard (id == nil) != (account == nil) else {
      throw arguments.error("revoke takes the ID of a token, or --account NAME")
    }
    let lost = missing("token \(id ?? "of \(account ?? "")")", in: place)
    let revoked = Mutex<[String]>([])
    try await place.change(creates: false) { list in
      let ids = list.revoke { $0.id == id || $0.account == account }.map(\.id)
      guard !ids.isEmpty else { throw lost }
      revoked.withLock { $0 = ids }
    }
    TandemCLI.report("revoked \(revoked.withLock { $0 }.joined(separator: ", "))")
  }

  private static func missing(_ name: String, in place: any TokenPlace) -> FileError {
    FileError(
      path: place.name, action: "changed", reason: "it has no \(name): tandem token list shows them"
    )
  }

  private static func print(
    _ token: AccessToken, used: Int? = nil, secret: String? = nil, _ arguments: ParsedArguments
  ) throws {
    if arguments[Option.json] {
      try OutputStream.printObject { json in
        token.writeFields(to: &json, used: used)
        if let secret { json.field("token", secret) }
      }
    } else {
      let end = token.hasExpired(at: WallClock.seconds()) ? "expired" : "expires"
      try OutputStream.printLines([
        "\(token.id) \(token.account) \(token.access.rawValue) \(token.scope.text)"
          + (token.creates == .noSpaces ? "" : " create=\(token.creates.text)")
          + (token.expiryText.map { " \(end)=\($0)" } ?? "")
          + (used.map { " used=\(TimeText.text(seconds: $0))" } ?? "")
          + (token.note.map { " # \($0)" } ?? "")
      ])
    }
  }
}

/// A value of `--expires`.
enum TokenEnd: Sendable {
  /// The time in seconds since 1970.
  case time(Int)
  case age(Duration)

  init?(_ text: String) {
    if let time = TimeText.seconds(text) {
      self = .time(time)
    } else if let age = ForgetCommand.age(text) {
      self = .age(age)
    } else {
      return nil
    }
  }

  /// The time in seconds since 1970, which must be in the future.
  func time(_ arguments: ParsedArguments) throws(UsageError) -> Double {
    let now = WallClock.seconds()
    let time =
      switch self {
      case .time(let time): Double(time)
      case .age(let age): (now + age / .seconds(1)).rounded(.down)
      }
    guard time > now else {
      throw arguments.error(
        "--expires: \(TimeText.text(seconds: Int(time))) is not in the future; choose a later time")
    }
    return time
  }
}
