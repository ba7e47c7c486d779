import Synchronization
import Tandem
import TandemServer
import TestFolder
import TestHTTPServer
import Testing

@testable import TandemCLI

/// A server that follows a leader which answers as a test says.
@Suite("A server that follows", .timeLimit(.minutes(20)))
struct FollowerTests {
  private typealias Events = AsyncStream<ServerEvent>.Iterator

  private let folder: TemporaryFolder
  private let spaces: SpaceDirectory

  init() throws {
    folder = try TemporaryFolder()
    spaces = try SpaceDirectory(reading: folder.path)
  }

  /// Calls `body` with the events of a follower.
  private func follow(
    _ leader: MisbehavingServer, _ body: (inout Events) async throws -> Void
  ) async throws {
    let server = try FollowedServer(leader.url, token: nil)
    try Following.begin(folder.path, leader: server.url)
    let (stream, log) = AsyncStream<ServerEvent>.makeStream()
    let follower = Follower(
      server: server, spaces: spaces, path: folder.path,
      following: Following(leader: server.url, in: folder.path), maxSpaceCount: 10,
      log: { log.yield($0) })
    let running = Task { await follower.run() }
    defer { running.cancel() }
    var events = stream.makeAsyncIterator()
    try await body(&events)
    running.cancel()
    await running.value
  }

  /// The next event with a text.
  private func event(_ part: String, _ events: inout Events) async throws -> ServerEvent {
    while true {
      let next = await events.next()
      let event = try #require(next)
      if event.message.contains(part) { return event }
    }
  }

  /// A page of a space that has a next page.
  private static func page(next: String) -> [UInt8] {
    let head = SpaceRevision(epoch: SyncToken(bits: 1), version: 4, mark: 2)
    let position = "\(head)~\(SyncToken(bits: 2))~0~\(RecordDigest.empty)"
    return Array(#"["copy","\#(position)",0,"\#(next)"]"#.utf8)
  }

  @Test("Pages that do not advance are refused, and the name of the space stays blocked")
  func repeatedPages() async throws {
    let list = SpaceCopyList(tag: "1", spaces: ["notes": "1"], former: [:]).bytes
    try await withServer { request, connection in
      guard request.path.hasPrefix("/v1/spaces/notes/copy") else {
        return connection.respond(200, [:], list)
      }
      let next = String(UInt64.random(in: .min ... .max), radix: 16)
      return connection.respond(200, [:], Self.page(next: next))
    } test: { leader in
      try await follow(leader) { events in
        let fault = try await event("not in step", &events)
        #expect(fault.level == .error)
        #expect(fault.space == "notes")
        #expect(fault.message.contains("is not after that of the page before"))
      }
    }
    #expect(spaces.former("notes") == .incomplete)
    #expect(try spaces.incompleteNames() == ["notes"])
  }

  @Test("A leader of an earlier version is not asked for members, and the log says so once")
  func earlierLeader() async throws {
    let page = try await page()
    let rows = page.drop { $0 != UInt8(ascii: "\n") }
    let fetched = Mutex<[String]>([])
    let round = Atomic(0)
    let (rounds, goOn) = AsyncStream<Void>.makeStream()
    try await withServer { request, connection in
      guard request.path.hasPrefix("/v1/spaces/notes/copy") else {
        if fetched.withLock({ $0.contains { $0.contains("members=") } }) { goOn.yield() }
        // From the third list on, it is one of this version.
        let number = round.add(1, ordering: .relaxed).newValue
        let text = number < 3 ? "\(number)" : SpaceCopyList.text(mark: "\(number)", members: "x")
        return connection.respond(
          200, [:], SpaceCopyList(tag: "\(number)", spaces: ["notes": text], former: [:]).bytes)
      }
      fetched.withLock { $0.append(request.path) }
      // Nothing follows the copy.
      let known = request.path.contains("since=") ? Array(page.dropLast(rows.count)) : page
      guard request.path.contains("members=") else { return connection.respond(200, [:], known) }
      let ann = SpaceMember(account: "ann", role: .owner)
      return connection.respond(
        200, [:], (try? SpaceCopyHeader.adding([ann], toLast: known)) ?? [])
    } test: { leader in
      try await follow(leader) { events in
        let warning = try await event("does not give the members", &events)
        #expect(warning.level == .warning)
        for await _ in rounds { break }
      }
    }
    let paths = fetched.withLock { $0 }
    #expect(paths.first?.contains("members=") == false)
    #expect(paths.first { $0.contains("members=") }?.contains("members=none") == true)
    let copy = try await SQLiteSpaceStore.read(path: spaces.file(of: "notes")) { try $0.copy() }
    #expect(copy?.members?.map(\.account) == ["ann"])
    #expect(try spaces.memberFile.members(of: "notes") == [])
  }

  @Test("What a promotion does to the copies is no fault of them")
  func promotion() async throws {
    let list = SpaceCopyList(tag: "1", spaces: ["notes": "1"], former: [:]).bytes
    let path = folder.path
    try await withServer { request, connection in
      guard request.path.hasPrefix("/v1/spaces/notes/copy") else {
        return connection.respond(200, [:], list)
      }
      try? Following.beginPromotion(of: path, leader: "http://leader")
      return connection.respond(200, [:], Array("no page".utf8))
    } test: { leader in
      try await follow(leader) { events in
        let next = await events.next()
        let first = try #require(next)
        #expect(first.message.hasPrefix("the spaces are promoted"), "\(first.message)")
      }
    }
    // The follower does not touch what it noted before.
    #expect(spaces.former("notes") == .incomplete)
  }

  @Test("A copy that cannot be marked as one of a deleted space is marked later")
  func lockedCopy() async throws {
    let file = spaces.file(of: "notes")
    try await makeCopy(at: file)
    let list = SpaceCopyList(tag: "1", spaces: [:], former: ["notes": .deleted]).bytes
    let lock = try DatabaseConnection(path: file, access: .readWrite)
    try lock.execute("BEGIN IMMEDIATE")
    try await withServer {
      $1.respond(200, [:], list)
    } test: { leader in
      try await follow(leader) { events in
        let fault = try await event("not in step", &events)
        #expect(fault.space == "notes")
        try lock.execute("ROLLBACK")
        let notice = try await event("has the space notes no more", &events)
        #expect(notice.message.contains("it was deleted there"))
      }
    }
    let copy = try await SQLiteSpaceStore.read(path: file) { try $0.copy() }
    #expect(copy?.isAbsent == true)
    #expect(spaces.former("notes") == .deleted)
  }

  @Test("A note that a space was deleted does not outlast the return of the space to the leader")
  func returned() async throws {
    let file = spaces.file(of: "notes")
    try await makeCopy(at: file)
    try spaces.note(.deleted, of: "notes")
    let found = try await SQLiteSpaceStore.read(path: file) { try $0.copy() }
    let copy = try #require(found)
    // Nothing follows the copy.
    let page = Array(#"["copy","\#(copy.position)",\#(copy.horizon),null]"#.utf8)
    let list = SpaceCopyList(tag: "1", spaces: ["notes": "1", "other": "1"], former: [:]).bytes
    try await withServer { request, connection in
      // The copies of a round end only when all have.
      if request.path.hasPrefix("/v1/spaces/other/copy") { return true }
      let isPage = request.path.hasPrefix("/v1/spaces/notes/copy")
      return connection.respond(200, [:], isPage ? page : list)
    } test: { leader in
      try await follow(leader) { _ in
        while spaces.former("notes") == .deleted { await Task.yield() }
      }
    }
    // With a copy, it has no effect.
    #expect(spaces.former("notes") == .incomplete)
    #expect(try spaces.incompleteNames() == ["other"])
  }

  private func makeCopy(at file: String) async throws {
    let page = try await page()
    try await SQLiteSpaceStore.receiveCopy(
      path: file, since: nil, after: nil, SpaceCopyHeader(ofPage: page),
      forEachPage: { body in try body(page) }, isPermitted: { true })
  }

  /// The only page of a space.
  private func page() async throws -> [UInt8] {
    let store = try await SQLiteSpaceStore.open(path: folder.path(of: "leader"), creates: true)
    _ = try await store.declare([
      SpaceTable(name: "note", columns: ["title"], keyColumns: ["id"], granularity: .field)
    ])
    let answer = try await store.copyPage(since: nil, cursor: nil)
    await store.close()
    guard case .page(let page) = answer else { throw SpaceCopyError.lost }
    return page
  }
}
