internal import TandemSpace
internal import TandemSync

/// Shows the spaces of a server to its operators, on a page at ``path``. It shows no fields of records, and changes
/// nothing but for administrators.
///
/// The page needs no access token, because it has no data. It asks its reader for a token, and
/// requests the data with it. The token must permit to inspect or to administer; it covers the spaces that it is for.
package final class Inspector: HTTPResponder {
  /// The address of the page.
  package static let path = "/inspect"
  /// The maximum number of spaces in an answer.
  package static let maxSpaceCount = 20
  /// The maximum number of replicas, of commits, and of overruled versions in an answer.
  package static let maxRowCount = 50

  let service: SyncService
  /// The access tokens that an administrator may change; `nil` for none.
  let tokens: (any TokenPlace)?

  /// An inspector beside a service, which answers all other requests.
  package init(_ service: SyncService, tokens: (any TokenPlace)? = nil) {
    self.service = service
    self.tokens = tokens
  }

  package func admission(of head: ServedRequestHead) -> HTTPAdmission {
    guard let route = InspectorRoute(head) else { return service.admission(of: head) }
    var subject = SyncService.Subject()
    do throws(SyncRequestError) {
      try service.checkAddress(of: head)
      let client = route.isOpen ? .local : try client(of: head, &subject)
      try service.checkRate(of: client)
      guard route.methods.contains(head.method) else {
        throw SyncRequestError(
          .methodNotAllowed, "this address knows \(route.methods[0]), not \(head.method)")
      }
      return service.admission(for: client)
    } catch {
      var answer = answer(.refusal(error))
      if error.code == .methodNotAllowed { answer.fields.append(("Allow", route.methods[0])) }
      return .refused(subject.noted(in: answer))
    }
  }

  package func answer(_ request: ServedRequest) async -> HTTPAnswer {
    switch InspectorRoute(request.head) {
    case nil: await service.answer(request)
    case .file(let file): counted(file.answer)
    case .state: await answer(request.head) { try await state(request.head, &$0) }
    case .action: await answer(request.head) { try await answerAction(request, &$0) }
    }
  }

  /// The answer to a request with the JSON of `body`, and what that has noted of the request.
  private func answer(
    _ head: ServedRequestHead, _ body: (inout SyncService.Subject) async throws -> String
  ) async -> HTTPAnswer {
    var subject = SyncService.Subject()
    let reply: SyncReply
    do {
      reply = .text(try await body(&subject), type: "application/json")
    } catch {
      reply = .refusal(error as? SyncRequestError ?? service.refusal(for: error, of: head))
    }
    return subject.noted(in: answer(reply))
  }

  package func answer(to trouble: ServerTrouble) -> HTTPAnswer { service.answer(to: trouble) }

  package func run() async { await service.run() }

  private func state(
    _ head: ServedRequestHead, _ subject: inout SyncService.Subject
  ) async throws -> String {
    let client = try client(of: head, &subject)
    let query = try InspectorQuery(head)
    subject.space = query.space
    try service.begin(client)
    defer { service.end(client) }
    return try await report(query, for: client).text
  }

  func answer(_ reply: SyncReply) -> HTTPAnswer { counted(reply.answer) }

  private func counted(_ answer: HTTPAnswer) -> HTTPAnswer {
    service.metrics.countAnswer(
      "inspect", status: answer.status, refusal: answer.event.reason)
    return answer
  }
}

// MARK: - The report

extension Inspector {
  /// The client of a request, if it may inspect at all.
  func client(
    of head: ServedRequestHead, _ subject: inout SyncService.Subject
  ) throws(SyncRequestError) -> SyncService.Client {
    let client = try service.client(of: head)
    subject.account = client.account
    if case .token(let token) = client, !token.isForInspector {
      throw SyncRequestError(
        .unauthorized,
        "the access token does not permit to inspect; tandem token create --inspect makes one "
          + "that does")
    }
    return client
  }

  private func report(
    _ query: InspectorQuery, for client: SyncService.Client
  ) async throws -> InspectorReport {
    let names = try await service.spaces.names().filter { client.mayInspect($0) }
    let found = names.filter { query.isFound($0) }
    var report = InspectorReport(
      time: millisecondsSince1970(), spaceCount: names.count, foundCount: found.count)
    for name in found.prefix(Inspector.maxSpaceCount) {
      report.spaces.append(await entry(of: name))
    }
    if case .token(let token) = client { report.mayChangeTokens = token.mayChangeTokens }
    if tokens == nil { report.mayChangeTokens = false }
    guard let space = query.space else { return report }
    // As for a space that does not exist.
    guard client.mayInspect(space) else { throw SyncRequestError.unknownSpace(space) }
    report.inspection = try await service.spaces.with(space) { store in
      (space, try await store.inspection(maxCount: Inspector.maxRowCount))
    }
    if case .token(let token) = client, token.mayAdminister(space) {
      report.members = try await service.spaces.members?.members(of: space)
    }
    return report
  }

  /// A line of the list. A space whose file is unusable must not hide the others.
  private func entry(of name: String) async -> InspectorReport.Entry {
    let state = try? await service.spaces.with(name) { store in try await store.state() }
    return InspectorReport.Entry(name: name, version: state?.head.version)
  }
}

// MARK: - Requests

/// The requests that an ``Inspector`` answers.
enum InspectorRoute: Equatable {
  case file(InspectorFile)
  case state, action

  /// True if the request needs no access token.
  var isOpen: Bool { if case .file = self { true } else { false } }

  /// The methods, with the one to use first.
  var methods: [String] { self == .action ? ["POST"] : ["GET", "HEAD"] }

  /// The route of a request; `nil` if another responder answers it.
  init?(_ head: ServedRequestHead) {
    if head.path == "\(Inspector.path)/state" {
      self = .state
    } else if head.path == "\(Inspector.path)/action" {
      self = .action
    } else if let file = InspectorFile(path: head.path) {
      self = .file(file)
    } else {
      return nil
    }
  }
}

/// The parameters of a request for the state.
struct InspectorQuery {
  /// The space to inspect; `nil` for the list alone.
  private(set) var space: String?
  /// A part of the names in the list.
  private(set) var search = ""

  /// Reads the parameters.
  ///
  /// - Throws: ``TandemSync/SyncRequestError`` with code `malformed`.
  init(_ head: ServedRequestHead) throws(SyncRequestError) {
    guard let parameters = head.parameters else {
      throw SyncRequestError(.malformed, "the query is not percent-encoded UTF-8")
    }
    for (name, value) in parameters {
      switch name {
      case "space" where space == nil && SpaceName.isValid(value): space = value
      case "space":
        throw SyncRequestError(
          .malformed, "the parameter space, once, is a name that matches \(SpaceName.pattern)")
      case "search": search = value.asciiLowercased
      default:
        throw SyncRequestError(.malformed, "this address takes the parameters space and search")
      }
    }
  }

  /// True if a name has the part that is searched for.
  func isFound(_ name: String) -> Bool {
    search.isEmpty || name.asciiLowercased.contains(search)
  }
}
