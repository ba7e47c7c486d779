import TandemChannels
import TandemRecords
import Testing

@testable import TandemLinks

@Suite @MainActor struct LinkFeedTests {
  private let subject = LinkedSubject(
    "User", of: LinkedUser.self, id: Int.self, properties: [LinkedProperty("age", \LinkedUser.age)])

  @Test(
    "what is sent after a peer has come back waits behind what waited, though little is remembered")
  func littleMemory() throws {
    let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 2))
    let link = ChannelLink(
      hub, subjects: [subject], options: ChannelLinkOptions(maxWaitingChannelCount: 200))
    let peer = LinkPeer(link.options)
    link.attach(peer, to: hub)
    for id in 0..<10 { hub.send(\.age, id, on: Channel<LinkedUser>(id: id)) }
    // The peer has come back, and is slow.
    try #require(link.feed(of: hub)).refresh(peer, from: hub)
    for id in 10..<110 { hub.send(\.age, id, on: Channel<LinkedUser>(id: id)) }
    let messages = peer.outbox.takeAll().batches.joined()
    #expect(messages.map(\.id) == (0..<110).map { .number("\($0)") })
    #expect(hub.diagnostics.isEmpty)
    link.detach(peer, from: hub)
  }
}
