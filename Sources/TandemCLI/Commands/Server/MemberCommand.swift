import Tandem
import TandemPostgreSQL
import TandemServer

/// `tandem member`: adds, removes and lists the members of a space.
enum MemberCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let role = ValueOption<SpaceRole>(
      "role", "ROLE", takes: "owner, writer or reader",
      help: "With add: owner, writer or reader. Required.",
      offer: .words(SpaceRole.allCases.map(\.rawValue))
    ) { SpaceRole(rawValue: $0) }
    static let json = Flag(
      "json", help: "Print one JSON object per member:\n{\"account\":NAME,\"role\":ROLE}")
  }

  /// The actions.
  private enum Action: String, CaseIterable {
    case add, remove, list
  }

  static let specification = CommandSpecification(
    name: "member",
    summary: "Add, remove or list the members of a space.",
    discussion: """
      A member is an account with a role in one space: a reader, a writer, or an owner, who may also change
      the members by HTTP. Whoever has an access token of the account, or logs in at the identity provider
      under this name, has the rights of the role beside those of the token.

      add gives an account a role, in place of a former one. remove takes it away. A running server notices
      both with the next request, and ends the event streams of a former member within two seconds. An
      account that creates a space (tandem token create --create) owns it. Here, also the last owner can be
      removed.

      Members go with their space into backups and exports, to another name or another store, and to a
      server that follows (tandem serve --follow), where they are not changed before tandem promote.
      """,
    operands: [
      .init(name: "SPACE", help: "The name of the space.", offer: .text),
      .init(
        name: "ACTION", help: "add, remove or list.",
        offer: .words(Action.allCases.map(\.rawValue))),
      .init(name: "[ACCOUNT]", help: "The account to add or remove.", offer: .text),
    ],
    options: [Option.role, SpacePlace.Option.data, SpacePlace.Option.store, Option.json],
    examples: [
      "tandem member notes add bob --role writer --data spaces",
      "tandem member notes remove bob --data spaces", "tandem member notes list --data spaces",
      "tandem member notes add ada --role owner --store service=spaces",
    ],
    repeatsLastOperand: true)

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    // The file of the members is for the user of the server.
    umask(0o077)
    let words = arguments.operands
    guard let action = Action(rawValue: words[1]), words.count == (action == .list ? 2 : 3) else {
      throw arguments.error(
        "unexpected '\(words.dropFirst().joined(separator: " "))': write add ACCOUNT, remove ACCOUNT or list"
      )
    }
    if action != .add { try arguments.checkAbsent([Option.role], "is for add") }
    var change: SpaceMemberChange?
    if action != .list {
      guard AccessToken.isAccount(words[2]) else {
        throw arguments.error(
          "the name of an account has 1 to 128 letters, digits and signs of ASCII but #, not '\(words[2])'"
        )
      }
      let role =
        action == .add
        ? try arguments.required(Option.role, "owner, writer or reader") : nil
      change = SpaceMemberChange(account: words[2], role: role)
    }
    switch try SpacePlace.server(arguments) {
    case .files(let data):
      let spaces = try SpacePlace.directory(data, with: words[0])
      try await checkIsNoCopy(words[0], in: spaces, data)
      try await run(change, in: words[0], of: spaces.memberFile, arguments)
    case .database(let address):
      try await SpacePlace.withDatabase(address) { database in
        _ = try await SpacePlace.store(words[0], in: database)
        try await run(change, in: words[0], of: PostgreSQLMembers(database), arguments)
      }
    }
    return ExitStatus.success
  }

  /// Throws if a space is a copy, whose members are those of the leader.
  private static func checkIsNoCopy(
    _ name: String, in spaces: SpaceDirectory, _ data: String
  ) async throws {
    let leader = Following.leader(of: data)
    guard leader != nil || Following.isPromoted(data),
      try await SQLiteSpaceStore.read(path: spaces.file(of: name), { try $0.copy() }) != nil
    else { return }
    throw FileError(
      path: data, action: "used",
      reason:
        "the members of \(name) are copies of those of \(leader ?? "another server"): change them there, or make the "
        + "space one of this server by tandem promote")
  }

  private static func run(
    _ change: SpaceMemberChange?, in space: String, of memberships: any SpaceMemberships,
    _ arguments: ParsedArguments
  ) async throws {
    let members = try await memberships.members(of: space)
    guard let change else { return try print(members, arguments) }
    guard change.role != nil || members.contains(where: { $0.account == change.account }) else {
      throw FileError(
        path: space, action: "changed",
        reason: "\(change.account) is no member: tandem member \(space) list shows them")
    }
    _ = try await memberships.change(change, in: space)
    TandemCLI.report(
      change.role.map { "\(change.account) is \($0 == .owner ? "an" : "a") \($0) of \(space)" }
        ?? "\(change.account) is no member of \(space) any more")
  }

  private static func print(_ members: [SpaceMember], _ arguments: ParsedArguments) throws {
    for member in members {
      if arguments[Option.json] {
        try OutputStream.printObject { json in
          json.field("account", member.account)
          json.field("role", member.role.rawValue)
        }
      } else {
        try OutputStream.printLines(["\(member.account) \(member.role.rawValue)"])
      }
    }
  }
}
