import Tandem

struct User { var name: String }

// snippet.sender
@MainActor final class Screen {
  let hub = ChannelHub()
  lazy var sender = hub.sender()  // where the hub lives
}

func rename(_ channel: Channel<User>, by sender: ChannelSender) async {
  await sender.send(\.name, "Tom", on: channel)  // anywhere
}
// snippet.end

let screen = Screen(), channel = Channel<User>(id: 1)
screen.hub.observe(\.name, on: channel, for: screen) { _, name in print(name) }  // Tom
await rename(channel, by: screen.sender)

let users = LinkedSubject(
  "User", of: User.self, id: Int.self, properties: [LinkedProperty("name", \User.name)])
// snippet.link
@MainActor final class Phone {
  let hub = ChannelHub()
  lazy var link = ChannelLink(hub, subjects: [users])

  func stayLinked(to address: SocketAddress) async {
    await link.run { try await SocketConnection.connect(to: address) }  // until cancelled
  }
}
// snippet.end
print(Phone().link === Phone().link)  // false
