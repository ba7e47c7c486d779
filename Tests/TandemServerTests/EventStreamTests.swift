import Foundation
import Synchronization
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import Testing

@testable import TandemServer

@Suite(.timeLimit(.minutes(20))) struct EventStreamTests {
  @Test("Each commit reaches each client, with its changes and the revision before")
  func commits() async throws {
    try await TestEvents.with { test in
      var streams: [EventReader] = []
      for _ in 0..<3 { streams.append(try await test.stream(since: test.head)) }
      // The first commit may come before the service has read the space: then its event is a head.
      var revision = try await test.commit([insertion(0)])
      for stream in streams { #expect(try await stream.next().revision == revision) }
      for number in 1...4 {
        let next = try await test.commit([insertion(number)])
        for stream in streams {
          guard case .commit(let from, let page) = try await stream.next() else {
            Issue.record("a head instead of a commit")
            continue
          }
          #expect(from == revision)
          #expect(page.revision == next)
          #expect(page.changes.map(\.key.id) == [[.integer(Int64(number))]])
          #expect(page.digest == (try await test.state()).digest)
        }
        revision = next
      }
    }
  }

  @Test("More spaces can be followed than may be open, and each client hears of each commit")
  func moreSpacesThanFiles() async throws {
    var limits = SyncService.Limits()
    limits.heartbeat = .seconds(3_600)
    let test = try TestService(limits: limits, maxOpenCount: 2)
    let run = Task { await test.service.run() }
    var followed: [(name: String, head: SpaceRevision, reader: EventReader)] = []
    for name in ["a", "b", "c", "d", "e"] {
      let head = try await test.makeSpace(name)
      let answer = await test.answer("GET", "/v1/spaces/\(name)/events")
      followed.append((name, head, EventReader(try #require(answer.stream))))
    }
    for round in 1...3 {
      for place in followed.indices {
        var replica = TestReplica(seed: 10 * round + place)
        let commit = replica.commit(followed[place].head, [insertion(round)])
        let answer = await test.answer(
          "POST", "/v1/spaces/\(followed[place].name)/commits",
          body: SyncMessageWriter.bytes(commit))
        guard case .accepted(let head, _) = try answer.outcome() else {
          Issue.record("\(answer.text)")
          return
        }
        followed[place].head = head
        while try await followed[place].reader.next().revision != head {}
      }
    }
    #expect(test.metrics.text.contains("tandem_space_errors_total 0\n"))
    run.cancel()
    await run.value
  }

  @Test("A client that connects again gets the events since its revision")
  func resumed() async throws {
    try await TestEvents.with { test in
      let first = try await test.stream(since: nil)
      var revisions = [test.head]
      for number in 1...3 {
        revisions.append(try await test.commit([insertion(number)]))
        _ = try await first.next()
      }
      let second = try await test.stream(since: revisions[1])
      for number in 1...2 {
        guard case .commit(let from, let page) = try await second.next() else {
          Issue.record("a head instead of a commit")
          return
        }
        #expect(from == revisions[number] && page.revision == revisions[number + 1])
      }
    }
  }

  @Test("A client without a revision hears of each commit after the answer")
  func fromNowOn() async throws {
    // The service has not begun to read the space when the first commit is made.
    let test = try await TestEvents()
    let stream = try await test.stream(since: nil)
    let witness = try await test.stream(since: test.head)
    let first = try await test.commit([insertion(1)])
    let run = Task { await test.service.service.run() }
    #expect(try await witness.next().revision == first)
    // A stream that missed the first commit would begin with the second one.
    _ = try await test.commit([insertion(2)])
    #expect(try await stream.next().revision == first)
    run.cancel()
    await run.value
  }

  @Test("A client whose events are not kept gets the head, and pulls")
  func head() async throws {
    try await TestEvents.with { test in
      let early = test.head
      _ = try await test.commit([insertion(1)])
      let second = try await test.commit([insertion(2)])
      // Nobody has followed the space so far: no event was kept.
      let stream = try await test.stream(since: early)
      #expect(try await stream.next() == .head(second))
      // The changes of a large commit are pulled.
      let large = try await test.commit([insertion(3, String(repeating: "x", count: 300_000))])
      #expect(try await stream.next() == .head(large))
      // Afterwards, events follow each other again.
      let next = try await test.commit([insertion(4)])
      guard case .commit(let from, let page) = try await stream.next() else {
        Issue.record("a head instead of a commit")
        return
      }
      #expect(from == large && page.revision == next)
    }
  }

  @Test("A client whose events were interrupted by a long one gets the head, and pulls")
  func interrupted() async throws {
    try await TestEvents.with { test in
      let early = test.head
      let first = try await test.stream(since: early)
      var last = early
      for text in ["short", String(repeating: "x", count: 300_000), "short"] {
        last = try await test.commit([insertion(last.version + 1, text)])
        #expect(try await first.next().revision == last)
      }
      let second = try await test.stream(since: early)
      #expect(try await second.next() == .head(last))
    }
  }

  @Test("A commit of another program reaches the clients too")
  func otherProgram() async throws {
    try await TestEvents.with { test in
      let stream = try await test.stream(since: test.head)
      let store = try await SQLiteSpaceStore.open(
        path: test.service.spaces.file(of: "notes"), creates: false)
      var replica = TestReplica(seed: 99)
      let outcome = try await store.commit(replica.commit(test.head, [insertion(9)]))
      await store.close()
      guard case .accepted(let revision, _) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(try await stream.next().revision == revision)
    }
  }

  @Test("The stream of a token that is revoked, or loses the space, ends with a heartbeat")
  func revoked() async throws {
    var limits = SyncService.Limits()
    limits.heartbeat = .milliseconds(20)
    let tokens: [AccessToken] = [
      .of("a", "ann", .read, ["notes"]), .of("b", "bob", .read, ["notes"]),
    ]
    try await TestEvents.with(tokens: tokens, limits: limits) { test in
      let revoked = try await test.stream(since: test.head, secret: "a")
      let kept = try await test.stream(since: test.head, secret: "b")
      // Replaced at once, as by tandem token. While the file is being written, it has no token at all.
      let folder = test.service.folder
      try folder.write(TestService.text([tokens[1]]), to: "new")
      #expect(rename(folder.path(of: "new"), folder.path(of: "tokens")) == 0)
      #expect(
        await revoked.textUntilEnd().hasSuffix(
          ": the access token has ended, or does not permit to read the space any more\n\n"))
      let next = try await test.commit([insertion(1)])
      #expect(try await kept.next().revision == next)
    }
  }

  @Test("A revoked or expired token gets no further commit, whenever the next heartbeat is")
  func endsBeforeCommit() async throws {
    var limits = SyncService.Limits()
    limits.heartbeat = .seconds(3_600)
    let soon = AccessToken(
      secret: "a", account: "ann", access: .read, scope: .spaces(["notes"]), expiry: 1_000)
    let kept = AccessToken.of("b", "bob", .read, ["notes"])
    let gone = AccessToken.of("c", "cat", .read, ["notes"])
    let time = Mutex(999.0)
    try await TestEvents.with(
      tokens: [soon, kept, gone], limits: limits, now: { time.withLock { $0 } }
    ) { test in
      let streams = try await [
        test.stream(since: test.head, secret: "a"), test.stream(since: test.head, secret: "b"),
        test.stream(since: test.head, secret: "c"),
      ]
      let folder = test.service.folder
      try folder.write(TestService.text([soon, kept]), to: "new")
      #expect(rename(folder.path(of: "new"), folder.path(of: "tokens")) == 0)
      let first = try await test.commit([insertion(1)])
      #expect(try await streams[0].next().revision == first)
      #expect(try await streams[1].next().revision == first)
      await streams[2].waitForEnd()
      time.withLock { $0 = 1_000 }
      let second = try await test.commit([insertion(2)])
      #expect(try await streams[1].next().revision == second)
      #expect(await streams[0].textUntilEnd().contains(": the access token has ended"))
      for (secret, status) in [("a", 401), ("b", 200), ("b\0", 401), ("b ", 401), ("", 401)] {
        #expect(await test.service.answer("GET", "/v1/spaces", secret: secret).status == status)
      }
    }
  }

  @Test("A token has at most so many streams, and the place of one that has ended is free again")
  func streamLimit() async throws {
    var limits = SyncService.Limits()
    limits.maxTokenStreamCount = 2
    try await TestEvents.with(limits: limits) { test in
      let path = "/v1/spaces/notes/events"
      let first = await test.service.answer("GET", path)
      #expect(first.status == 200)
      #expect(await test.service.answer("GET", path).status == 200)
      let third = await test.service.answer("GET", path)
      #expect(third.status == 429)
      #expect(third.code == "tooManyRequests")
      #expect(third.field("Retry-After") == "1")
      first.stream?.end()
      #expect(await test.service.answer("GET", path).status == 200)
    }
  }

  @Test("A token follows at most so many spaces, which the log has once")
  func spaceLimit() async throws {
    var limits = SyncService.Limits()
    limits.maxTokenFollowedSpaceCount = 2
    let test = try TestService(limits: limits)
    for name in ["a", "b", "c"] { try await test.makeSpace(name) }
    func follow(_ name: String) async -> HTTPAnswer {
      await test.answer("GET", "/v1/spaces/\(name)/events")
    }
    let first = await follow("a")
    #expect(await follow("b").status == 200)
    #expect(await follow("a").status == 200)
    for _ in 0..<2 { #expect(await follow("c").code == "tooManyRequests") }
    #expect(test.log.count == 1 && test.log[0].message.contains("`maxTokenFollowedSpaceCount`"))
    #expect(await follow("b").status == 200)
    first.stream?.end()
    #expect(await follow("c").status == 429)
  }

  @Test("A server announces the commits of its service, and nothing else has to run")
  func served() async throws {
    let test = try await TestEvents()
    // The second server serves the same service after the end of the first one.
    for _ in 0..<2 {
      let socket = try ListeningSocket(host: "127.0.0.1", port: 0, allowsOthers: false)
      let server = try HTTPServer(socket, responder: test.service.service)
      let run = Task { await server.run() }
      let connection = try RawConnection(port: socket.port)
      await connection.send(
        "GET /v1/spaces/notes/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
      _ = await connection.text(until: "text/event-stream")
      let revision = try await test.commit([insertion(try await test.state().head.version)])
      #expect(await connection.text(until: "\(revision)").contains("event:"))
      run.cancel()
      await run.value
    }
  }

  @Test("Of two runs of a service, the one that remains announces the commits")
  func twoRuns() async throws {
    let test = try await TestEvents()
    let first = Task { await test.service.service.run() }
    let stream = try await test.stream(since: test.head)
    // The first run reads the space.
    let before = try await test.commit([insertion(1)])
    #expect(try await stream.next().revision == before)
    let second = Task { await test.service.service.run() }
    while test.service.service.feeds.runCount < 2 { await Task.yield() }
    first.cancel()
    await first.value
    let after = try await test.commit([insertion(2)])
    #expect(try await stream.next().revision == after)
    second.cancel()
    await second.value
    await stream.waitForEnd()
  }

  @Test("Streams end when the service does")
  func end() async throws {
    let test = try await TestEvents()
    let run = Task { await test.service.service.run() }
    let stream = try await test.stream(since: test.head)
    run.cancel()
    await run.value
    await stream.waitForEnd()
  }
}

/// A service that runs, with the space `notes`.
final class TestEvents: Sendable {
  let service: TestService
  let head: SpaceRevision
  private let replica = TestReplicaBox()

  init(
    tokens: [AccessToken]? = nil, limits: SyncService.Limits = SyncService.Limits(),
    now: @escaping @Sendable () -> Double = WallClock.seconds
  ) async throws {
    service = try TestService(tokens: tokens, limits: limits, now: now)
    head = try await service.makeSpace("notes")
  }

  static func with(
    tokens: [AccessToken]? = nil, limits: SyncService.Limits = SyncService.Limits(),
    now: @escaping @Sendable () -> Double = WallClock.seconds,
    _ body: (TestEvents) async throws -> Void
  ) async throws {
    let test = try await TestEvents(tokens: tokens, limits: limits, now: now)
    let run = Task { await test.service.service.run() }
    do {
      try await body(test)
    } catch {
      run.cancel()
      throw error
    }
    run.cancel()
    await run.value
  }

  func state() async throws -> SpaceState {
    try await service.spaces.with("notes") { try await $0.state() }
  }

  /// Commits changes by another way than the service.
  func commit(_ changes: [SyncChange]) async throws -> SpaceRevision {
    let commit = replica.commit(try await state().head, changes)
    let outcome = try await service.spaces.with("notes") { store in
      try await store.commit(commit, account: nil)
    }
    guard case .accepted(let revision, _) = outcome else { throw NotAccepted(outcome: outcome) }
    return revision
  }

  func stream(since: SpaceRevision?, secret: String? = nil) async throws -> EventReader {
    let query = since.map { "?since=\($0)" } ?? ""
    let answer = await service.answer("GET", "/v1/spaces/notes/events\(query)", secret: secret)
    #expect(answer.field("Content-Type") == "text/event-stream")
    return EventReader(try #require(answer.stream))
  }
}

struct NotAccepted: Error { let outcome: SyncOutcome }
