import Testing

@testable import TandemChannels

struct ChannelLinkClockTests {
  private func entry(_ id: Int, age: Int = 0) -> BatchEntry {
    ChannelBatch().setting(\User.age, to: age, on: Channel<User>(id: id)).entries[0]
  }

  private func clock(_ hub: UInt64, keeping count: Int = 100) -> LinkClock {
    let clock = LinkClock(hub: hub)
    clock.keep(atLeast: count)
    return clock
  }

  @Test("what is sent is later than all that was sent or received before")
  func order() {
    let clock = clock(7)
    let first = clock.stampSent(entry(1))
    let received = LinkStamp(counter: 40, hub: 1)
    #expect(clock.accept(entry(2), received))
    let second = clock.stampSent(entry(1))
    #expect(first < received && received < second)
    #expect(clock.stamp(of: entry(1)) == second && clock.stamp(of: entry(2)) == received)
  }

  @Test("what is older or the same is not accepted; what has no stamp is, as sent here")
  func accepting() {
    let clock = clock(7)
    #expect(clock.accept(entry(1), LinkStamp(counter: 5, hub: 3)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 5, hub: 3)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 5, hub: 2)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 4, hub: 9)))
    #expect(clock.accept(entry(1), LinkStamp(counter: 5, hub: 4)))
    #expect(clock.accept(entry(1), nil))
    #expect(clock.stamp(of: entry(1)) == LinkStamp(counter: 6, hub: 7))
  }

  @Test("what was sent before anybody stamped is older than all others, and known")
  func unknown() {
    let clock = clock(7)
    clock.stampUnknown(entry(1))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 0, hub: 6)))
    #expect(clock.accept(entry(1), LinkStamp(counter: 0, hub: 8)))
    clock.stampUnknown(entry(1))
    #expect(clock.stamp(of: entry(1)) == LinkStamp(counter: 0, hub: 8))
  }

  @Test("the stamps of the last values are known, and at most twice as many", arguments: [1, 2, 7])
  func bound(count: Int) {
    let clock = clock(7, keeping: count)
    for id in 0..<100 { clock.stampSent(entry(id)) }
    // To accept one is to know it, so the count ends there.
    let known = (0..<100).reversed().prefix {
      !clock.accept(entry($0), LinkStamp(counter: 1, hub: 0))
    }
    #expect((count...2 * count).contains(known.count))
  }

  @Test("a peer that claims the highest counter makes nobody trap")
  func highest() {
    let clock = clock(7)
    #expect(clock.accept(entry(1), LinkStamp(counter: LinkStamp.maxCounter, hub: 3)))
    #expect(clock.stampSent(entry(1)).counter == LinkStamp.maxCounter)
  }

  @Test("hubs that get the same values in any order, doubled or not, end with the same one")
  func convergence() {
    for seed in 0..<200 as Range<UInt64> {
      var generator = SplitMix64(state: seed)
      let clocks = [clock(5), clock(9), clock(1)]
      var ages = [0, 0, 0]
      var sent: [(age: Int, stamp: LinkStamp)] = []
      func receive(_ message: (age: Int, stamp: LinkStamp), at hub: Int) {
        if clocks[hub].accept(entry(1), message.stamp) { ages[hub] = message.age }
      }
      for age in 1...12 {
        let hub = Int.random(in: 0..<3, using: &generator)
        ages[hub] = age
        sent.append((age, clocks[hub].stampSent(entry(1))))
        for _ in 0..<2 {
          let late = sent[Int.random(in: 0..<sent.count, using: &generator)]
          receive(late, at: Int.random(in: 0..<3, using: &generator))
        }
      }
      for hub in 0..<3 {
        for message in sent.shuffled(using: &generator) { receive(message, at: hub) }
      }
      #expect(Set(ages).count == 1, "seed \(seed): \(ages)")
    }
  }

  @Test("a stamp comes out as it went in; what is none is told")
  func wire() throws {
    for stamp in [
      LinkStamp(counter: 0, hub: 0), LinkStamp(counter: LinkStamp.maxCounter, hub: .max),
    ] {
      #expect(LinkStamp(try JSONValue(parsing: stamp.json.description.utf8)) == stamp)
    }
    let others = [
      "null", "[]", "[1]", "[1,2]", "[\"1\",\"a\"]", "[-1,\"a\"]", "[1.5,\"a\"]", "[1e3,\"a\"]",
      "[9007199254740992,\"a\"]", "[1,\"g\"]", "[1,\"\"]", "[1,\"10000000000000000\"]",
      "[1,\"a\",0]",
    ]
    for text in others { #expect(LinkStamp(try JSONValue(parsing: text.utf8)) == nil, "\(text)") }
  }
}
