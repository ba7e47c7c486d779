import Foundation
import Tandem

// snippet.subject
struct Light { var name: String; var level: Double }

/// What travels, by names that stay when a property is renamed. Both programs have the same list.
let lights = LinkedSubject(
  "Light", of: Light.self, id: String.self,
  properties: [LinkedProperty("name", \Light.name), LinkedProperty("level", \Light.level)])
// snippet.end

let path = NSTemporaryDirectory() + "lights-\(UUID().uuidString.prefix(8)).socket"

// snippet.listening
/// The program that listens. Its hub orders all writes, and remembers the newest values.
@MainActor final class Server {
  let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10_000))
  lazy var link = ChannelLink(hub, subjects: [lights])

  func serve(at address: SocketAddress) async throws {
    let listener = try SocketListener(at: address)
    try await link.run(accepting: listener) { reason in
      if let reason { print("a connection ended:", reason) }
    }
  }
}
// snippet.end

// snippet.connecting
/// A program that connects, and connects again after a break.
@MainActor final class Panel {
  let hub = ChannelHub()
  lazy var link = ChannelLink(hub, subjects: [lights])
  private(set) var level = 0.0

  init() {
    hub.observe(\.level, on: Channel<Light>(id: "kitchen"), for: self) { panel, level in
      panel.level = level
    }
  }

  func stayLinked(to address: SocketAddress) async {
    await link.run(onBreak: { reason in
      if let reason { print("not connected:", reason) }
    }) { try await SocketConnection.connect(to: address) }
  }
}
// snippet.end

// snippet.both
let address = SocketAddress.unix(path: path)  // or .tcp(host: "192.168.1.17", port: 7000)
let server = Server(), panel = Panel()
let linking = Task { await panel.stayLinked(to: address) }  // before the server listens
let serving = Task { try await server.serve(at: address) }

// Sent before the panel is connected. The server remembers it.
server.hub.send(\.level, 0.7, on: Channel<Light>(id: "kitchen"))
// snippet.end
while panel.level != 0.7 { try await Task.sleep(for: .milliseconds(5)) }
panel.hub.send(\Light.level, 0.4, on: Channel<Light>(id: "kitchen"))
for await level in server.hub.values(of: \Light.level, on: Channel<Light>(id: "kitchen"))
where level == 0.4 { break }

// snippet.stop
linking.cancel()
serving.cancel()
await linking.value
_ = await serving.result
// snippet.end
