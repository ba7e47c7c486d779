import Foundation
import Synchronization
import TandemChannels
import TandemLinks
import TandemRecords
import Testing

struct LinkedUser {
  var name: String
  var age: Int
}

final class LinkedModel {
  var name = ""
  var age = 0
}

let linkedUsers = LinkedSubject(
  "User", of: LinkedUser.self, id: String.self,
  properties: [LinkedProperty("name", \LinkedUser.name), LinkedProperty("age", \LinkedUser.age)])

/// An address for a socket that nobody else uses.
func temporarySocket() -> SocketAddress {
  .unix(path: FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString.prefix(13)).s")
}

extension Duration {
  /// Longer than any test takes: a peer in a process under load may be late to greet.
  static let patient = Duration.seconds(86_400)
}

extension ChannelLinkOptions {
  static let patient = ChannelLinkOptions(handshakeTimeout: .patient)
}

extension ChannelConnection {
  func send(_ frame: LinkFrame) async throws {
    try await send(frame.bytes(maxByteCount: 1 << 20))
  }

  /// Begins a connection as a hub that connects does, or a script.
  func greet() async throws {
    try await send(.hello(.connecting(client: nil, epoch: nil, sequence: nil)))
  }

  /// Begins a connection as a hub that listens does.
  func greetAsListener(epoch: UInt64 = 1) async throws {
    try await send(.hello(.listening(epoch: epoch, acknowledged: 0)))
  }

  /// The next frame with messages; `nil` at the end.
  func values(by reader: inout LinkFrameReader) async throws -> LinkValues? {
    while let bytes = try await receive() {
      var result: LinkValues?
      for case .values(let values) in try reader.frames(adding: bytes)
      where !values.messages.isEmpty {
        result = LinkValues((result?.messages ?? []) + values.messages, number: values.number)
      }
      if let result { return result }
    }
    return nil
  }

  /// The next messages that arrive; none at the end.
  func messages(by reader: inout LinkFrameReader) async throws -> [ChannelMessage] {
    try await values(by: &reader)?.messages ?? []
  }
}

/// Expects the next value of a sequence.
@MainActor func expect<Value: Equatable>(
  _ value: Value, from iterator: inout some AsyncIteratorProtocol<Value, Never>,
  sourceLocation: SourceLocation = #_sourceLocation
) async {
  let next = await iterator.next(isolation: #isolation)
  #expect(next == value, sourceLocation: sourceLocation)
}

@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkTests {
  let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 1000))
  let other = ChannelHub()
  let channel = Channel<LinkedUser>(id: "1")

  /// Runs `body` while two hubs are joined.
  private func joined(_ body: () async throws -> Void) async throws {
    let (near, far) = MemoryConnection.pair()
    let first = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let second = ChannelLink(other, subjects: [linkedUsers], options: .patient)
    try await running([(first, near), (second, far)], body)
  }

  @Test("what is remembered on one hub and sent on it later reaches the objects of another")
  func joining() async throws {
    let model = LinkedModel()
    other.bind(
      model, to: channel,
      through: KeyPathMap().mapping(\.name, to: \.name).mapping(\.age, to: \.age))
    var ages = other.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    hub.send(\.name, "Tom", on: channel)
    hub.send(\.age, 1, on: channel)
    try await joined {
      await expect(1, from: &ages)
      #expect(model.name == "Tom")
      hub.send(
        ChannelBatch().setting(\.name, to: "Ann", on: channel).setting(\.age, to: 2, on: channel))
      await expect(2, from: &ages)
      #expect(model.name == "Ann" && model.age == 2)
    }
  }

  @Test("a value goes both ways, and is not sent back to where it came from")
  func noEcho() async throws {
    let heard = Mutex<[Int]>([])
    hub.observe(\LinkedUser.age, on: channel, equalValues: .delivered) { age in
      heard.withLock { $0.append(age) }
    }
    var back = other.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    var forth = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    hub.send(\.age, 1, on: channel)
    try await joined {
      await expect(1, from: &back)
      other.send(\.age, 2, on: channel)
      await expect(1, from: &forth)
      await expect(2, from: &forth)
      // Had there been an echo, it would stand before this.
      hub.send(\.age, 3, on: channel)
      await expect(2, from: &back)
      await expect(3, from: &back)
    }
    #expect(heard.withLock { $0 } == [1, 2, 3])
  }

  @Test("a hub that listens sends values of one peer to the others", arguments: [true, false])
  func star(isTCP: Bool) async throws {
    let listener = try SocketListener(
      at: isTCP ? .tcp(host: SocketAddress.loopback, port: 0) : temporarySocket())
    let address = listener.address
    let third = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10))
    let server = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let clients = [other, third].map { ChannelLink($0, subjects: [linkedUsers], options: .patient) }
    let serving = Task { try await server.run(accepting: listener) }
    let tasks = clients.map { client in
      Task { await client.run { try await SocketConnection.connect(to: address) } }
    }
    var ages = other.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    third.send(\.age, 5, on: channel)
    await expect(5, from: &ages)
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    serving.cancel()
    _ = await serving.result
  }

  @Test("a peer that sends what is no message is disconnected, and the hub works on")
  func malformed() async throws {
    let hello = try LinkFrame.hello(.connecting(client: nil, epoch: nil, sequence: nil))
      .bytes(maxByteCount: 100)
    let version = LinkFrame.version
    let inputs: [[UInt8]] = [
      Array("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 2, version, 0x7B], [0, 0, 0, 1, 9],
      [0, 0, 0, 9, version], try frame(id: .string("1"), values: ["age": .number("1")]),
      try hello + frame(id: .string("1"), values: ["age": .string("old")]),
      try hello + frame(id: .string("1"), values: ["age": .number("1")], number: 2),
      try LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(maxByteCount: 100),
    ]
    for input in inputs {
      let (near, far) = MemoryConnection.pair()
      let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
      let task = Task { try await link.run(on: near, as: .listening) }
      try await far.send(input)
      if input.count == 5, input[3] == 9 { far.close() }
      let result = await task.result
      #expect(throws: ChannelLinkError.self) { try result.get() }
      // The other side's greeting may be there.
      var reader = LinkFrameReader(maxFrameByteCount: 1000)
      let rest = try await far.messages(by: &reader)
      #expect(rest.isEmpty)
    }
    #expect(hub.latest(\.age, on: channel) == nil)
    hub.send(\.age, 1, on: channel)
    #expect(hub.latest(\.age, on: channel) == 1)
  }

  private func frame(
    subject: String = "User", id: JSONValue, values: [String: JSONValue], number: UInt64? = nil
  ) throws -> [UInt8] {
    try LinkFrame.values(
      LinkValues([ChannelMessage(subject: subject, id: id, values: values)], number: number)
    ).bytes(maxByteCount: 1000)
  }

  @Test("unknown subjects and properties are passed over, and a number may be a text's id")
  func unknown() async throws {
    let (near, far) = MemoryConnection.pair()
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let task = Task { try await link.run(on: near, as: .listening) }
    var ages = hub.values(of: \LinkedUser.age, on: channel).makeAsyncIterator()
    try await far.greet()
    try await far.send(
      frame(subject: "Car", id: .null, values: ["age": .null])
        + frame(id: .number("1"), values: ["age": .number("3"), "size": .bool(true)]))
    await expect(3, from: &ages)
    far.close()
    _ = await task.result
  }

  @Test("a peer that never reads blocks no sender, and costs one value per property")
  func slowPeer() async throws {
    let (near, far) = MemoryConnection.pair()
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let task = Task { try await link.run(on: near, as: .listening) }
    hub.send(\.age, -1, on: channel)
    var reader = LinkFrameReader(maxFrameByteCount: 1 << 20)
    var last: JSONValue?
    try await far.greet()
    // The link is attached once it has sent something.
    _ = try await far.messages(by: &reader)
    let count = 50_000
    for age in 1...count { hub.send(\.age, age, on: channel) }
    var receivedCount = 0
    while last != .number("\(count)") {
      for message in try await far.messages(by: &reader) {
        last = message.values["age"]
        receivedCount += 1
      }
    }
    // No more than the connection and the outbox hold: a message has over 50 bytes.
    #expect(receivedCount < 2 * MemoryConnection.maxWaitingByteCount / 50)
    task.cancel()
    _ = await task.result
  }

  @Test("what a peer that is away misses beyond the limit is told, and so is what is too large")
  func telling() async throws {
    let options = ChannelLinkOptions(
      maxFrameByteCount: 300, maxWaitingChannelCount: 2, handshakeTimeout: .patient)
    let (near, far) = MemoryConnection.pair()
    let link = ChannelLink(other, subjects: [linkedUsers], options: options)
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let (attempts, attempt) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      await link.run(onBreak: { _ in broken.yield() }) {
        for await _ in attempts { return near }
        throw CancellationError()
      }
    }
    // The link is attached once it waits for its connection; nothing else is told before.
    attempt.yield()
    var breakings = breaks.makeAsyncIterator()
    far.close()
    await breakings.next()
    for id in ["1", "2", "3"] { other.send(\.age, 5, on: Channel<LinkedUser>(id: id)) }
    #expect(other.diagnostics.map(\.kind) == [.peerTooSlow])
    #expect(other.diagnostics.map(\.channel) == ["User \"1\""])
    #expect(other.diagnostics.map(\.property) == ["age"])
    task.cancel()
    await task.value

    let (told, diagnostic) = AsyncStream.makeStream(of: ChannelDiagnostic.self)
    hub.onDiagnostic = { diagnostic.yield($0) }
    hub.send(\.name, String(repeating: "x", count: 300), on: channel)
    let (end, peer) = MemoryConnection.pair()
    let second = ChannelLink(hub, subjects: [linkedUsers], options: options)
    let running = Task { try await second.run(on: end, as: .listening) }
    try await peer.greet()
    var diagnostics = told.makeAsyncIterator()
    let first = await diagnostics.next()
    #expect(first?.kind == .tooLargeForLink && first?.property == "name")
    peer.close()
    _ = await running.result
  }

  @Test("a value or an id that cannot be encoded is told, and the others travel")
  func unencodable() async throws {
    struct Gauge { var level: Double }
    let gauges = LinkedSubject(
      "Gauge", of: Gauge.self, id: Int.self, properties: [LinkedProperty("level", \Gauge.level)])
    let link = ChannelLink(hub, subjects: [gauges], options: .patient)
    let (near, far) = MemoryConnection.pair()
    hub.send(\.level, 1, on: Channel<Gauge>(id: 1))
    let task = Task { try await link.run(on: near, as: .listening) }
    var reader = LinkFrameReader(maxFrameByteCount: 1000)
    try await far.greet()
    // The link is attached once it has sent something.
    _ = try await far.messages(by: &reader)
    hub.send(\.level, .nan, on: Channel<Gauge>(id: 2))
    hub.send(\.level, 2, on: Channel<Gauge>(id: "3"))
    hub.send(\.level, 3, on: Channel<Gauge>(id: 4))
    #expect(hub.diagnostics.map(\.kind) == [.notEncodable, .notEncodable])
    #expect(hub.diagnostics.map(\.channel) == ["Gauge 2", "Gauge 3"])
    let messages = try await far.messages(by: &reader)
    #expect(messages.map(\.id) == [.number("4")])
    task.cancel()
    _ = await task.result
  }

  @Test("a link connects again when its peer comes back, with what was sent meanwhile")
  func reconnecting() async throws {
    let address = temporarySocket()
    let (breaks, broken) = AsyncStream.makeStream(of: Void.self)
    let link = ChannelLink(other, subjects: [linkedUsers], options: .patient)
    let client = Task {
      await link.run(onBreak: { _ in broken.yield() }) {
        try await SocketConnection.connect(to: address)
      }
    }
    var breakings = breaks.makeAsyncIterator()
    // Nobody listens yet; the link has been attached before its first attempt.
    await breakings.next()
    other.send(\.age, 8, on: channel)
    var ages = hub.values(of: \LinkedUser.age, on: channel, maxBufferedValueCount: 1)
      .makeAsyncIterator()
    for round in 8...10 {
      let listener = try SocketListener(at: address)
      let server = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
      let serving = Task { try await server.run(accepting: listener) }
      await expect(round, from: &ages)
      serving.cancel()
      _ = await serving.result
      other.send(\.age, round + 1, on: channel)
    }
    client.cancel()
    await client.value
  }
}
