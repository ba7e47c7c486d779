import TandemChannels
import Testing

struct ChannelDeliveryTests {
  let hub = ChannelHub()
  let channel = Channel<User>(id: 1)
  let one = UserModel1()
  let two = UserModel2()
  let journal = Journal()

  @Test("hooks get old and new, and may veto or replace")
  func hooks() {
    let map = KeyPathMap<User, UserModel1>().mapping(
      \.age, to: \.age,
      willChange: { _, change in
        change.new < 0 ? .veto : change.new > 150 ? .replace(150) : .accept
      },
      didChange: { [journal] object, change in
        journal.lines.append("\(change.old)→\(change.new)=\(object.age)")
      })
    hub.bind(one, to: channel, through: map)
    for age in [30, -1, 200, 150] { hub.send(\.age, age, on: channel) }
    #expect(journal.lines == ["21→30=30", "30→150=150"])
  }

  @Test("a hook or a conversion that ends its own binding keeps the value out")
  func endingHook() {
    var token: ChannelBinding?
    token = hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age,
        willChange: { _, _ in
          token?.cancel()
          return .accept
        }))
    hub.send(\.age, 5, on: channel)
    token = hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.name, to: \.name,
        converting: {
          token?.cancel()
          return $0
        }))
    hub.send(\.name, "Tom", on: channel)
    #expect(one.age == 21 && one.name == "Nike" && token?.isActive == false)
  }

  @Test("a value that the object has already is not written, unless asked for")
  func equalValues() {
    final class Counting {
      var writeCount = 0
      var age = 0 { didSet { writeCount += 1 } }
    }
    let object = Counting()
    let again = Counting()
    hub.bind(object, to: channel, through: KeyPathMap().mapping(\.age, to: \.age))
    hub.bind(
      again, to: channel, through: KeyPathMap().mapping(\.age, to: \.age, equalValues: .delivered))
    var heard: [Int] = []
    hub.observe(\.age, on: channel) { heard.append($0) }
    var heardAll = 0
    hub.observe(\.age, on: channel, equalValues: .delivered) { _ in heardAll += 1 }
    for age in [0, 1, 1, 2] { hub.send(\.age, age, on: channel) }
    #expect(object.writeCount == 2 && again.writeCount == 4)
    #expect(heard == [0, 1, 2] && heardAll == 4)
  }

  @Test("bindings and subscribers hear in the order of registration")
  func order() {
    for name in ["a", "b", "c"] {
      hub.observe(\.age, on: channel) { [journal] _ in journal.lines.append(name) }
    }
    hub.send(\.age, 1, on: channel)
    #expect(journal.lines == ["a", "b", "c"])
  }

  @Test("all objects have all values of a batch before anybody is told of one")
  func batch() {
    let state = { [one, two] in "\(one.name) \(one.age) \(two.nickName) \(two.years)" }
    hub.observe(\.name, on: channel) { [journal] _ in journal.lines.append("observed " + state()) }
    hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(\.name, to: \.name).mapping(
        \.age, to: \.age,
        didChange: { [journal] _, _ in journal.lines.append("hook " + state()) }))
    hub.bind(two, to: channel, through: map2())
    hub.send(
      ChannelBatch().setting(\.name, to: "T", on: channel).setting(\.age, to: 3, on: channel))
    #expect(journal.lines == ["observed T 3 T 3", "hook T 3 T 3"])
  }

  @Test("what a listener sends is delivered after what it was told of, before the send returns")
  func queueing() {
    hub.observe(\.age, on: channel) { [hub, channel, journal] age in
      journal.lines.append("a\(age)")
      if age == 1 { hub.send(\.age, 2, on: channel) }
      journal.lines.append("end a\(age)")
    }
    hub.observe(\.age, on: channel) { [journal] in journal.lines.append("b\($0)") }
    hub.send(\.age, 1, on: channel)
    #expect(journal.lines == ["a1", "end a1", "b1", "a2", "end a2", "b2"])
  }

  @Test("listeners that answer each other without end are stopped, with a diagnostic")
  func cycle() {
    let hub = ChannelHub(limits: ChannelLimits(maxCascadeDepth: 10))
    var count = 0
    hub.observe(\.age, on: channel) { [channel] in
      count += 1
      hub.send(\.age, $0 + 1, on: channel)
    }
    hub.send(\.age, 0, on: channel)
    #expect(count == 11)
    #expect(hub.diagnostics.map(\.kind) == [.cascadeTooDeep])
    #expect(hub.diagnostics.first?.channel == "User 1")
    hub.send(\.age, 100, on: channel)
    #expect(count == 22, "the hub works on")
  }

  @Test(
    "who is told of a diagnostic may send, is told after the delivery, and not of its own doing")
  func sendingDiagnostic() {
    let hub = ChannelHub(limits: ChannelLimits(maxCascadeDepth: 3))
    hub.observe(\.age, on: channel) { [channel, journal] in
      journal.lines.append("\($0)")
      hub.send(\.age, $0 + 1, on: channel)
    }
    hub.onDiagnostic = { [channel, journal] in
      journal.lines.append("\($0.kind)")
      hub.send(\.age, 10, on: channel)
    }
    hub.send(\.age, 0, on: channel)
    #expect(
      journal.lines == ["0", "1", "2", "3", "cascadeTooDeep", "10", "11", "12"])
    #expect(hub.diagnostics.count == 2)
    journal.lines = []
    hub.send(\.age, 20, on: channel)
    #expect(journal.lines.first == "20" && hub.diagnostics.count == 4, "the hub works on")
  }

  @Test("of more diagnostics than the bound the newest are kept, and the first are told")
  func manyDiagnostics() {
    let hub = ChannelHub(limits: ChannelLimits(maxQueuedSendCount: 0))
    var told = 0
    hub.onDiagnostic = { _ in told += 1 }
    hub.observe(\.age, on: channel) { [channel] _ in
      for age in 0..<(2 * ChannelHub.maxReportedDiagnosticCount) {
        hub.send(\.age, age, on: channel)
      }
    }
    hub.send(\.age, 0, on: channel)
    #expect(told == ChannelHub.maxReportedDiagnosticCount)
    #expect(hub.diagnostics.count == ChannelHub.maxDiagnosticCount)
  }

  @Test("a queue that grows too long is cut, with a diagnostic")
  func flood() {
    let hub = ChannelHub(limits: ChannelLimits(maxQueuedSendCount: 5))
    var reports = 0
    hub.onDiagnostic = { if $0.kind == .queueFull { reports += 1 } }
    hub.observe(\.age, on: channel) { [channel] in
      if $0 == 0 { for age in 1...8 { hub.send(\.age, age, on: channel) } }
    }
    hub.bind(one, to: channel, through: map1())
    hub.send(\.age, 0, on: channel)
    #expect(one.age == 5 && reports == 3)
  }

  @Test("what has been delivered no longer waits", arguments: [1, 2, 3])
  func waiting(bound: Int) {
    let hub = ChannelHub(limits: ChannelLimits(maxCascadeDepth: 500, maxQueuedSendCount: bound))
    var heard: [Int] = []
    hub.observe(\.age, on: channel) { [channel] in
      heard.append($0)
      if $0 < 400 { hub.send(\.age, $0 + 1, on: channel) }
    }
    hub.send(\.age, 0, on: channel)
    #expect(heard == Array(0...400) && hub.diagnostics.isEmpty)
  }

  @Test("who sends two for each that it gets fills the queue, and hears the first in order")
  func doubling() {
    let hub = ChannelHub(limits: ChannelLimits(maxQueuedSendCount: 300))
    var sent = 0
    var heard: [Int] = []
    hub.observe(\.age, on: channel) { [channel] in
      heard.append($0)
      for _ in 0..<2 where hub.diagnostics.isEmpty {
        sent += 1
        hub.send(\.age, sent, on: channel)
      }
    }
    hub.send(\.age, 0, on: channel)
    // The 300th delivery takes one of 300 that wait, and sends two.
    #expect(heard == Array(0..<600) && sent == 600)
  }

  @Test("a binding that does not get what its channel remembers is told of")
  func refusedMemory() {
    let hub = ChannelHub(
      limits: ChannelLimits(maxQueuedSendCount: 0, maxRememberedValueCount: 10))
    let remembering = Channel<User>(id: 2)
    hub.send(\.age, 1, on: remembering)
    hub.send(\.name, "Tom", on: remembering)
    hub.observe(\.age, on: channel) { [one] _ in hub.bind(one, to: remembering, through: map1()) }
    hub.send(\.age, 1, on: channel)
    #expect(hub.diagnostics.map(\.channel) == ["User 2"] && one.age == 21)
    #expect(hub.diagnostics.map(\.property) == ["\(\User.age), \(\User.name)"])
  }

  @Test("a cycle of equal values settles by itself")
  func settling() {
    hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age,
        didChange: { [hub, channel] _, change in hub.send(\.age, change.new, on: channel) }))
    hub.send(\.age, 5, on: channel)
    #expect(one.age == 5 && hub.diagnostics.isEmpty)
  }

  @Test("a listener can cancel itself and the next; neither hears more, not even of this send")
  func cancelling() {
    var tokens: [ChannelBinding] = []
    for name in ["a", "b", "c"] {
      tokens.append(
        hub.observe(\.age, on: channel) { [journal] _ in
          journal.lines.append(name)
          if name == "a" {
            tokens[0].cancel()
            tokens[1].cancel()
          }
        })
    }
    hub.send(\.age, 1, on: channel)
    hub.send(\.age, 2, on: channel)
    #expect(journal.lines == ["a", "c", "c"])
  }

  @Test("a binding cancelled by a hook of an earlier one is not written")
  func cancellingBinding() {
    var second: ChannelBinding?
    hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age,
        willChange: { _, _ in
          second?.cancel()
          return .accept
        }))
    second = hub.bind(two, to: channel, through: map2())
    hub.send(\.age, 1, on: channel)
    #expect(one.age == 1 && two.years == 24)
  }

  @Test("a binding made during a delivery takes part from the next on")
  func bindingDuring() {
    hub.observe(\.age, on: channel) { [hub, channel, two] in
      if $0 == 1 { hub.bind(two, to: channel, through: map2()) }
    }
    hub.send(\.age, 1, on: channel)
    #expect(two.years == 24)
    hub.send(\.age, 2, on: channel)
    #expect(two.years == 2)
  }

  @Test("a subscription made while objects are written does not hear of what is being written")
  func subscribingDuringWrites() {
    var heard: [Int] = []
    hub.observe(\.age, on: channel) { _ in }
    hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age,
        willChange: { [hub, channel] _, change in
          if change.new == 1 { hub.observe(\.age, on: channel) { heard.append($0) } }
          return .accept
        }))
    hub.send(\.age, 1, on: channel)
    hub.send(\.age, 2, on: channel)
    #expect(heard == [2])
  }

  @Test("an object that dies during a delivery is passed over, and so are its hooks")
  func dying() {
    final class Owner { var model: UserModel1? = UserModel1() }
    let owner = Owner()
    let map = KeyPathMap<User, UserModel1>().mapping(
      \.age, to: \.age, didChange: { [journal] _, _ in journal.lines.append("hook") })
    hub.bind(
      one, to: channel,
      through: KeyPathMap().mapping(
        \.age, to: \.age,
        willChange: { _, _ in
          owner.model = nil
          return .accept
        }))
    if let model = owner.model { hub.bind(model, to: channel, through: map) }
    hub.observe(\.age, on: channel) { [journal] _ in journal.lines.append("last") }
    hub.send(\.age, 1, on: channel)
    #expect(journal.lines == ["last"])
  }

  @Test("a subscription for an owner ends with it")
  func owners() {
    var owner: Journal? = Journal()
    let token = owner.map { owner in
      hub.observe(\.age, on: channel, for: owner) { $0.lines.append("\($1)") }
    }
    hub.send(\.age, 1, on: channel)
    #expect(owner?.lines == ["1"])
    owner = nil
    #expect(token?.isActive == false)
    hub.send(\.age, 2, on: channel)
    #expect(hub.channelCount == 0)
  }
}
