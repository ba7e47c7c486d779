import TandemChannels
import TandemLinks
import TandemRecords
import Testing

/// What is too large, too deep or too much for a link is told, and nothing else suffers.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkSizeTests {
  private struct Thing {
    var first: String
    var second: String
    var count: Int
    var tree: Tree
  }

  private struct Tree: Codable, Sendable {
    var children: [Tree]

    init(depth: Int) { children = depth == 0 ? [] : [Tree(depth: depth - 1)] }
  }

  private let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 2_000))
  private let channel = Channel<Thing>(id: "1")
  private let subjects = [
    LinkedSubject(
      "Thing", of: Thing.self, id: String.self,
      properties: [
        LinkedProperty("first", \Thing.first), LinkedProperty("second", \Thing.second),
        LinkedProperty("count", \Thing.count), LinkedProperty("tree", \Thing.tree),
      ])
  ]

  private func text(_ byteCount: Int) -> String { String(repeating: "x", count: byteCount) }

  private func link(_ options: ChannelLinkOptions = .patient) -> ChannelLink {
    ChannelLink(hub, subjects: subjects, options: options)
  }

  /// The messages that a peer gets until one has a count.
  private func messages(of link: ChannelLink) async throws -> [ChannelMessage] {
    let (near, far) = MemoryConnection.pair()
    let task = Task { try await link.run(on: near, as: .listening) }
    try await far.greet()
    var reader = LinkFrameReader(maxFrameByteCount: 1 << 20)
    var messages: [ChannelMessage] = []
    while !messages.contains(where: { $0.values["count"] != nil }) {
      let more = try await far.messages(by: &reader)
      try #require(!more.isEmpty)
      messages += more
    }
    task.cancel()
    _ = await task.result
    return messages
  }

  @Test("values that do not fit into a message together go alone, and all arrive")
  func together() async throws {
    let link = link(ChannelLinkOptions(maxFrameByteCount: 1_000, handshakeTimeout: .patient))
    hub.send(
      ChannelBatch().setting(\.first, to: text(600), on: channel)
        .setting(\.second, to: text(600), on: channel).setting(\.count, to: 3, on: channel))
    let parts = try await messages(of: link)
    #expect(parts.flatMap(\.values.keys).sorted() == ["count", "first", "second"])
    #expect(hub.diagnostics.isEmpty)
    let all = try await messages(of: self.link())
    #expect(all.count == 1 && all[0].values.count == 3)
  }

  @Test("a value that fits into no message is told of, and takes no other one with it")
  func tooLarge() async throws {
    let link = link(
      ChannelLinkOptions(
        maxFrameByteCount: 10_000, maxWaitingByteCount: 160_000, handshakeTimeout: .patient))
    for id in 0..<998 { hub.send(\.first, "small", on: Channel<Thing>(id: "\(id)")) }
    let large = (0..<9).map { Channel<Thing>(id: "large \($0)") }
    for channel in large { hub.send(\.first, text(20_000), on: channel) }
    hub.send(\.count, 1, on: Channel<Thing>(id: "last"))
    let messages = try await messages(of: link)
    #expect(messages.count == 999)
    #expect(hub.diagnostics.map(\.kind) == large.map { _ in .tooLargeForLink })
  }

  @Test("a value that nests deeper than a peer reads is told of, and sent to nobody")
  func tooDeep() async throws {
    let link = link()
    hub.send(\.tree, Tree(depth: 30), on: channel)
    hub.send(\.tree, Tree(depth: 31), on: Channel<Thing>(id: "deep"))
    hub.send(\.count, 1, on: Channel<Thing>(id: "last"))
    let messages = try await messages(of: link)
    #expect(messages.map(\.id) == [.string("1"), .string("last")])
    #expect(hub.diagnostics.map(\.kind) == [.notEncodable])
    #expect(hub.diagnostics.map(\.channel) == ["Thing deep"])
  }

  @Test("a value is encoded once, however many peers there are")
  func encoding() async throws {
    struct Counted: Encodable, Decodable, Sendable {
      @MainActor static var count = 0

      init() {}
      init(from decoder: any Decoder) throws {}
      func encode(to encoder: any Encoder) throws { MainActor.assumeIsolated { Self.count += 1 } }
    }
    struct Holder { var value: Counted }
    let holders = LinkedSubject(
      "Holder", of: Holder.self, id: Int.self,
      properties: [LinkedProperty("value", \Holder.value)])
    let hub = ChannelHub()
    let link = ChannelLink(hub, subjects: [holders], options: .patient)
    let ends = (0..<3).map { _ in MemoryConnection.pair() }
    let tasks = ends.map { end in Task { try await link.run(on: end.0, as: .listening) } }
    // A link is attached when it has answered the greeting.
    for end in ends {
      try await end.1.greet()
      _ = try await end.1.receive()
    }
    hub.send(\.value, Counted(), on: Channel<Holder>(id: 1))
    #expect(Counted.count == 1)
    for end in ends {
      var reader = LinkFrameReader(maxFrameByteCount: 1_000)
      let messages = try await end.1.messages(by: &reader)
      #expect(messages.map(\.id) == [.number("1")])
    }
    for task in tasks { task.cancel() }
    for task in tasks { _ = await task.result }
  }
}
