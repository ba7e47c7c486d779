internal import TandemRecords
internal import TandemSpace
package import TandemSync

/// The route of a request and the space that it names.
package struct RoutedRequest: Sendable {
  package let route: SyncRoute
  /// The name of the space; empty for a route without one.
  package let space: String
  /// The name of the account; empty for a route without one.
  package let account: String

  /// Finds the route of a request.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `unknownRoute`, `methodNotAllowed`, `malformed` or
  ///   `unsupportedMedia`.
  package init(_ head: ServedRequestHead) throws(SyncRequestError) {
    guard let segments = head.segments else {
      throw SyncRequestError(.malformed, "the path is not percent-encoded UTF-8")
    }
    let (routes, space, account) = SyncRoute.matching(segments)
    guard !routes.isEmpty else {
      throw SyncRequestError(
        .unknownRoute, "there is nothing at this address; /v1/openapi.json describes what there is")
    }
    // A body is left out of an answer to HEAD; a stream has nothing but a body.
    let method = head.method == "HEAD" && routes != [.events] ? "GET" : head.method
    guard let route = routes.first(where: { $0.method == method }) else {
      throw SyncRequestError(
        .methodNotAllowed,
        "this address knows \(routes.map(\.method).joined(separator: ", ")), not \(head.method)")
    }
    if let space, !SpaceName.isValid(space) {
      throw SyncRequestError(
        .malformed, "the name of a space matches \(SpaceName.pattern); this one does not")
    }
    if let account, !AccessToken.isAccount(account) {
      throw SyncRequestError(
        .malformed,
        "the name of an account has 1 to 128 letters, digits and signs of ASCII but #; this one does not"
      )
    }
    self.route = route
    self.space = space ?? ""
    self.account = account ?? ""
    if ["POST", "PUT"].contains(route.method) { try Self.checkMedia(head) }
  }

  /// Refuses a body that is not plain JSON. Web pages of other sites cannot send this type.
  static func checkMedia(_ head: ServedRequestHead) throws(SyncRequestError) {
    let type = (head.field("content-type") ?? "").split(separator: ";").first ?? ""
    guard type.filter({ $0 != " " }).lowercased() == "application/json",
      ["", "identity"].contains(head.field("content-encoding")?.lowercased() ?? "")
    else {
      throw SyncRequestError(
        .unsupportedMedia, "send JSON, not compressed, with Content-Type: application/json")
    }
  }

  /// Reads the parameters and the body.
  ///
  /// - Parameter mayWrite: False for a client that may only read: of its commit, no changes are read.
  /// - Throws: ``TandemSync/SyncRequestError`` with code `malformed` or `overLimit`.
  package func call(
    _ request: ServedRequest, mayWrite: Bool = true, limits: SyncLimits = SyncLimits()
  ) throws(SyncRequestError) -> SyncCall {
    let parameters = try QueryParameters(request.head, of: route)
    let reader = SyncMessageReader(limits: limits)
    do throws(TextFault) {
      switch route {
      case .health: return .health
      case .metrics: return .metrics
      case .description: return .description
      case .spaces: return .spaces
      case .space: return .state
      case .tables:
        guard request.body.count <= SyncLimits.maxDeclarationByteCount else {
          throw TextFault(
            .limitExceeded,
            "the declaration has more than \(SyncLimits.maxDeclarationByteCount) bytes",
            at: SyncLimits.maxDeclarationByteCount)
        }
        return .declare(try reader.tables(request.body))
      case .commits where mayWrite: return .commit(try reader.commit(request.body))
      case .commits: return .repeatedCommit(try reader.commitIdentity(request.body))
      case .changes, .events, .copies, .copy: break
      case .members: return .members
      case .removeMember: return .setMember(account: account, nil)
      case .setMember: break
      }
    } catch {
      throw SyncRequestError(error)
    }
    if route == .copies { return .copies(after: parameters[.tag]) }
    if route == .copy {
      let since = try parameters.value(.since, "the position of a copy") { SpaceCopyPosition($0) }
      return .copy(
        since: since, cursor: parameters[.cursor], members: parameters[.members])
    }
    if route == .setMember { return .setMember(account: account, try role(request.body)) }
    return try read(parameters)
  }

  /// The role in a body of a request, `{"role":"writer"}`.
  private func role(_ body: [UInt8]) throws(SyncRequestError) -> SpaceRole {
    guard body.count <= Self.maxRoleByteCount, let value = try? JSONValue(parsing: body),
      case .object(let fields) = value, fields.count == 1,
      let role = fields["role"]?.text.flatMap({ SpaceRole(rawValue: $0) })
    else {
      let names = SpaceRole.allCases.map { "\"\($0)\"" }.joined(separator: ", ")
      throw SyncRequestError(.malformed, "the body is {\"role\":R}, with R one of \(names)")
    }
    return role
  }

  /// The maximum length of a body with a role, in bytes.
  private static let maxRoleByteCount = 1_000

  /// Reads the parameters of a request for changes or events.
  private func read(_ parameters: QueryParameters) throws(SyncRequestError) -> SyncCall {
    let since = try parameters.value(.since, "a revision") { SpaceRevision($0) }
    guard route == .changes else { return .events(since: since) }
    let limit = try parameters.value(.limit, "a number of at least 1") { text in
      Int(text).flatMap { $0 >= 1 && String($0) == text ? $0 : nil }
    }
    let replica = try parameters.value(.replica, "a token of 32 hexadecimal digits") {
      SyncToken($0)
    }
    let known = try parameters.value(.known, "a revision") { SpaceRevision($0) }
    let asksForNumbers = try parameters.value(.numbers, "true") { $0 == "true" ? true : nil }
    return .changes(
      SyncPull(
        replica: replica, since: since, known: known, cursor: parameters[.cursor],
        maxChangeCount: limit ?? .max, asksForNumbers: asksForNumbers ?? false))
  }
}

/// The parameters of a query.
private struct QueryParameters {
  private var values: [SyncRoute.Parameter: String] = [:]

  init(_ head: ServedRequestHead, of route: SyncRoute) throws(SyncRequestError) {
    guard let parameters = head.parameters else {
      throw SyncRequestError(.malformed, "the query is not percent-encoded UTF-8")
    }
    for (name, value) in parameters {
      guard let parameter = SyncRoute.Parameter(rawValue: name),
        route.parameters.contains(parameter)
      else {
        let known = route.parameters.map(\.rawValue).joined(separator: ", ")
        throw SyncRequestError(
          .malformed,
          known.isEmpty
            ? "this address takes no parameters"
            : "the query has an unknown parameter; this address takes \(known)")
      }
      guard values.updateValue(value, forKey: parameter) == nil else {
        throw SyncRequestError(.malformed, "the query has the parameter \(name) twice")
      }
    }
  }

  subscript(parameter: SyncRoute.Parameter) -> String? { values[parameter] }

  func value<Value>(
    _ parameter: SyncRoute.Parameter, _ kind: String, _ convert: (String) -> Value?
  ) throws(SyncRequestError) -> Value? {
    guard let text = values[parameter] else { return nil }
    guard let value = convert(text) else {
      throw SyncRequestError(.malformed, "the parameter \(parameter.rawValue) is not \(kind)")
    }
    return value
  }
}
