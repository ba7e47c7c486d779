import TandemChannels
import Testing

/// Bindings that end together, and observers of whole channels.
@MainActor struct ChannelOwnershipTests {
  private let hub = ChannelHub()
  private let one = Channel<User>(id: 1)
  private let two = Channel<User>(id: 2)
  private let account = Channel<UserModel1>(id: 1)
  private let first = UserModel1()
  private let second = UserModel1()

  /// Binds both models to both channels, with an observer for each.
  private func bindAll() -> Journal {
    let journal = Journal()
    for (name, model) in [("first", first), ("second", second)] {
      for channel in [one, two] {
        hub.bind(model, to: channel, through: map1())
        hub.observe(\.age, on: channel, for: model, equalValues: .delivered) { _, age in
          journal.lines.append("\(name) \(channel.id) \(age)")
        }
      }
      hub.bind(model, to: account)
    }
    return journal
  }

  @Test("the bindings of an object end on all channels, and others stay")
  func object() {
    let journal = bindAll()
    let count = hub.cancelBindings(of: first)
    #expect(count == 5)
    hub.send(\.age, 5, on: one)
    hub.send(\.age, 6, on: two)
    hub.send(\.name, "Ann", on: account)
    #expect(first.age == 21 && first.name == "Nike")
    #expect(second.age == 6 && second.name == "Ann")
    #expect(journal.lines == ["second 1 5", "second 2 6"])
    let again = hub.cancelBindings(of: first)
    #expect(again == 0)
  }

  @Test("the bindings of an object end on one channel")
  func objectOnChannel() {
    let journal = bindAll()
    let count = hub.cancelBindings(of: first, on: one)
    #expect(count == 2)
    hub.send(\.age, 5, on: one)
    #expect(first.age == 21 && second.age == 5)
    hub.send(\.age, 6, on: two)
    #expect(first.age == 6)
    #expect(journal.lines == ["second 1 5", "first 2 6", "second 2 6"])
  }

  @Test("the bindings of a channel end, and the channel with them")
  func channel() {
    let journal = bindAll()
    let before = hub.channelCount
    let count = hub.cancelBindings(on: one)
    #expect(count == 4 && hub.channelCount == before - 1)
    hub.send(\.age, 5, on: one)
    #expect(first.age == 21 && journal.lines.isEmpty)
    let nothing = hub.cancelBindings(on: one)
    #expect(nothing == 0)
  }

  @Test("the bindings of a subject end on all its channels")
  func subject() {
    let journal = bindAll()
    let count = hub.cancelBindings(ofSubject: User.self)
    #expect(count == 8 && hub.channelCount == 1)
    hub.send(\.age, 5, on: one)
    hub.send(\.age, 5, on: two)
    hub.send(\.name, "Ann", on: account)
    #expect(first.age == 21 && journal.lines.isEmpty)
    #expect(first.name == "Ann" && second.name == "Ann")
  }

  @Test("bindings that end during a delivery get nothing more of it")
  func duringDelivery() {
    let journal = Journal()
    hub.observe(\.age, on: one) { [hub, first] _ in hub.cancelBindings(of: first) }
    hub.observe(\.age, on: one, for: first) { _, _ in journal.lines.append("late") }
    hub.send(\.age, 5, on: one)
    #expect(journal.lines.isEmpty)
  }

  @Test("an observer of all properties gets each value with its property, of one channel")
  func allProperties() {
    struct Note { var title: String? }
    let note = Channel<Note>(id: 1)
    let journal = Journal()
    var titles: [String??] = []
    hub.observeAllProperties(on: one, for: first) { first, change in
      if let name = change.value(of: \.name) { first.name = name }
      if let age = change.value(of: \.age) { journal.lines.append("age \(age)") }
      if change.property == \User.address.city { journal.lines.append("city \(change.value)") }
    }
    hub.observeAllProperties(on: note, for: first) { titles.append($1.value(of: \.title)) }
    hub.send(
      ChannelBatch().setting(\.name, to: "Ann", on: one).setting(\.age, to: 5, on: one)
        .setting(\.age, to: 9, on: two))
    hub.send(\.address.city, "Rome", on: one)
    hub.send(\.age, 5, on: one)
    hub.send(\.age, 7, on: one, excluding: first)
    #expect(first.name == "Ann")
    #expect(journal.lines == ["age 5", "city Rome", "age 5"])
    hub.send(\.title, nil, on: note)
    hub.send(\.title, "Milk", on: note)
    #expect(titles == [.some(nil), .some("Milk")])
  }

  @Test("an observer of all properties gets remembered values, and does not outlive its owner")
  func allPropertiesLifetime() {
    let hub = ChannelHub(limits: .init(maxRememberedValueCount: 8))
    hub.send(\.name, "Ann", on: one)
    hub.send(\.age, 5, on: one)
    var owner: UserModel1? = UserModel1()
    let journal = Journal()
    if let owner {
      hub.observeAllProperties(on: one, for: owner) { _, change in
        journal.lines.append("\(change.value)")
      }
    }
    #expect(journal.lines == ["Ann", "5"])
    owner = nil
    hub.send(\.age, 6, on: one)
    #expect(journal.lines == ["Ann", "5"])
  }
}

/// Values that arrive with the name of their property.
@MainActor struct PropertyNamesTests {
  private let hub = ChannelHub()
  private let model = UserModel2()
  private let channel = Channel<User>(id: 1)
  private let names = PropertyNames<User>().naming("name", \.name).naming("age", \.age)
    .naming("city", \.address.city)

  init() { hub.bind(model, to: channel, through: map2()) }

  @Test("a value reaches the property of its name")
  func delivery() throws {
    let fields: [(String, Any)] = [("name", "Ann"), ("age", 30), ("city", "Rome")]
    for (name, value) in fields { try hub.send(name, value, on: channel, by: names) }
    #expect(model.nickName == "Ann" && model.years == 30 && model.home.city == "Rome")
    try hub.send("age", 31, on: channel, by: names, excluding: model)
    #expect(model.years == 30)
    #expect(names.names == ["age", "city", "name"])
  }

  @Test("an unknown name and a value of another type are errors that say what is known")
  func refusals() {
    let unknown = #expect(throws: PropertyNameError.self) {
      try hub.send("nickName", "Ann", on: channel, by: names)
    }
    #expect(unknown?.code == .unknownName)
    #expect(
      unknown?.message == "User.nickName is no known property; known are age, city, name")
    for value in ["30", 30.5, Int64(30), Optional<Int>.none as Any] as [Any] {
      let wrong = #expect(throws: PropertyNameError.self) {
        try hub.send("age", value, on: channel, by: names)
      }
      #expect(wrong?.code == .wrongType && wrong?.name == "age")
    }
    #expect(model.years == 24)
  }

  @Test("an optional property takes a value or none")
  func optional() throws {
    struct Note { var title: String? }
    final class Model { var title: String? = "" }
    let (model, note) = (Model(), Channel<Note>(id: 1))
    let names = PropertyNames<Note>().naming("title", \.title)
    hub.bind(model, to: note, through: KeyPathMap<Note, Model>().mapping(\.title, to: \.title))
    try hub.send("title", "Milk", on: note, by: names)
    #expect(model.title == "Milk")
    try hub.send("title", Optional<String>.none as Any, on: note, by: names)
    #expect(model.title == nil)
  }
}
