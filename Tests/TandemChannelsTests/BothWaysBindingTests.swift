import Observation
import TandemChannels
import Testing

@Observable private final class Watched {
  var remark: String?
  var title = "a"
  var age = 0
  var note = ""
  var height = 0.0
  var place = Place(x: 0, y: 0)
}

private struct Place: Equatable {
  var x: Double
  var y: Double
}

private struct Sight {
  var height: Double
  var place: Place
}

@Suite(.timeLimit(.minutes(20)))
@MainActor struct BothWaysBindingTests {
  let hub = ChannelHub()
  let channel = Channel<User>(id: 1)
  private let watched = Watched()
  private let map = KeyPathMap<User, Watched>().mapping(\.name, to: \.title)
    .mapping(\.age, to: \.age)

  @Test("a change of the model reaches the others by itself, as one batch, without echo")
  func publishing() async {
    hub.bindBothWays(watched, to: channel, through: map)
    let model = UserModel1()
    hub.bind(model, to: channel, through: map1())
    let names = hub.values(of: \.name, on: channel)
    watched.title = "b"
    watched.age = 7
    watched.title = "c"
    var iterator = names.makeAsyncIterator()
    #expect(await iterator.next(isolation: #isolation) == "c")
    #expect(model.name == "c" && model.age == 7)
  }

  @Test("what the hub writes is not sent back")
  func noEcho() {
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    var heard = 0
    hub.observe(\.name, on: channel, equalValues: .delivered) { _ in heard += 1 }
    hub.send(\.name, "b", on: channel)
    binding.publishChanges()
    #expect(watched.title == "b" && heard == 1)
    watched.title = "c"
    binding.publishChanges()
    binding.publishChanges()
    #expect(heard == 2)
    binding.cancel()
    watched.title = "d"
    binding.publishChanges()
    #expect(heard == 2)
  }

  @Test("two observable models bound both ways settle, whichever changes")
  func twoModels() {
    let other = Watched()
    let first = hub.bindBothWays(watched, to: channel, through: map)
    let second = hub.bindBothWays(other, to: channel, through: map)
    watched.age = 1
    first.publishChanges()
    #expect(other.age == 1)
    other.title = "x"
    second.publishChanges()
    first.publishChanges()
    #expect(watched.title == "x" && hub.diagnostics.isEmpty)
  }

  @Test("a conversion with a way back travels both ways, one without only arrives")
  func conversions() {
    let map = KeyPathMap<User, Watched>()
      .mapping(\.age, to: \.title, converting: { "\($0)" }, back: { Int($0) })
      .mapping(\.name, to: \.note, converting: { $0 })
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    let model = UserModel1()
    hub.bind(model, to: channel, through: map1())
    watched.title = "42"
    watched.note = "mine"
    binding.publishChanges()
    #expect(model.age == 42 && model.name == "Nike")
    watched.title = "no number"
    binding.publishChanges()
    #expect(model.age == 42)
  }

  @Test("an optional property takes the value, sends each value back but nil, and calls its hooks")
  func optionals() {
    var heard: [String?] = []
    let map = KeyPathMap<User, Watched>().mapping(
      \.name, to: \.remark, didChange: { _, change in heard.append(change.new) })
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    let model = UserModel1()
    hub.bind(model, to: channel, through: map1())
    hub.send(\.name, "Tom", on: channel)
    #expect(watched.remark == "Tom" && heard == ["Tom"])
    hub.send(\.name, "Tom", on: channel)
    #expect(heard == ["Tom"])
    watched.remark = "Ann"
    binding.publishChanges()
    #expect(model.name == "Ann")
    watched.remark = nil
    binding.publishChanges()
    #expect(model.name == "Ann" && watched.remark == nil)
  }

  @Test("a number that is none is sent once, and what changes beside one is sent")
  func notANumber() {
    let channel = Channel<Sight>(id: 1)
    let map = KeyPathMap<Sight, Watched>().mapping(\.height, to: \.height)
      .mapping(\.place, to: \.place)
    let other = Watched()
    let bindings = [watched, other].map { hub.bindBothWays($0, to: channel, through: map) }
    var heights = 0
    hub.observe(\.height, on: channel, equalValues: .delivered) { _ in heights += 1 }
    var places: [Double] = []
    hub.observe(\.place, on: channel, equalValues: .delivered) { places.append($0.y) }
    watched.height = .nan
    for y in [1.0, 2] {
      watched.place = Place(x: .nan, y: y)
      for _ in 0..<3 { for binding in bindings { binding.publishChanges() } }
    }
    #expect(heights == 1 && other.height.isNaN)
    #expect(places == [1, 2] && other.place.y == 2)
    watched.height = 3
    bindings[0].publishChanges()
    #expect(heights == 2 && other.height == 3)
  }

  @Test("a change that is not sent yet outlives a value that the model does not take")
  func refusal() {
    let map = KeyPathMap<User, Watched>()
      .mapping(\.name, to: \.title, willChange: { _, _ in .veto })
      .mapping(\.age, to: \.age, converting: { $0 < 0 ? nil : $0 }, back: { $0 })
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    let model = UserModel1()
    hub.bind(model, to: channel, through: map1())
    watched.title = "mine"
    watched.age = 7
    hub.send(\.name, "theirs", on: channel)
    hub.send(\.age, -1, on: channel)
    binding.publishChanges()
    #expect(watched.title == "mine" && model.name == "mine" && model.age == 7)
    hub.send(\.age, 8, on: channel)
    model.age = 0
    binding.publishChanges()
    #expect(watched.age == 8 && model.age == 0, "what the hub wrote is not sent back")
  }

  /// A map whose object has no age outside of a range.
  private func map(clampingTo range: ClosedRange<Int>) -> KeyPathMap<User, Watched> {
    KeyPathMap().mapping(
      \.age, to: \.age,
      willChange: { _, change in
        range.contains(change.new)
          ? .accept : .replace(min(max(change.new, range.lowerBound), range.upperBound))
      })
  }

  @Test("what a hook or the model replaces is sent to the others, each time, and once")
  func replacing() async {
    let model = UserModel1()
    hub.bind(model, to: channel, through: map1())
    let names = KeyPathMap<User, Watched>().mapping(
      \.name, get: { $0.title }, set: { $0.title = $1.uppercased() })
    hub.bindBothWays(watched, to: channel, through: map(clampingTo: 0...100))
    hub.bindBothWays(watched, to: channel, through: names)
    var ages = hub.values(of: \.age, on: channel).makeAsyncIterator()
    // The second time, the model has the value that it takes already.
    for age in [150, 170] {
      hub.send(\.age, age, on: channel)
      #expect(watched.age == 100)
      #expect(await ages.next(isolation: #isolation) == age)
      #expect(await ages.next(isolation: #isolation) == 100)
      #expect(model.age == 100)
    }
    hub.send(\.age, 7, on: channel)
    #expect(await ages.next(isolation: #isolation) == 7)
    var heard = hub.values(of: \.name, on: channel).makeAsyncIterator()
    hub.send(\.name, "tom", on: channel)
    #expect(await heard.next(isolation: #isolation) == "tom")
    #expect(await heard.next(isolation: #isolation) == "TOM")
    #expect(watched.title == "TOM" && model.name == "TOM" && hub.diagnostics.isEmpty)
  }

  @Test("what a conversion leads to is what the channel knows")
  func replacingConverted() {
    let map = KeyPathMap<User, Watched>().mapping(
      \.age, to: \.title, converting: { "\($0)" }, back: { Int($0) },
      willChange: { _, change in change.new == "150" ? .replace("100") : .accept })
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    var ages: [Int] = []
    hub.observe(\.age, on: channel, equalValues: .delivered) { ages.append($0) }
    for age in [5, 150, 6] {
      hub.send(\.age, age, on: channel)
      binding.publishChanges()
    }
    #expect(ages == [5, 150, 100, 6])
  }

  @Test("two models that replace each other's values settle, and that is told")
  func replacingDifferently() {
    let other = Watched()
    let bindings = [
      hub.bindBothWays(watched, to: channel, through: map(clampingTo: 0...100)),
      hub.bindBothWays(other, to: channel, through: map(clampingTo: 200...300)),
    ]
    var ages: [Int] = []
    hub.observe(\.age, on: channel, equalValues: .delivered) { ages.append($0) }
    func settle() { for _ in 0..<5 { for binding in bindings { binding.publishChanges() } } }
    hub.send(\.age, 150, on: channel)
    settle()
    #expect(ages == [150, 100] && watched.age == 100 && other.age == 200)
    #expect(hub.diagnostics.map(\.kind) == [.replacedDifferently])
    // What a model changes itself is no answer, and is answered.
    watched.age = 50
    settle()
    #expect(ages == [150, 100, 50, 200] && watched.age == 100)
    #expect(hub.diagnostics.count == 2)
  }

  @Test("the model is observed once for each change, however often changes are published")
  func observation() async {
    var readCount = 0
    let map = KeyPathMap<User, Watched>().mapping(
      \.age,
      get: {
        readCount += 1
        return $0.age
      }, set: { $0.age = $1 })
    let binding = hub.bindBothWays(watched, to: channel, through: map)
    readCount = 0
    for _ in 0..<100 { binding.publishChanges() }
    #expect(readCount == 100, "each looks whether there is a change, and does not observe again")
    var ages = hub.values(of: \.age, on: channel).makeAsyncIterator()
    for age in 1...3 {
      watched.age = age
      #expect(await ages.next(isolation: #isolation) == age)
    }
  }

  @Test("the model is not kept alive")
  func lifetime() {
    var short: Watched? = Watched()
    weak let trace = short
    if let short { hub.bindBothWays(short, to: channel, through: map) }
    short = nil
    #expect(trace == nil)
    hub.releaseEnded()
    #expect(hub.channelCount == 0)
  }
}
