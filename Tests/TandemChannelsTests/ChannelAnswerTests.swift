import Observation
import TandemChannels
import Testing

/// Two numbers that the models below never agree on.
private struct Pair {
  var low: Int
  var high: Int
  var note: String
}

@MainActor @Observable private final class Raising {
  var low = 0 { didSet { high = low + 1 } }
  var high = 0
  var note = ""
}

@MainActor @Observable private final class Following {
  var low = 0
  var high = 0 { didSet { low = high } }
  var note = ""
}

/// Rows of which no two may have the same name.
private final class Roster {
  struct Row: Equatable {
    var name: String
    var length = 0
  }
  var rows = [Row(name: "Ada"), Row(name: "Bob")]
}

private final class Clamped {
  var writeCount = 0
  var age = 100 { didSet { writeCount += 1 } }
}

private final class Field {
  var text = ""
}

/// What models do about values, and what comes of that.
@Suite(.timeLimit(.minutes(20)))
@MainActor struct ChannelAnswerTests {
  private let channel = Channel<User>(id: 1)

  @Test("two models that answer each other's changes without end are stopped")
  func cycle() async {
    let hub = ChannelHub(limits: .init(maxCascadeDepth: 10))
    let channel = Channel<Pair>(id: 1)
    let (raising, following) = (Raising(), Following())
    hub.bindBothWays(
      raising, to: channel,
      through: KeyPathMap<Pair, Raising>().mapping(\.low, to: \.low).mapping(\.high, to: \.high)
        .mapping(\.note, to: \.note))
    hub.bindBothWays(
      following, to: channel,
      through: KeyPathMap<Pair, Following>().mapping(\.low, to: \.low)
        .mapping(\.high, to: \.high).mapping(\.note, to: \.note))
    raising.low = 1
    while hub.diagnostics.isEmpty { await Task.yield() }
    #expect(hub.diagnostics.map(\.kind) == [.cascadeTooDeep])
    #expect(hub.diagnostics.first?.channel == "Pair 1")
    #expect(raising.low <= 12)
    // What a model changes by itself is sent as before.
    following.note = "later"
    while raising.note != "later" { await Task.yield() }
    #expect(hub.diagnostics.count == 1 && raising.low <= 12)
  }

  @Test("changes that models make by themselves are no cycle, however many there are")
  func edits() async {
    let hub = ChannelHub(limits: .init(maxCascadeDepth: 3))
    let channel = Channel<Pair>(id: 1)
    let models = [Raising(), Raising()]
    for model in models {
      hub.bindBothWays(
        model, to: channel, through: KeyPathMap<Pair, Raising>().mapping(\.note, to: \.note))
    }
    for edit in 1...20 {
      models[edit % 2].note = "\(edit)"
      while models[(edit + 1) % 2].note != "\(edit)" { await Task.yield() }
    }
    #expect(hub.diagnostics.isEmpty)
  }

  @Test(
    "what a model changes itself is no answer to what has just come, though it is the same turn")
  func sameTurn() {
    let hub = ChannelHub(limits: .init(maxCascadeDepth: 3))
    let channel = Channel<Pair>(id: 1)
    let map = KeyPathMap<Pair, Raising>().mapping(\.high, to: \.high).mapping(\.note, to: \.note)
    let (one, two) = (Raising(), Raising())
    let first = hub.bindBothWays(one, to: channel, through: map)
    let second = hub.bindBothWays(two, to: channel, through: map)
    for edit in 1...20 {
      one.note = "\(edit)"
      first.publishChanges()
      two.high = edit
      second.publishChanges()
      #expect(two.note == "\(edit)" && one.high == edit)
    }
    #expect(hub.diagnostics.isEmpty)
  }

  @Test("who sends a value and is excluded hears when somebody takes it back", arguments: [1, 2])
  func takenBack(valueCount: Int) {
    let hub = ChannelHub()
    let field = Field()
    hub.observe(\.name, on: channel, for: field) { field, name in field.text = name }
    func send(_ name: String, excluding sender: AnyObject? = nil) {
      if valueCount == 1 { return hub.send(\.name, name, on: channel, excluding: sender) }
      hub.send(
        ChannelBatch().setting(\.name, to: name, on: channel).setting(\.age, to: 1, on: channel),
        excluding: sender)
    }
    send("A")
    field.text = "B"
    send("B", excluding: field)
    #expect(field.text == "B")
    send("A")
    #expect(field.text == "A")
  }

  @Test("a hook of a value in a container may look at the container, and so may a conversion")
  func container() {
    let hub = ChannelHub()
    let roster = Roster()
    let map = KeyPathMap<User, Roster.Row>()
      .mapping(
        \.name, to: \.name,
        willChange: { _, change in
          roster.rows.contains { $0.name == change.new } ? .veto : .accept
        },
        didChange: { row, change in
          #expect(row.name == change.new && roster.rows[1].name == change.new)
        }
      )
      .mapping(\.age, to: \.length, converting: { age -> Int? in age + roster.rows.count })
    hub.bind(roster, to: channel, through: map) { roster, change in change(&roster.rows[1]) }
    hub.send(\.name, "Ada", on: channel)
    #expect(roster.rows.map(\.name) == ["Ada", "Bob"])
    hub.send(\.name, "Eve", on: channel)
    hub.send(\.age, 5, on: channel)
    #expect(roster.rows == [.init(name: "Ada"), .init(name: "Eve", length: 7)])
  }

  @Test("a value that is replaced by the one there is, is not written, and nobody is told")
  func replacedByEqual() {
    let hub = ChannelHub()
    let model = Clamped()
    var told: [Int] = []
    hub.bind(
      model, to: channel,
      through: KeyPathMap<User, Clamped>().mapping(
        \.age, to: \.age, willChange: { _, change in .replace(min(change.new, 100)) },
        didChange: { _, change in told.append(change.new) }))
    hub.send(\.age, 200, on: channel)
    #expect(model.writeCount == 0 && told.isEmpty)
    hub.send(\.age, 50, on: channel)
    #expect(model.writeCount == 1 && told == [50])
  }
}
