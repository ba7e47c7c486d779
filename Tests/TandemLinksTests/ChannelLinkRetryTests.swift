import TandemChannels
import TandemLinks
import Testing

@Suite(.timeLimit(.minutes(10)))
@MainActor struct ChannelLinkRetryTests {
  private let options = ChannelLinkOptions(
    firstRetryDelay: .seconds(1), maxRetryDelay: .seconds(6))

  @Test("waits double up to the longest, and start again after a connection that has lasted")
  func delays() {
    var retry = RetryDelay(options)
    let delays = (0..<5).map { _ in retry.delay(after: .zero) }
    #expect(delays == [1, 2, 4, 6, 6].map { .seconds($0) })
    let more = [6, 0, 5, 6].map { retry.delay(after: .seconds($0)) }
    #expect(more == [1, 2, 4, 1].map { .seconds($0) })
  }

  @Test("a peer that hangs up at once is called more and more seldom, whatever it has said")
  func hangingUp() async throws {
    for hasSpoken in [false, true] {
      let (waits, waited) = AsyncStream.makeStream(of: Duration.self)
      let start = ContinuousClock.now
      let link = ChannelLink(
        ChannelHub(), subjects: [linkedUsers], options: options, now: { start },
        waiting: { [options] in if $0 != options.handshakeTimeout { waited.yield($0) } })
      let task = Task {
        await link.run {
          let (near, far) = MemoryConnection.pair()
          if hasSpoken { try await far.greetAsListener() }
          far.close()
          return near
        }
      }
      var delays: [Duration] = []
      for await delay in waits.prefix(5) { delays.append(delay) }
      #expect(delays == [1, 2, 4, 6, 6].map { .seconds($0) })
      task.cancel()
      await task.value
    }
  }
}
