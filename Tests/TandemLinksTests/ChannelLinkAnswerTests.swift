import Observation
import TandemChannels
import TandemLinks
import TandemRecords
import Testing

@Observable private final class Limited {
  var age = 0
}

@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkAnswerTests {
  private let hub = ChannelHub()
  private let channel = Channel<LinkedUser>(id: "1")

  @Test("what a model has in the place of a value reaches peers, and is not answered by theirs")
  func answering() async throws {
    let model = Limited()
    hub.bindBothWays(
      model, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age, willChange: { $1.new > 100 ? .replace(100) : .accept }))
    let (near, far) = MemoryConnection.pair()
    let link = ChannelLink(hub, subjects: [linkedUsers], options: .patient)
    let task = Task { try await link.run(on: near, as: .listening) }
    var reader = LinkFrameReader(maxFrameByteCount: 1_000)
    func send(_ answers: Set<String>) async throws {
      let message = ChannelMessage(
        subject: "User", id: .string("1"), values: ["age": .number("150")], answers: answers)
      try await far.send(LinkFrame.values(LinkValues([message])).bytes(maxByteCount: 1_000))
    }
    func next() async throws -> ChannelMessage? {
      let messages = try await far.messages(by: &reader)
      #expect(messages.count == 1)
      return messages.first
    }
    try await far.greet()
    try await send([])
    let answer = try await next()
    #expect(answer?.values == ["age": .number("100")] && answer?.answers == ["age"])
    #expect(model.age == 100 && hub.diagnostics.isEmpty)

    let (told, diagnostic) = AsyncStream.makeStream(of: ChannelDiagnostic.Kind.self)
    hub.onDiagnostic = { diagnostic.yield($0.kind) }
    try await send(["age"])
    for await kind in told {
      #expect(kind == .replacedDifferently)
      break
    }
    model.age = 7
    let change = try await next()
    #expect(change?.values == ["age": .number("7")] && change?.answers == [])
    task.cancel()
    _ = await task.result
  }
}
