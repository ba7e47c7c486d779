import TandemReplica
import TandemServer
import TandemSync

/// In some scenarios, the programs reach the space through a ``SyncService``: requests and answers pass as
/// methods, addresses, fields and bytes.
extension Simulation {
  /// The events of the space, as a program follows them.
  struct Following {
    let stream: AnswerStream
    let client: SimulatedService.Client
    var reader = EventStreamReader()
    /// The events that have arrived, and the program does not know.
    var events: [SyncEvent] = []
    /// The revision up to which the stream has announced the commits.
    var position: SpaceRevision
  }

  /// The maximum number of requests that are under way at the same time.
  private static let maxMeetingCount = 5

  /// Sends a request, and others that are on their way, through the service. Their answers follow.
  func exchange(_ first: Message, _ service: SimulatedService) throws {
    var messages = [first]
    // Programs that are about to push do so now, so that commits form groups.
    if isFaulty, chance(20) {
      for driver in drivers.indices {
        if case .push? = drivers[driver].action { try act(driver) }
      }
    }
    // The same request may come twice at the same time, so that others wait behind both.
    if isFaulty, chance(20) { messages.append(first) }
    for position in network.indices.reversed() where isFaulty {
      guard messages.count < Simulation.maxMeetingCount, network[position].isRequest, chance(50)
      else { continue }
      messages.append(network.remove(at: position))
    }
    var requests: [(message: Message, request: SimulatedService.Request)] = []
    for message in messages {
      if let request = try request(message, service) { requests.append((message, request)) }
    }
    let answers = try service.answers(to: requests.map(\.request))
    if service.isKilled {
      note("the space is killed while it answers \(requests.map(\.message.request))")
      return restart(service)
    }
    for ((message, request), answer) in zip(requests, answers) {
      let event = try event(answer, to: request)
      try check(event, request.client, requests.map(\.request), service)
      if case .pushed(let outcome) = event, case .push(let commit) = message.content,
        service.outcomes[commit.id]?.contains(outcome) != true
      {
        throw SimulationViolation("the service answers a commit with the outcome of another one")
      }
      note("the service answers \(message.request) of driver \(message.driver): \(describe(event))")
      network.append(
        Message(driver: message.driver, request: message.request, content: .answer(event)))
    }
    if isFaulty, chance(10) { try intrude(service) }
    if isFaulty, chance(4) { try checkRevocation(service) }
  }

  /// The program of the space starts again. All streams end.
  func restart(_ service: SimulatedService) {
    service.restart()
    followings = [:]
  }

  /// A message as a request; `nil` if it was answered already.
  private func request(
    _ message: Message, _ service: SimulatedService
  ) throws -> SimulatedService.Request? {
    var client = SimulatedService.Client.writer
    if isFaulty, scenario.accidents.contains(.refusal), chance(15) {
      client = pick([.reader, .neighbor, .unknown, .nobody])
    }
    switch message.content {
    case .push(let commit):
      service.expect(commit, from: message.driver, as: client)
      return SimulatedService.Request(
        client: client, method: "POST", target: SimulatedService.path + "/commits",
        body: SyncMessageWriter.bytes(commit))
    case .pull(let pull):
      let parameters = [
        ("since", pull.since?.description), ("known", pull.known?.description),
        ("cursor", pull.cursor),
        ("limit", pull.maxChangeCount < .max ? "\(pull.maxChangeCount)" : nil),
        ("replica", pull.replica?.description), ("numbers", pull.asksForNumbers ? "true" : nil),
      ]
      return SimulatedService.Request(
        client: client, method: "GET",
        target: SimulatedService.path + "/changes" + query(parameters))
    case .answer, .unreadable: return nil
    }
  }

  private func query(_ parameters: [(String, String?)]) -> String {
    let parts = parameters.compactMap { name, value in
      value.map { "\(name)=\(percentEncoded($0))" }
    }
    return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
  }

  private func percentEncoded(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(Character(Unicode.Scalar(byte)))
      default: "%" + String(UInt16(byte) + 0x100, radix: 16).dropFirst()
      }
    }.joined()
  }

  /// An answer as its program reads it.
  private func event(
    _ answer: HTTPAnswer, to request: SimulatedService.Request
  ) throws -> SyncSession.Event {
    guard case .bytes(let bytes) = answer.content else {
      throw SimulationViolation("a stream answers \(request.method) \(request.target)")
    }
    do {
      let isPull = request.method == "GET"
      if isPull, answer.status == 200 {
        let page = try SyncMessageReader().page(bytes)
        if SyncMessageWriter.bytes(page) == bytes { return .pulled(.page(page)) }
      } else {
        let hasPause = answer.fields.contains { $0.name == "Retry-After" }
        switch try SyncMessageReader().answer(bytes) {
        case .success(.gone(let gone)) where isPull && answer.status == 410:
          return .pulled(.gone(gone))
        case .success(let outcome) where !isPull && answer.status == status(outcome):
          return .pushed(outcome)
        case .failure(let refusal)
        where answer.status == refusal.status && hasPause == refusal.isTransient:
          return .refused(refusal)
        default: break
        }
      }
    } catch {}
    throw SimulationViolation(
      "the service answers \(request.method) with \(answer.status) "
        + String(decoding: bytes, as: UTF8.self))
  }

  /// The status of an outcome, as Protocol.md has it.
  private func status(_ outcome: SyncOutcome) -> Int {
    switch outcome {
    case .accepted, .parts: 200
    case .conflict, .sequence: 409
    case .gone: 410
    case .refused: 422
    }
  }
}

// MARK: - Rights and limits

extension Simulation {
  /// Checks that an answer is one for the rights of the client.
  private func check(
    _ event: SyncSession.Event, _ client: SimulatedService.Client,
    _ requests: [SimulatedService.Request], _ service: SimulatedService
  ) throws {
    var code: SyncRequestError.Code?
    if case .refused(let refusal) = event { code = refusal.code }
    let isRight =
      switch client {
      case .nobody, .unknown: code == .unauthenticated
      case .neighbor:
        code == .unknownSpace || code == .tooManyRequests
      case .writer: code != .unauthenticated && code != .unauthorized && code != .unknownSpace
      case .reader, .stranger: code != .unauthenticated && code != .unknownSpace
      }
    let count = requests.count { $0.client == client }
    guard isRight, code != .tooManyRequests || count > service.limits.maxRequestCount else {
      throw SimulationViolation("the service answers the client \(client) with \(describe(event))")
    }
  }

  /// A client sends what it may not send. The answer says why, and nothing changes.
  private func intrude(_ service: SimulatedService) throws {
    let path = SimulatedService.path
    let head = space.head
    let commit = SyncCommit(
      replica: replicas[0], sequence: 1, id: .random(using: &random), base: head, changes: [])
    var request = SimulatedService.Request(
      client: .writer, method: "POST", target: path + "/commits",
      body: SyncMessageWriter.bytes(commit))
    let expected: Int
    switch Int.random(in: 0..<9, using: &random) {
    case 0: (request.client, expected) = (.nobody, 401)
    case 1: (request.client, expected) = (.unknown, 401)
    case 2: (request.client, expected) = (.neighbor, 404)
    case 3: (request.client, expected) = (.reader, 403)
    case 4: (request.type, expected) = ("text/plain", 415)
    case 5: (request.method, expected) = ("DELETE", 405)
    case 6:
      request.body.removeLast(Int.random(in: 1...request.body.count, using: &random))
      expected = 400
    case 7:
      request.body += [UInt8](
        repeating: UInt8(ascii: " "), count: scenario.limits.maxCommitByteCount)
      expected = 413
    default: (request.target, expected) = (path + "/commits?since=1", 400)
    }
    let answer = try service.answer(to: request)
    if service.isKilled {
      // The service keeps that it has refused a commit.
      note("the space is killed while it answers an intruder")
      return restart(service)
    }
    note("an intruder gets \(answer.status)")
    guard answer.status == expected, try space.state.head == head else {
      throw SimulationViolation(
        "the service answers an intruder with \(answer.status) instead of \(expected)")
    }
    try checkSecrets(service)
  }

  /// A token for another space does not learn whether this one exists; a token of another account does not
  /// see the commits of this account's replicas.
  private func checkSecrets(_ service: SimulatedService) throws {
    let routes = [
      ("GET", ""), ("GET", "/changes"), ("GET", "/events"), ("POST", "/tables"),
      ("POST", "/commits"),
    ]
    let (method, route) = pick(routes)
    let texts = try [SimulatedService.spaceName, "nowhere"].map { name in
      let answer = try service.answer(
        to: SimulatedService.Request(
          client: .neighbor, method: method, target: "/v1/spaces/\(name)\(route)"))
      guard case .bytes(let bytes) = answer.content, answer.status == 404 else {
        throw SimulationViolation("a token for another space gets \(answer.status)")
      }
      return String(decoding: bytes, as: UTF8.self).split(separator: name, maxSplits: 1)
    }
    guard texts[0] == texts[1] else {
      throw SimulationViolation("a token for another space learns that the space exists")
    }
    let answer = try service.answer(
      to: SimulatedService.Request(
        client: .stranger, method: "GET",
        target: SimulatedService.path + "/changes?limit=1&replica=\(replicas[0])"))
    // The space does not know the account of a replica before its first commit.
    let isHidden =
      if case .bytes(let bytes) = answer.content, answer.status == 200 {
        try SyncMessageReader().page(bytes).replica == nil
      } else {
        answer.status == 403
      }
    guard isHidden else {
      throw SimulationViolation("a token of another account sees the commits of a replica")
    }
  }

  /// After the token is revoked, no request is answered, and the streams end with the next heartbeat.
  private func checkRevocation(_ service: SimulatedService) throws {
    note("the token is revoked for a while")
    try service.revokingWriter {
      let answer = try service.answer(
        to: SimulatedService.Request(client: .writer, method: "GET", target: SimulatedService.path))
      try service.elapse()
      let isFollowed = followings.values.contains { $0.client == .writer && $0.stream.isOpen }
      guard answer.status == 401, !isFollowed else {
        throw SimulationViolation("the service answers a token that was revoked")
      }
    }
  }
}

// MARK: - Events

extension Simulation {
  /// The next event of the space that a program hears; `nil` if there is none.
  func nextEvent(for driver: Int, _ service: SimulatedService) throws -> SyncEvent? {
    if followings[driver] == nil { try follow(driver, service) }
    if isFaulty, chance(20) {
      note("driver \(driver) leaves its stream")
      followings.removeValue(forKey: driver)?.stream.end()
    }
    try hear(driver)
    guard followings[driver]?.events.isEmpty == false else { return nil }
    return followings[driver]?.events.removeFirst()
  }

  private func follow(_ driver: Int, _ service: SimulatedService) throws {
    var revision = try files[drivers[driver].file].read { try $0.state().revision }
    // Revisions of the past show whether the events that are kept are complete.
    if isFaulty, chance(30), case .commit(let from, _)? = space.events.randomElement(using: &random)
    {
      revision = from
    }
    let query = revision.map { "?since=\($0)" } ?? ""
    let head = space.head
    let client = pick([SimulatedService.Client.writer, .reader])
    let answer = try service.answer(
      to: SimulatedService.Request(
        client: client, method: "GET", target: SimulatedService.path + "/events" + query))
    note("driver \(driver) follows the space: \(answer.status)")
    guard case .stream(let stream) = answer.content else {
      // The replica's revision is of the past, or the token has too many streams.
      guard [410, 429].contains(answer.status) else {
        throw SimulationViolation("the service answers a stream with \(answer.status)")
      }
      return
    }
    followings[driver] = Following(stream: stream, client: client, position: revision ?? head)
    let count = followings.values.count { $0.client == client && $0.stream.isOpen }
    guard count <= service.limits.maxStreamCount else {
      throw SimulationViolation("the service has \(count) streams of the client \(client)")
    }
    try hear(driver)
    // The service need not have noticed yet that the space became another one.
    guard mayLoseCommits || followings[driver].map({ $0.position == space.head }) ?? true else {
      throw SimulationViolation("the stream of driver \(driver) does not lead to the present")
    }
  }

  /// Takes the bytes that wait in a stream. Its events announce each commit.
  private func hear(_ driver: Int) throws {
    guard var following = followings[driver] else { return }
    guard let bytes = following.stream.takeBytes() else {
      note("the stream of driver \(driver) has ended")
      followings[driver] = nil
      return
    }
    for event in try following.reader.events(adding: bytes) {
      if case .commit(let from, let page) = event {
        let isGap =
          from.epoch == following.position.epoch && from.version > following.position.version
        guard !isGap, from != page.revision, space.digests[page.revision] == page.digest else {
          throw SimulationViolation(
            "an event leads from version \(from.version) to \(page.revision.version) at version "
              + "\(following.position.version)")
        }
      }
      following.position = event.revision
      following.events.append(event)
    }
    // The last bytes may say why it ends.
    if !following.stream.isOpen { note("the stream of driver \(driver) has ended") }
    followings[driver] = following.stream.isOpen ? following : nil
  }

  /// At the end, each stream has announced the head.
  func checkFollowings(_ service: SimulatedService) throws {
    try service.elapse()
    for driver in drivers.indices {
      try hear(driver)
      guard let following = followings[driver], following.position != space.head else { continue }
      throw SimulationViolation(
        "the stream of driver \(driver) has not announced version \(space.head.version)")
    }
  }
}

extension Simulation.Message {
  /// True for a request that can be sent.
  var isRequest: Bool {
    switch content {
    case .push, .pull: true
    case .answer, .unreadable: false
    }
  }
}
