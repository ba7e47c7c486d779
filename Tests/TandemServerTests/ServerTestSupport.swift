import Synchronization
import TandemDigests
import TandemRecords
import TandemSpace
import TandemSync
import TestFolder
import TestRandom
import Testing

@testable import TandemServer

/// A service with spaces and access tokens in a temporary folder.
final class TestService: Sendable {
  let folder: TemporaryFolder
  let spaces: SpaceDirectory
  let service: SyncService
  let metrics = ServerMetrics()
  private let lines: EventLog

  /// The messages for the operator.
  var log: [ServerEvent] { lines.all }

  /// - Parameter tokens: The lines of the token file; `nil` for a service without access tokens.
  init(
    tokens: [AccessToken]? = nil, limits: SyncService.Limits = SyncService.Limits(),
    maxOpenCount: Int = 8, maxSpaceCount: Int = 10, maxCreatedCount: Int? = nil,
    now: @escaping @Sendable () -> Double = WallClock.seconds
  ) throws {
    folder = try TemporaryFolder()
    spaces = try SpaceDirectory(
      path: folder.path(of: "spaces"), maxOpenCount: maxOpenCount, maxSpaceCount: maxSpaceCount,
      maxCreatedCount: maxCreatedCount, limits: limits.messages, metrics: metrics)
    var file: TokenFile?
    if let tokens {
      try folder.write(Self.text(tokens), to: "tokens")
      file = try TokenFile(path: folder.path(of: "tokens"), now: now)
    }
    let lines = EventLog()
    self.lines = lines
    service = SyncService(spaces: spaces, tokens: file, limits: limits, metrics: metrics) {
      lines.add($0)
    }
  }

  static func text(_ tokens: [AccessToken]) throws -> String {
    var list = TokenList()
    for token in tokens { try list.add(token) }
    return list.text
  }

  /// Answers a request as an ``HTTPServer`` does.
  func answer(
    _ method: String, _ target: String, secret: String? = nil, body: [UInt8] = [],
    fields: [(name: String, value: String)] = [], address: String? = nil
  ) async -> HTTPAnswer {
    var all = fields
    if !all.contains(where: { $0.name == "Host" }) { all.append(("Host", "127.0.0.1:7420")) }
    if let secret { all.append(("Authorization", "Bearer \(secret)")) }
    if ["POST", "PUT"].contains(method), !all.contains(where: { $0.name == "Content-Type" }) {
      all.append(("Content-Type", "application/json"))
    }
    let head = ServedRequestHead(method: method, target: target, fields: all, address: address)
    if case .refused(let refusal) = service.admission(of: head) { return refusal }
    return await service.answer(ServedRequest(head: head, body: body))
  }

  /// Creates a space with the table `t`, and returns its revision.
  @discardableResult
  func makeSpace(_ name: String) async throws -> SpaceRevision {
    try await spaces.with(name, creates: true) { store in
      _ = try await store.declare([.t])
      return try await store.state().head
    }
  }
}

/// The events that a server has logged.
final class EventLog: Sendable {
  private let events = Mutex<[ServerEvent]>([])
  var all: [ServerEvent] { events.withLock { $0 } }
  func add(_ event: ServerEvent) { events.withLock { $0.append(event) } }
}

extension SpaceTable {
  static let t = SpaceTable(
    name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: .field)
}

extension AccessToken {
  /// The token of a secret.
  static func of(
    _ secret: String, _ account: String, _ access: AccessToken.Access, _ spaces: [String],
    creates: [String] = []
  ) -> AccessToken {
    AccessToken(
      hash: SHA256Digest(of: secret.utf8), account: account, access: access,
      scope: AccessToken.scope(spaces) ?? .spaces([]),
      creates: AccessToken.scope(creates) ?? .spaces([]))
  }
}

extension HTTPAnswer {
  /// The bytes of the body; empty for a stream.
  var bytes: [UInt8] {
    if case .bytes(let bytes) = content { bytes } else { [] }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The stream; `nil` if the answer is none.
  var stream: AnswerStream? {
    if case .stream(let stream) = content { stream } else { nil }
  }

  func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The code of the rejection; `nil` if the answer is none.
  var code: String? {
    guard case .failure(let refusal)? = try? SyncMessageReader().answer(bytes) else { return nil }
    return refusal.code.name
  }

  /// The outcome of a commit.
  func outcome() throws -> SyncOutcome { try SyncMessageReader().answer(bytes).get() }
}

/// Makes the commits of one replica.
struct TestReplica {
  var id: SyncToken
  var sequence = 0
  private var generator: SplitMix64

  init(seed: Int) {
    generator = SplitMix64(seed: seed)
    id = SyncToken.random(using: &generator)
  }

  mutating func commit(_ base: SpaceRevision, _ changes: [SyncChange]) -> SyncCommit {
    sequence += 1
    return SyncCommit(
      replica: id, sequence: sequence, id: SyncToken.random(using: &generator), base: base,
      changes: changes)
  }
}

/// An insertion into the table `t`.
func insertion(_ id: Int, _ text: String = "x") -> SyncChange {
  SyncChange(
    key: SyncKey(table: "t", id: [.integer(Int64(id))]), verb: .insert(["a": .text(text)]))
}

/// Makes the commits of one replica for several tasks.
final class TestReplicaBox: Sendable {
  private let replica = Mutex(TestReplica(seed: 42))

  func commit(_ base: SpaceRevision, _ changes: [SyncChange]) -> SyncCommit {
    replica.withLock { $0.commit(base, changes) }
  }
}

extension AnswerStream {
  /// The next bytes, of one mebibyte at most; `nil` at the end. Cancellation ends the stream.
  fileprivate func nextBytes() async -> [UInt8]? {
    while true {
      let bytes = await withTaskCancellationHandler {
        await withCheckedContinuation { (arrived: CheckedContinuation<[UInt8]?, Never>) in
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 1)
          defer { buffer.deallocate() }
          switch read(into: buffer, wait: {}, resume: { arrived.resume(returning: []) }) {
          case .bytes(let count): arrived.resume(returning: Array(buffer.prefix(count)))
          case .end: arrived.resume(returning: nil)
          case .waiting: break
          }
        }
      } onCancel: {
        end()
      }
      if bytes != [] { return bytes }
    }
  }
}

/// Reads the events of a stream as a server does.
final class EventReader {
  private let stream: AnswerStream
  private var reader = EventStreamReader()
  private var events: [SyncEvent] = []

  init(_ stream: AnswerStream) { self.stream = stream }

  /// The next event.
  func next() async throws -> SyncEvent {
    while events.isEmpty {
      guard let bytes = await stream.nextBytes() else { throw CancellationError() }
      events += try reader.events(adding: bytes)
    }
    return events.removeFirst()
  }

  /// The bytes until the stream ends.
  func textUntilEnd() async -> String {
    var bytes: [UInt8] = []
    while let next = await stream.nextBytes() { bytes += next }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Waits until the stream ends.
  func waitForEnd() async { while await stream.nextBytes() != nil {} }
}
