import TandemChannels
import Testing

/// Values that reach nobody although somebody waits for something like them.
@MainActor struct ChannelUnreachedTests {
  private let hub = ChannelHub()
  private let model = UserModel1()

  @Test("an id of another type than the bound ones is reported, once for each type")
  func idType() throws {
    hub.bind(model, to: Channel<User>(id: 1), through: map1())
    hub.send(\.name, "Ann", on: Channel<User>(id: Int64(1)))
    #expect(model.name == "Nike")
    let diagnostic = try #require(hub.diagnostics.first)
    #expect(hub.diagnostics.map(\.kind) == [.otherIDType])
    #expect(
      diagnostic.channel == "User 1 (its id is of type Int64, bound are ids of type Int)")
    hub.send(\.name, "Ann", on: Channel<User>(id: Int64(2)))
    hub.send(ChannelBatch().setting(\.age, to: 1, on: Channel<User>(id: Int64(1))))
    #expect(hub.diagnostics.count == 1)
    hub.send(ChannelBatch().setting(\.age, to: 1, on: Channel<User>(id: "1")))
    #expect(hub.diagnostics.map(\.kind) == [.otherIDType, .otherIDType])
  }

  @Test("an id that nothing is bound to is no mistake, and neither is a subject without bindings")
  func absent() {
    let other = Channel<UserModel1>(id: Int64(1))
    hub.bind(model, to: Channel<User>(id: 1), through: map1())
    hub.bind(model, to: Channel<User>(id: "Ann"), through: map1())
    hub.send(\.name, "Ann", on: Channel<User>(id: 2))
    hub.send(\.name, "Ann", on: Channel<User>(id: "Bob"))
    hub.send(\.name, "Ann", on: other)
    #expect(hub.diagnostics.isEmpty)
  }

  @Test("a type of ids that is bound later is known from then on")
  func boundLater() {
    let channel = Channel<User>(id: Int64(1))
    hub.send(\.name, "Ann", on: channel)
    #expect(hub.diagnostics.isEmpty)
    hub.bind(model, to: Channel<User>(id: 1), through: map1())
    hub.send(\.name, "Ann", on: channel)
    #expect(hub.diagnostics.map(\.kind) == [.otherIDType])
  }

  @Test("a nested path that no map has is reported, alone, in a batch, and from a hook")
  func nested() {
    let channel = Channel<User>(id: 1)
    for way in 0..<3 {
      let hub = ChannelHub()
      let model = UserModel2()
      hub.bind(
        model, to: channel,
        through: KeyPathMap<User, UserModel2>().mapping(\.address, to: \.home).mapping(
          \.name, to: \.nickName,
          didChange: { _, _ in hub.send(\.address.city, "Rome", on: channel) })
      )
      switch way {
      case 0: hub.send(\.address.city, "Rome", on: channel)
      case 1:
        hub.send(
          ChannelBatch().setting(\.address.city, to: "Rome", on: channel)
            .setting(\.address, to: Address(city: "Oslo"), on: channel))
      default: hub.send(\.name, "Ann", on: channel)
      }
      #expect(model.home.city == (way == 1 ? "Oslo" : ""))
      #expect(hub.diagnostics.map(\.kind) == [.notMapped])
      #expect(hub.diagnostics.first?.channel == "User 1")
      hub.send(\.address.city, "Rome", on: channel)
      #expect(hub.diagnostics.count == 1, "once")
    }
  }

  @Test("a property that some binding accepts is not reported, however the others are bound")
  func accepted() {
    let channel = Channel<User>(id: 1)
    let other = UserModel2()
    hub.bind(
      model, to: channel, through: KeyPathMap<User, UserModel1>().mapping(\.name, to: \.name))
    hub.observe(\.name, on: channel) { _ in }
    hub.bind(other, to: channel, through: map2())
    hub.send(\.age, 30, on: channel)
    hub.send(ChannelBatch().setting(\.age, to: 31, on: channel))
    hub.send(\.age, 32, on: channel, excluding: other)
    #expect(other.years == 31 && hub.diagnostics.isEmpty)
  }

  @Test("an observer of the property accepts it, and so does one of all properties")
  func observers() {
    let (one, two) = (Channel<User>(id: 1), Channel<User>(id: 2))
    hub.observe(\.name, on: one) { _ in }
    hub.observeAllProperties(on: two, for: model) { _, _ in }
    hub.send(\.name, "Ann", on: one)
    hub.send(\.age, 30, on: two)
    #expect(hub.diagnostics.isEmpty)
    hub.send(\.age, 30, on: one)
    #expect(hub.diagnostics.map(\.kind) == [.notMapped])
  }

  @Test("an object that holds a whole subject accepts nested paths")
  func whole() {
    final class Holder { var user = User(name: "", age: 0) }
    let holder = Holder()
    let channel = Channel<User>(id: 1)
    hub.bind(holder, to: channel, through: KeyPathMap(whole: \.user))
    hub.send(\.address.city, "Rome", on: channel)
    #expect(holder.user.address.city == "Rome" && hub.diagnostics.isEmpty)
  }

  @Test("hubs that remember values for later do not report")
  func remembering() {
    let hub = ChannelHub(limits: .init(maxRememberedValueCount: 8))
    let channel = Channel<User>(id: 1)
    hub.bind(model, to: channel, through: map1())
    hub.send(\.address.city, "Rome", on: channel)
    #expect(hub.diagnostics.isEmpty)
  }
}
