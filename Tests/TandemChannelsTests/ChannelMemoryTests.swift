import TandemChannels
import TestRandom
import Testing

struct ChannelMemoryTests {
  @Test("who binds late starts with the last values, if the hub remembers")
  func lateJoiner() {
    let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 10))
    let channel = Channel<User>(id: 1)
    hub.send(\.name, "A", on: channel)
    hub.send(\.name, "B", on: channel)
    hub.send(\.age, 5, on: channel)
    let model = UserModel1()
    var heard: [String] = []
    hub.observe(\.name, on: channel) { heard.append($0) }
    hub.bind(model, to: channel, through: map1())
    #expect(model.name == "B" && model.age == 5 && heard == ["B"])
    #expect(hub.latest(\.name, on: channel) == "B")
    hub.forget(channel)
    #expect(hub.latest(\.name, on: channel) == nil)
  }

  @Test("beyond the bound, what was sent longest ago is forgotten", arguments: [1, 2, 3, 5])
  func bound(_ bound: Int) {
    // A naive memory: pairs in the order in which they were last sent.
    var naive: [(id: Int, age: Int)] = []
    let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: bound))
    var generator = SplitMix64(seed: bound)
    for age in 0..<500 {
      let id = Int.random(in: 0..<6, using: &generator)
      let channel = Channel<User>(id: id)
      if Int.random(in: 0..<10, using: &generator) == 0 {
        hub.forget(channel)
        naive.removeAll { $0.id == id }
      } else {
        hub.send(\.age, age, on: channel)
        naive.removeAll { $0.id == id }
        naive.append((id, age))
        if naive.count > bound { naive.removeFirst() }
      }
      for id in 0..<6 {
        let expected = naive.first { $0.id == id }?.age
        #expect(hub.latest(\.age, on: Channel<User>(id: id)) == expected)
      }
      #expect(hub.channelCount == naive.count)
    }
  }

  @Test("two properties of one channel with room for one leave the newer")
  func oneValue() {
    let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 1))
    let channel = Channel<User>(id: 1)
    hub.send(\.name, "A", on: channel)
    hub.send(\.age, 5, on: channel)
    #expect(hub.latest(\.name, on: channel) == nil && hub.latest(\.age, on: channel) == 5)
  }

  @Test("who binds during a delivery gets what it missed")
  func duringDelivery() {
    let hub = ChannelHub(limits: ChannelLimits(maxRememberedValueCount: 1))
    let channel = Channel<User>(id: 1)
    let model = UserModel1()
    hub.observe(\.age, on: channel) { _ in hub.bind(model, to: channel, through: map1()) }
    hub.send(\.age, 5, on: channel)
    #expect(model.age == 5)
  }
}
