import Synchronization
import TandemChannels
import TandemLinks
import Testing

@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelLinkRetryTests {
  private let options = ChannelLinkOptions(
    firstRetryDelay: .seconds(1), maxRetryDelay: .seconds(6))

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

  @Test("waits double up to the longest, and start again after a connection that has lasted")
  func delays() async {
    let (waits, waited) = AsyncStream.makeStream(of: Duration.self)
    let time = Mutex(ContinuousClock.now)
    let lasting = Mutex([0, 0, 0, 0, 6, 0, 5, 6])
    let link = ChannelLink(
      ChannelHub(), subjects: [linkedUsers], options: options, now: { time.withLock { $0 } },
      waiting: { waited.yield($0) })
    let task = Task {
      await link.run {
        let seconds = lasting.withLock { $0.isEmpty ? 0 : $0.removeFirst() }
        time.withLock { $0 += .seconds(seconds) }
        throw ChannelLinkError(.connection, "nobody listens")
      }
    }
    var delays: [Duration] = []
    for await delay in waits.prefix(8) { delays.append(delay) }
    #expect(delays == [1, 2, 4, 6, 1, 2, 4, 1].map { .seconds($0) })
    task.cancel()
    await task.value
  }
}
