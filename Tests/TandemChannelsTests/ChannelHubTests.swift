import TandemChannels
import Testing

struct ChannelHubTests {
  let hub = ChannelHub()
  let channel = Channel<User>(id: "1")
  let one = UserModel1()
  let two = UserModel2()

  @Test("two models that do not know each other get a value under their own names")
  func article() {
    hub.bind(one, to: channel, through: map1())
    let second = hub.bind(two, to: channel, through: map2())
    #expect(one.name == "Nike" && two.nickName == "Daniel", "to bind alone changes nothing")

    hub.send(\.name, "Tom", on: channel)
    hub.send(\.age, 30, on: channel)
    #expect(one.name == "Tom" && two.nickName == "Tom")
    #expect(one.age == 30 && two.years == 30)

    second.cancel()
    hub.send(\.name, "Ann", on: channel)
    #expect(one.name == "Ann" && two.nickName == "Tom")
  }

  @Test("a nested property travels, and a property that is not mapped does not")
  func nested() {
    hub.bind(two, to: channel, through: map2())
    hub.send(\.address.city, "Rome", on: channel)
    hub.send(\.address, Address(city: "Oslo"), on: channel)
    #expect(two.home.city == "Rome")
  }

  @Test("a channel is its subject type, the type of its id and its id")
  func addresses() {
    hub.bind(one, to: channel, through: map1())
    hub.send(\.name, "A", on: Channel<User>(id: "2"))
    hub.send(\.name, "B", on: Channel<User>(id: 1))
    hub.send(\.name, "C", on: Channel<UserModel1>(id: "1"))
    #expect(one.name == "Nike")
    hub.send(\.name, "D", on: Channel<User>(id: "1"))
    #expect(one.name == "D")
    #expect(Channel<User>(id: "1") == channel && Channel<User>(id: 1) != Channel<User>(id: Int8(1)))
    #expect(channel.description == "User 1")
  }

  @Test("models of the subject's own type need no map")
  func identity() {
    let other = UserModel1()
    let channel = Channel<UserModel1>(id: 7)
    hub.bind(one, to: channel)
    hub.bind(other, to: channel)
    hub.send(\.name, "Tom", on: channel, excluding: other)
    #expect(one.name == "Tom" && other.name == "Nike")
  }

  @Test("models of the subject's own type may accept some properties, and no others")
  func partialIdentity() {
    let other = UserModel1()
    let channel = Channel<UserModel1>(id: 7)
    hub.bind(one, to: channel, through: .identity(\.name, \.age))
    hub.bind(other, to: channel, through: .identity(\.age))
    hub.send(\.name, "Tom", on: channel)
    hub.send(\.age, 1, on: channel)
    #expect(one.name == "Tom" && one.age == 1 && other.name == "Nike" && other.age == 1)
  }

  @Test("a model that holds a whole subject accepts each property of it, also nested ones")
  func whole() {
    final class Holder { var user = User(name: "", age: 0) }
    let holder = Holder()
    hub.bind(holder, to: channel, through: KeyPathMap(whole: \.user))
    hub.send(\.name, "Tom", on: channel)
    hub.send(\.address.city, "Rome", on: channel)
    #expect(holder.user.name == "Tom" && holder.user.address.city == "Rome")
  }

  @Test("a value is converted, or kept out if it cannot be")
  func conversion() {
    final class Label { var text = "–" }
    let label = Label()
    hub.bind(
      label, to: channel,
      through: KeyPathMap<User, Label>().mapping(
        \.age, to: \.text, converting: { $0 < 0 ? nil : "\($0) years" }))
    hub.send(\.age, 3, on: channel)
    hub.send(\.age, -1, on: channel)
    #expect(label.text == "3 years")
  }

  @Test("closures can stand for a key path")
  func closures() {
    hub.bind(
      two, to: channel,
      through: KeyPathMap<User, UserModel2>().mapping(
        \.age, get: { $0.years }, set: { $0.years = $1 }))
    hub.send(\.age, 9, on: channel)
    #expect(two.years == 9)
  }

  @Test("of two mappings of one property the last counts")
  func remapping() {
    hub.bind(
      two, to: channel,
      through: map2().mapping(\.name, to: \.home.city))
    hub.send(\.name, "Tom", on: channel)
    #expect(two.nickName == "Daniel" && two.home.city == "Tom")
  }

  @Test("a struct in an array is reached through its owner, or not at all if it is gone")
  func structs() {
    final class Store { var users = [User(name: "a", age: 1), User(name: "b", age: 2)] }
    let store = Store()
    let map = KeyPathMap<User, User>().mapping(\.name, to: \.name)
    hub.bind(store, to: channel, through: map) { store, change in
      if store.users.count > 1 { change(&store.users[1]) }
    }
    hub.send(\.name, "Tom", on: channel)
    #expect(store.users.map(\.name) == ["a", "Tom"])
    store.users.removeLast()
    hub.send(\.name, "Ann", on: channel)
    #expect(store.users.map(\.name) == ["a"])
  }

  @Test("to bind again adds, unless it is said what it replaces")
  func rebinding() {
    var writes = 0
    let map = KeyPathMap<User, UserModel1>().mapping(
      \.age, to: \.age, equalValues: .delivered, didChange: { _, _ in writes += 1 })
    let first = hub.bind(one, to: channel, through: map)
    hub.bind(one, to: channel, through: map)
    hub.send(\.age, 1, on: channel)
    #expect(writes == 2)
    hub.bind(one, to: channel, through: map, replacing: first)
    hub.send(\.age, 2, on: channel)
    #expect(writes == 4 && !first.isActive)
  }

  @Test("an excluded object or binding is passed over, and no other")
  func exclusion() {
    let other = UserModel1()
    let binding = hub.bind(one, to: channel, through: map1())
    hub.bind(other, to: channel, through: map1())
    hub.send(\.name, "A", on: channel, excluding: one)
    #expect(one.name == "Nike" && other.name == "A")
    hub.send(\.name, "B", on: channel, excluding: binding)
    #expect(one.name == "Nike" && other.name == "B")
    hub.send(ChannelBatch().setting(\.name, to: "C", on: channel), excluding: other)
    #expect(one.name == "C" && other.name == "B")
  }

  @Test("an object is not kept alive, and its bindings go with it")
  func lifetime() {
    var short: UserModel1? = UserModel1()
    weak let trace = short
    let binding = short.map { hub.bind($0, to: channel, through: map1()) }
    #expect(hub.channelCount == 1 && binding?.isActive == true)
    short = nil
    #expect(trace == nil && binding?.isActive == false)
    hub.send(\.name, "Tom", on: channel)
    #expect(hub.channelCount == 0)
  }

  @Test("what is held for objects that have gone stays below twice what is needed")
  func sweep() {
    for id in 0..<10_000 { hub.bind(UserModel1(), to: Channel<User>(id: id), through: map1()) }
    #expect(hub.channelCount <= 1024)
    hub.releaseEnded()
    #expect(hub.channelCount == 0)
  }

  @Test("tokens outlive their hub harmlessly")
  func hubGoes() {
    var other: ChannelHub? = ChannelHub()
    weak let trace = other
    let token = other?.bind(one, to: channel, through: map1())
    let subscription = other?.observe(\.name, on: channel) { _ in }
    other = nil
    #expect(trace == nil && token?.isActive == false && subscription?.isActive == false)
    token?.cancel()
    token?.cancel()
  }
}
