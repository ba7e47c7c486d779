import Foundation
import Synchronization
import TandemDifferences
import TandemHTTP
import TandemSync
import TestFolder
import TestHTTPServer
import TestRandom
import Testing

@testable import Tandem

struct SharedNote: Codable, Hashable, Identifiable, Sendable {
  var id: Int
  var text: String
}

/// The promises of ``ConditionalRemote``, kept by the remotes of this package.
@Suite("Remotes in files and on servers", .timeLimit(.minutes(20)))
struct RemoteTests {
  private let first = [SharedNote(id: 1, text: "Milk")]
  private let second = [SharedNote(id: 1, text: "Bread"), SharedNote(id: 2, text: "\"ä\"\n")]

  private func push(
    _ revision: RemoteRevision?, _ contents: [SharedNote], _ token: String
  ) -> ConditionalPush<SharedNote> {
    ConditionalPush(
      condition: revision.map { .revision($0) } ?? .absent, contents: contents,
      difference: SetDifference(), token: PushToken(token))
  }

  /// - Parameter reopened: Returns the remote as another process opens it.
  private func expectPromises<Remote: ConditionalRemote>(
    of reopened: () throws -> Remote
  ) async throws where Remote.Element == SharedNote {
    var remote = try reopened()
    #expect(try await remote.pull() == nil)
    let unknown = RemoteRevision(epoch: "1", commit: "1")
    #expect(try await remote.push(push(unknown, first, "a")) == nil)
    let creation = push(nil, first, "b")
    guard let one = try await remote.push(creation) else {
      Issue.record("the creation was rejected")
      return
    }
    for isReopened in [false, true] {
      if isReopened { remote = try reopened() }
      let contents = try await remote.pull()
      #expect(contents?.elements == first && contents?.revision == one)
      #expect(try await remote.push(push(nil, second, "c")) == nil)
      #expect(try await remote.push(push(unknown, [], "d")) == nil)
      #expect(try await remote.push(creation) == one, "a repetition")
    }
    let change = push(one, second, "e")
    guard let two = try await remote.push(change) else {
      Issue.record("the change was rejected")
      return
    }
    #expect(two.epoch == one.epoch && two != one)
    for isReopened in [false, true] {
      if isReopened { remote = try reopened() }
      #expect(try await remote.push(change) == two, "a repetition")
      #expect(try await remote.push(creation) == one, "an earlier one")
      #expect(try await remote.push(push(one, [], "f")) == nil)
      let contents = try await remote.pull()
      #expect(contents?.elements == second && contents?.revision == two)
    }
  }

  /// Several clients add records at once, until each has those of all.
  private func expectConvergence(
    _ remotes: [some ConditionalRemote<SharedNote>]
  ) async throws {
    let clients = try await withThrowingTaskGroup(of: [SharedNote].self) { group in
      for (number, remote) in remotes.enumerated() {
        group.addTask {
          var synchronizer = Synchronizer(
            remote: remote, identifiedBy: \.id, policy: .unresolved, epochPolicy: .union,
            maxRoundCount: 10_000)
          synchronizer.pause = { _ in }
          var client: [SharedNote] = []
          var shadow = RemoteShadow<SharedNote>()
          for round in 0..<5 {
            client.append(SharedNote(id: round * 100 + number, text: "\(round)"))
            try await synchronizer.synchronize(client: &client, shadow: &shadow)
          }
          return client
        }
      }
      return try await group.reduce(into: [[SharedNote]]()) { $0.append($1) }
    }
    guard let records = try await remotes[0].pull()?.elements else {
      Issue.record("nothing was pushed")
      return
    }
    #expect(records.count == remotes.count * 5)
    for client in clients { #expect(Set(client).isSubset(of: records)) }
  }

  // MARK: Files

  @Test("a file keeps the promises of a remote, over openings")
  func file() async throws {
    let folder = try TemporaryFolder()
    try await expectPromises { FileRemote(path: folder.path(of: "notes.json")) }
  }

  @Test("clients that push to one file at once lose nothing")
  func files() async throws {
    let folder = try TemporaryFolder()
    let remotes = (0..<6).map { _ in
      FileRemote<SharedNote>(path: folder.path(of: "notes.json"))
    }
    try await expectConvergence(remotes)
    #expect(Set(folder.names()) == ["notes.json", "notes.json.tandem-lock"])
  }

  @Test(
    "a push keeps the file's owner, and a file that a killed process left is not in the way",
    .enabled(if: geteuid() == 0, "only root can give files away"))
  func owner() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    let remote = FileRemote<SharedNote>(path: path)
    _ = try await remote.push(push(nil, first, "a"))
    #expect(chown(path, 65_534, 65_534) == 0 && chmod(path, 0o640) == 0)
    try folder.write("left over", to: "notes.json.tandem-new")
    guard let revision = try await remote.pull()?.revision else {
      Issue.record("there is no document")
      return
    }
    _ = try await remote.push(push(revision, second, "b"))
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_uid == 65_534 && status.st_gid == 65_534)
    #expect(status.st_mode & 0o7777 == 0o640)
    #expect(Set(folder.names()) == ["notes.json", "notes.json.tandem-lock"])
  }

  @Test("a push keeps the file's permissions, and a link stays one")
  func permissions() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    let link = folder.path(of: "link.json")
    let remote = FileRemote<SharedNote>(path: path)
    _ = try await remote.push(push(nil, first, "a"))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    let linked = FileRemote<SharedNote>(path: link)
    guard let revision = try await linked.pull()?.revision else {
      Issue.record("the link leads nowhere")
      return
    }
    _ = try await linked.push(push(revision, second, "b"))
    guard try await remote.pull()?.elements == second else {
      Issue.record("the push went elsewhere")
      return
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
  }

  @Test(
    "contents that are no document are an error on reading and writing, and stay",
    arguments: [
      "", "[]", "{", #"{"tandemRemote":2,"epoch":"a","commits":["b"],"records":[]}"#,
      #"{"tandemRemote":1,"epoch":"a","commits":[],"records":[]}"#,
      #"{"tandemRemote":1,"epoch":"a","commits":["b"],"records":[{"id":"x"}]}"#,
    ])
  func malformedFile(text: String) async throws {
    let folder = try TemporaryFolder()
    let remote = FileRemote<SharedNote>(path: try folder.write(text, to: "notes.json"))
    let pulling = await #expect(throws: RemoteError.self) { try await remote.pull() }
    #expect(pulling?.code == .malformed)
    let pushing = await #expect(throws: RemoteError.self) {
      try await remote.push(push(nil, first, "a"))
    }
    #expect(pushing?.code == .malformed)
    #expect(try folder.text(of: "notes.json") == text)
  }

  @Test("a document beyond the limit is neither written nor read")
  func tooLarge() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    let small = FileRemote<SharedNote>(path: path, maxByteCount: 120)
    let large = [SharedNote(id: 1, text: String(repeating: "a", count: 200))]
    let writing = await #expect(throws: RemoteError.self) {
      try await small.push(push(nil, large, "a"))
    }
    #expect(writing?.code == .tooLarge)
    #expect(try await small.pull() == nil)
    _ = try await FileRemote<SharedNote>(path: path).push(push(nil, large, "b"))
    let reading = await #expect(throws: RemoteError.self) { try await small.pull() }
    #expect(reading?.code == .tooLarge)
  }

  @Test("a folder, and a path in a folder that does not exist, are errors with the path")
  func noFile() async throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createSymbolicLink(
      atPath: folder.path(of: "link.json"), withDestinationPath: folder.path(of: "nothing.json"))
    try FileManager.default.createDirectory(
      atPath: folder.path(of: "folder"), withIntermediateDirectories: false)
    for name in ["folder", "missing/notes.json", "link.json"] {
      let path = folder.path(of: name)
      let error = await #expect(throws: RemoteError.self) {
        try await FileRemote<SharedNote>(path: path).push(push(nil, first, "a"))
      }
      #expect(error?.code == .file && error?.description.hasPrefix(path) == true)
    }
  }

  @Test("after a restart of the history, a known revision belongs to another epoch")
  func restart() async throws {
    let folder = try TemporaryFolder()
    let remote = FileRemote<SharedNote>(path: folder.path(of: "notes.json"))
    try await remote.restartHistory()
    #expect(try await remote.pull() == nil)
    guard let old = try await remote.push(push(nil, first, "a")) else {
      Issue.record("the creation was rejected")
      return
    }
    try await remote.restartHistory()
    guard let (records, new) = try await remote.pull(), records == first else {
      Issue.record("the records changed")
      return
    }
    #expect(new.epoch != old.epoch)
    #expect(try await remote.push(push(old, [], "b")) == nil)
  }

  @Test("a push waits while another one has the lock, and can be cancelled")
  func locked() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "notes.json")
    let lock = open(path + ".tandem-lock", O_RDWR | O_CREAT, 0o600)
    #expect(flock(lock, LOCK_EX) == 0)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await FileRemote<SharedNote>(path: path).push(push(nil, first, "a"))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    // Another test may have copied the descriptor into a process that it starts.
    flock(lock, LOCK_UN)
    close(lock)
    guard
      try await FileRemote<SharedNote>(path: path).push(push(nil, first, "a")) != nil
    else {
      Issue.record("the lock was not released")
      return
    }
  }

  @Test("the tokens of as many pushes as promised are remembered")
  func tokens() throws {
    typealias Document = RemoteDocument<SharedNote>
    var document: Document?
    for number in 0..<Document.maxCommitCount * 2 {
      guard
        case .store(let next) = Document.decide(
          first, at: document?.revision, token: "\(number)", current: document)
      else {
        Issue.record("push \(number) was rejected")
        return
      }
      document = next
    }
    let last = try #require(document)
    #expect(last.commits.count == Document.maxCommitCount)
    guard
      case .reply(let revision?) = Document.decide(
        [], at: nil, token: "\(Document.maxCommitCount)", current: last),
      case .reply(nil) = Document.decide(
        [], at: nil, token: "\(Document.maxCommitCount - 1)", current: last)
    else {
      Issue.record("another number of tokens is remembered")
      return
    }
    #expect(revision.commit == "\(Document.maxCommitCount)")
  }

  // MARK: Servers

  @Test("a server with entity tags keeps the promises of a remote")
  func server() async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      try await expectPromises {
        HTTPRemote(url: server.url + "/notes", client: try SystemHTTPClient())
      }
    }
  }

  @Test("clients that push to one server at once lose nothing")
  func servers() async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let client = try SystemHTTPClient()
      try await expectConvergence(
        (0..<4).map { _ in HTTPRemote<SharedNote>(url: server.url + "/notes", client: client) })
    }
  }

  @Test("a push whose reply is lost is recognised when it is repeated, and not applied again")
  func lostReply() async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let client = try SystemHTTPClient()
      let remote = HTTPRemote<SharedNote>(url: server.url, client: client)
      let other = HTTPRemote<SharedNote>(url: server.url, client: client)
      guard let one = try await remote.push(push(nil, first, "a")) else {
        Issue.record("the creation was rejected")
        return
      }
      store.losesReplies = true
      let change = push(one, second, "b")
      await #expect(throws: TransportError.self) { try await remote.push(change) }
      store.losesReplies = false
      guard let (records, two) = try await other.pull(), records == second else {
        Issue.record("the push was not applied")
        return
      }
      guard let three = try await other.push(push(two, first, "c"))
      else {
        Issue.record("the next push was rejected")
        return
      }
      #expect(try await remote.push(change) == two)
      let contents = try await remote.pull()
      #expect(contents?.elements == first && contents?.revision == three)
    }
  }

  @Test("a server that ignores conditions is refused, and keeps its contents")
  func ignoredConditions() async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let client = try SystemHTTPClient()
      _ = try await HTTPRemote<SharedNote>(url: server.url, client: client)
        .push(push(nil, first, "a"))
      store.ignoresConditions = true
      let before = store.bytes
      let remote = HTTPRemote<SharedNote>(url: server.url, client: client)
      let revision = try await remote.pull()?.revision
      let error = await #expect(throws: RemoteError.self) {
        try await remote.push(push(revision, second, "b"))
      }
      #expect(error?.code == .unconditional)
      #expect(store.bytes == before)
    }
  }

  @Test("a server that ignores conditions is refused at the first push")
  func ignoredConditionsOfCreation() async throws {
    let store = DocumentStore()
    store.ignoresConditions = true
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(url: server.url, client: try SystemHTTPClient())
      let error = await #expect(throws: RemoteError.self) {
        try await remote.push(push(nil, second, "b"))
      }
      #expect(error?.code == .unconditional)
    }
  }

  @Test("a weak entity tag, or none, is refused", arguments: [nil, "W/\"1\"", "1", "\""])
  func weakTags(tag: String?) async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(url: server.url, client: try SystemHTTPClient())
      _ = try await remote.push(push(nil, first, "a"))
      store.makeTag = { _ in tag }
      let error = await #expect(throws: RemoteError.self) { try await remote.pull() }
      #expect(error?.code == .noEntityTag)
    }
  }

  @Test(
    "an error of the server is neither absent contents nor an accepted push",
    arguments: [202, 203, 206, 401, 403, 405, 409, 500, 503])
  func failures(status: Int) async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(
        url: server.url.replacing("://", with: "://user:secret@"), client: try SystemHTTPClient())
      guard let one = try await remote.push(push(nil, first, "a")) else {
        Issue.record("the creation was rejected")
        return
      }
      store.status = status
      for isPull in [true, false] {
        let error = await #expect(throws: RemoteError.self) {
          if isPull {
            _ = try await remote.pull()
          } else {
            _ = try await remote.push(push(one, second, "b"))
          }
        }
        #expect(error?.code == .status && error?.message.contains("\(status)") == true)
        #expect(error.map { "\($0)".contains("secret") } == false)
      }
      store.status = nil
      let contents = try await remote.pull()
      #expect(contents?.elements == first && contents?.revision == one)
    }
  }

  @Test(
    "a document that is removed before a push is a rejection without a revision",
    arguments: [404, 412])
  func removed(status: Int) async throws {
    let store = DocumentStore()
    store.statusOfMissing = status
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(url: server.url, client: try SystemHTTPClient())
      guard let one = try await remote.push(push(nil, first, "a")) else {
        Issue.record("the creation was rejected")
        return
      }
      store.remove()
      #expect(try await remote.push(push(one, second, "b")) == nil)
    }
  }

  @Test("requests carry the given fields, and ask for bytes as they are stored")
  func fields() async throws {
    let store = DocumentStore()
    try await withServer(store.answer) { server in
      let remote = HTTPRemote<SharedNote>(
        url: server.url, client: try SystemHTTPClient(), fields: ["Authorization": "Bearer t"])
      _ = try await remote.push(push(nil, first, "a"))
      try await remote.restartHistory()
      #expect(server.requests.allSatisfy { $0.fields["Authorization"] == "Bearer t" })
      let encodings = server.requests.compactMap {
        $0.method == "GET" ? $0.fields["Accept-Encoding"] : nil
      }
      #expect(encodings == ["identity", "identity"])
      let puts = server.requests.filter { $0.method == "PUT" }
      // A write that must fail, the creation, and the new history.
      #expect(puts.map { $0.fields["If-None-Match"] } == [nil, "*", nil])
      #expect(puts.map { $0.fields["If-Match"]?.hasPrefix("\"tandem-") } == [true, nil, false])
    }
  }
}

/// One resource of a server with entity tags.
final class DocumentStore: Sendable {
  private struct State {
    var bytes: [UInt8]?
    var version = 0
    var losesReplies = false
    var losesRepliesOfWrites = false
    var omitsTagsOfWrites = false
    var ignoresConditions = false
    var status: Int?
    var statusOfMissing = 412
    var makeTag: @Sendable (Int) -> String? = { "\"\($0)\"" }

    var tag: String? { bytes == nil ? nil : makeTag(version) }
  }

  private let state = Mutex(State())

  var bytes: [UInt8]? { state.withLock { $0.bytes } }

  var losesReplies: Bool {
    get { state.withLock { $0.losesReplies } }
    set { state.withLock { $0.losesReplies = newValue } }
  }

  /// True to lose all replies from the next accepted write on.
  var losesRepliesOfWrites: Bool {
    get { state.withLock { $0.losesRepliesOfWrites } }
    set {
      state.withLock {
        $0.losesRepliesOfWrites = newValue
        $0.losesReplies = false
      }
    }
  }

  var omitsTagsOfWrites: Bool {
    get { state.withLock { $0.omitsTagsOfWrites } }
    set { state.withLock { $0.omitsTagsOfWrites = newValue } }
  }

  /// Replaces the contents as another program does.
  func replace(_ text: String) {
    state.withLock {
      $0.bytes = Array(text.utf8)
      $0.version += 1
    }
  }

  var ignoresConditions: Bool {
    get { state.withLock { $0.ignoresConditions } }
    set { state.withLock { $0.ignoresConditions = newValue } }
  }

  /// The status of every response, which does nothing.
  var status: Int? {
    get { state.withLock { $0.status } }
    set { state.withLock { $0.status = newValue } }
  }

  /// The status of a conditional write to nothing.
  var statusOfMissing: Int {
    get { state.withLock { $0.statusOfMissing } }
    set { state.withLock { $0.statusOfMissing = newValue } }
  }

  var makeTag: @Sendable (Int) -> String? {
    get { state.withLock { $0.makeTag } }
    set { state.withLock { $0.makeTag = newValue } }
  }

  func remove() { state.withLock { $0.bytes = nil } }

  @Sendable func answer(_ request: MisbehavingServer.Request, _ connection: Connection) -> Bool {
    let (status, tag, body, isLost) = state.withLock { state in
      let (status, body) = handle(request, &state)
      let isWrite = request.method == "PUT" && status < 300
      if isWrite, state.losesRepliesOfWrites { state.losesReplies = true }
      return (
        status, isWrite && state.omitsTagsOfWrites ? nil : state.tag, body, state.losesReplies
      )
    }
    if isLost {
      connection.reset()
      return false
    }
    var fields = HTTPFields()
    fields["ETag"] = tag
    return connection.respond(status, fields, body)
  }

  private func handle(
    _ request: MisbehavingServer.Request, _ state: inout State
  ) -> (status: Int, body: [UInt8]) {
    if let status = state.status { return (status, []) }
    guard request.method == "PUT" else {
      return state.bytes.map { (200, $0) } ?? (404, [])
    }
    if !state.ignoresConditions {
      if let condition = request.fields["If-Match"], condition != state.tag {
        return (state.bytes == nil ? state.statusOfMissing : 412, [])
      }
      if request.fields["If-None-Match"] != nil, state.bytes != nil { return (412, []) }
    }
    let isNew = state.bytes == nil
    state.bytes = request.body
    state.version += 1
    return (isNew ? 201 : 204, [])
  }
}
