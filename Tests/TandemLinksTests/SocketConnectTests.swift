import SystemLibrary
import TandemChannels
import TestHTTPServer
import Testing

@testable import TandemLinks

@Suite(.timeLimit(.minutes(20)))
struct SocketConnectTests {
  #if os(Linux)
    @Test("an attempt to connect to a listener that has no room ends when its task is cancelled")
    func cancelling() async throws {
      let address = temporarySocket()
      let listener = try SystemSockets.open(address, isPassive: true) { descriptor, name, count in
        bind(descriptor.number, name, count) == 0 && listen(descriptor.number, 0) == 0
      }
      defer { if case .unix(let path) = address { unlink(path) } }
      // Until the system says that there is no room.
      var waiting: [SocketDescriptor] = []
      while true {
        let next = try? SystemSockets.open(address, isPassive: false) { descriptor, name, count in
          _ = fcntl(descriptor.number, F_SETFL, O_NONBLOCK)
          return connect(descriptor.number, name, count) == 0
        }
        guard let next else { break }
        waiting.append(next)
      }
      let clock = StandingClock()
      let task = Task { [clock] in
        try await SocketConnection.connect(to: address, by: ConnectAttempt(now: clock.now))
      }
      // It has found no room, and looks at the clock; by that, it could wait for ever.
      await clock.advance(by: .zero)
      task.cancel()
      let result = await task.result
      #expect {
        try result.get()
      } throws: {
        "\($0)".hasSuffix(String(cString: strerror(ECANCELED)))
      }
      withExtendedLifetime((listener, waiting)) {}
    }
  #endif

  @Test("a connection blocks again once it is made, and says why it was not")
  func connecting() async throws {
    let port = try ReservedPort()
    for (address, deserted, code) in [
      (temporarySocket(), temporarySocket(), ENOENT),
      (
        .tcp(host: SocketAddress.loopback, port: 0),
        .tcp(host: SocketAddress.loopback, port: port.number), ECONNREFUSED
      ),
    ] {
      let listener = try SocketListener(at: address)
      let connection = try await SocketConnection.connect(to: listener.address)
      #expect(fcntl(connection.descriptor.number, F_GETFL) & O_NONBLOCK == 0)
      connection.close()
      listener.close()
      await #expect {
        try await SocketConnection.connect(to: deserted)
      } throws: {
        "\($0)".hasSuffix(String(cString: strerror(code)))
      }
    }
    withExtendedLifetime(port) {}
  }

  @Test("TCP connections are probed, so that a host that has vanished is noticed")
  func probes() async throws {
    let listener = try SocketListener(at: .tcp(host: SocketAddress.loopback, port: 0))
    let near = try await SocketConnection.connect(to: listener.address)
    let far = try #require(await listener.accept() as? SocketConnection)
    for connection in [near, far] {
      var isOn: CInt = 0
      var size = socklen_t(MemoryLayout<CInt>.size)
      getsockopt(connection.descriptor.number, SOL_SOCKET, SO_KEEPALIVE, &isOn, &size)
      #expect(isOn != 0)
      var count: CInt = 0
      getsockopt(connection.descriptor.number, CInt(IPPROTO_TCP), TCP_KEEPCNT, &count, &size)
      #expect(count == SystemSockets.maxProbeCount)
      connection.close()
    }
    listener.close()
  }

  @Test("a peer that is refused does not take it for an end", arguments: [true, false])
  func refusing(isTCP: Bool) async throws {
    let options = ChannelLinkOptions(maxConnectionCount: 0)
    for _ in 0..<20 {
      let listener = try SocketListener(
        at: isTCP ? .tcp(host: SocketAddress.loopback, port: 0) : temporarySocket())
      let connection = try await SocketConnection.connect(to: listener.address)
      try await connection.greet()
      connection.finishSending()
      let receiving = Task { try await connection.receive() }
      let link = await ChannelLink.forTest(options)
      let serving = Task { try await link.run(accepting: listener) }
      let result = await receiving.result
      #expect(throws: ChannelLinkError.self) { try result.get() }
      serving.cancel()
      _ = await serving.result
    }
  }
}

extension ChannelLink {
  @MainActor fileprivate static func forTest(_ options: ChannelLinkOptions) -> ChannelLink {
    ChannelLink(ChannelHub(), subjects: [linkedUsers], options: options)
  }
}
