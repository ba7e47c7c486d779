package import TandemSpace
package import TandemSync

/// The requests that a server of spaces answers. `openapi.json` describes the same.
package enum SyncRoute: String, CaseIterable, Sendable {
  case health, metrics, description, copies, copy
  case spaces, space, tables, commits, changes, events
  case members, setMember, removeMember

  /// A parameter in the query of a request.
  package enum Parameter: String, CaseIterable, Sendable {
    case since, known, cursor, limit, replica, numbers, tag, members
  }

  /// The method.
  package var method: String {
    switch self {
    case .health, .metrics, .description, .spaces, .space, .changes, .events, .members, .copies,
      .copy:
      "GET"
    case .tables, .commits: "POST"
    case .setMember: "PUT"
    case .removeMember: "DELETE"
    }
  }

  /// The path, with `{space}` for the name of a space, and `{account}` for that of an account.
  package var template: String {
    switch self {
    case .health: "/healthz"
    case .metrics: "/metrics"
    case .description: "/v1/openapi.json"
    case .spaces: "/v1/spaces"
    case .space: "/v1/spaces/{space}"
    case .tables: "/v1/spaces/{space}/tables"
    case .commits: "/v1/spaces/{space}/commits"
    case .changes: "/v1/spaces/{space}/changes"
    case .events: "/v1/spaces/{space}/events"
    case .members: "/v1/spaces/{space}/members"
    case .setMember, .removeMember: "/v1/spaces/{space}/members/{account}"
    case .copies: "/v1/copies"
    case .copy: "/v1/spaces/{space}/copy"
    }
  }

  /// The parameters that the request may have, each once.
  package var parameters: [Parameter] {
    switch self {
    case .changes: [.since, .known, .cursor, .limit, .replica, .numbers]
    case .events: [.since]
    case .copies: [.tag]
    case .copy: [.since, .cursor, .members]
    case .health, .metrics, .description, .spaces, .space, .tables, .commits: []
    case .members, .setMember, .removeMember: []
    }
  }

  /// True if the path names a space.
  package var hasSpace: Bool { template.contains("{space}") }

  /// True if the path names an account.
  package var hasAccount: Bool { template.contains("{account}") }

  /// True if only owners of the space may send the request.
  var isForOwners: Bool { [.members, .setMember, .removeMember].contains(self) }

  /// True if the request is answered without an access token.
  package var isOpen: Bool { self == .health || self == .description }

  /// True if the request is for servers that follow this one.
  package var isForFollowers: Bool { self == .copies || self == .copy }

  /// The routes of a path, and the space and the account that it names.
  static func matching(
    _ segments: [String]
  ) -> (routes: [SyncRoute], space: String?, account: String?) {
    var space: String?
    var account: String?
    let routes = allCases.filter { route in
      let template = route.template.dropFirst().split(separator: "/")
      guard template.count == segments.count else { return false }
      return zip(template, segments).allSatisfy { part, segment in
        if part == "{space}" {
          space = segment
          return true
        }
        if part == "{account}" {
          account = segment
          return true
        }
        return part.utf8.elementsEqual(segment.utf8)
      }
    }
    return (
      routes, routes.contains(where: \.hasSpace) ? space : nil,
      routes.contains(where: \.hasAccount) ? account : nil
    )
  }
}

/// A request that was understood.
package enum SyncCall: Sendable {
  case health, metrics, description, spaces
  case state
  case declare([SpaceTable])
  case commit(SyncCommit)
  /// A commit of a client that may only read.
  case repeatedCommit(SyncCommitIdentity)
  case changes(SyncPull)
  case events(since: SpaceRevision?)
  case members
  /// Gives an account a role, or none.
  case setMember(account: String, SpaceRole?)
  /// The spaces, as soon as the list has another tag than this one.
  case copies(after: String?)
  /// A page of the rows of a space, with its members if they have another tag than this one.
  case copy(since: SpaceCopyPosition?, cursor: String?, members: String?)
}
