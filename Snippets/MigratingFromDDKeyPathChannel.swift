// snippet.hide
import Tandem

// snippet.show
// snippet.models
struct User {
  var name: String
  var age: Int
  var address = Address()
}
struct Address: Equatable { var city = "" }

@MainActor final class Profile {
  var name = ""
  var age = 0
  var home = Address()
}
@MainActor final class Row { var nickName = "" }
// snippet.end

@MainActor func migrate() throws {
  // snippet.binding
  let hub = ChannelHub()
  let channel = Channel<User>(id: "1")
  let (profile, row) = (Profile(), Row())
  let map = KeyPathMap<User, Profile>().mapping(\.name, to: \.name).mapping(\.age, to: \.age)
    .mapping(\.address.city, to: \.home.city)
  let binding = hub.bind(profile, to: channel, through: map)
  // snippet.end

  // snippet.mapping
  hub.bind(
    row, to: channel,
    through: KeyPathMap<User, Row>().mapping(
      \.name, to: \.nickName,
      willChange: { row, change in change.new.isEmpty ? .veto : .accept },
      didChange: { row, change in print(change.old, "→", change.new) }))
  // snippet.end

  // snippet.sending
  hub.send(\.name, "Tom", on: channel)  // prints: → Tom
  hub.send(
    ChannelBatch().setting(\.age, to: 30, on: channel)
      .setting(\.address.city, to: "Rome", on: channel))
  print(profile.name, profile.age, profile.home.city, row.nickName)  // Tom 30 Rome Tom
  // snippet.end

  // snippet.names
  let names = PropertyNames<User>().naming("name", \.name).naming("age", \.age)
  try hub.send("age", 31, on: channel, by: names)
  // snippet.end

  // snippet.observing
  hub.observe(\.name, on: channel, for: row) { row, name in print("name is", name) }
  hub.observeAllProperties(on: channel, for: row) { row, change in
    print("changed", change.value(of: \.name) ?? "another property")
  }
  // snippet.end
  hub.send(\.name, "Ann", on: channel)

  // snippet.removing
  binding.cancel()
  hub.cancelBindings(of: row, on: channel)
  hub.cancelBindings(of: profile)
  hub.cancelBindings(on: channel)
  hub.cancelBindings(ofSubject: User.self)
  // snippet.end
}

try migrate()
