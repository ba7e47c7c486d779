import Tandem

struct User { var name: String; var visits: Int }  // the subject of the channels
final class Card { var title = "nobody" }

// Two hubs. In two processes, SocketConnection and SocketListener connect them.
let users = LinkedSubject(
  "User", of: User.self, id: Int.self,
  properties: [LinkedProperty("name", \User.name), LinkedProperty("visits", \User.visits)])
let near = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 1_000))
let far = ChannelHub()
let (nearEnd, farEnd) = MemoryConnection.pair()
let links = [
  (ChannelLink(near, subjects: [users]), nearEnd, ChannelLinkRole.listening),
  (ChannelLink(far, subjects: [users]), farEnd, .connecting),
]
let linking = links.map { link, connection, role in
  Task { try await link.run(on: connection, as: role) }
}

// A model is bound to one hub. The other hub follows a table.
let card = Card(), channel = Channel<User>(id: 1)
far.bind(card, to: channel, through: KeyPathMap<User, Card>().mapping(\.name, to: \.title))
let database = try Database(path: ":memory:")
try database.write { transaction in
  try transaction.execute("CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT, visits INTEGER)")
  try transaction.execute("INSERT INTO user VALUES (1, 'Ann', 3)")
}
let query = LiveQuery(table: "user")
let rows = RecordChannel<User>(id: "id").column("name", to: \.name).column("visits", to: \.visits)
let following = Task { try await near.follow(query, in: database, by: rows) }

// One commit is one batch: the name arrives together with the visits.
for await visits in far.values(of: \User.visits, on: channel) {
  print(card.title, visits)  // Ann 3, then Bea 4
  if visits == 4 { break }
  try database.write { try $0.execute("UPDATE user SET name = 'Bea', visits = 4") }
}
for task in linking { task.cancel() }
following.cancel()
