import TandemChannels
import TandemRecords
import TestRandom
import Testing

@testable import TandemLinks

struct ChannelLinkClockTests {
  private func entry(_ id: Int, age: Int = 0) -> BatchEntry {
    ChannelBatch().setting(\LinkedUser.age, to: age, on: Channel<LinkedUser>(id: id)).entries[0]
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
    #expect(first == LinkStamp(counter: 1, hub: 7) && second == LinkStamp(counter: 41, hub: 7))
    #expect(clock.stamp(of: entry(1)) == second && clock.stamp(of: entry(2)) == received)
  }

  @Test("what is older or the same is not accepted")
  func accepting() {
    let clock = clock(7)
    #expect(clock.accept(entry(1), LinkStamp(counter: 5, hub: 3)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 5, hub: 3)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 5, hub: 2)))
    #expect(!clock.accept(entry(1), LinkStamp(counter: 4, hub: 9)))
    #expect(clock.accept(entry(1), LinkStamp(counter: 5, hub: 4)))
    #expect(clock.stamp(of: entry(1)) == LinkStamp(counter: 5, hub: 4))
  }

  @Test(
    "the first clock that is ahead moves what was sent before behind it, in order; no later one")
  func hearing() {
    let clock = clock(7)
    clock.stampUnknown(entry(0))
    for id in 1...3 { clock.stampSent(entry(id)) }
    let restamping = clock.hear(5)
    #expect(restamping == Restamping(hub: 7, lastCounter: 3, distance: 5))
    #expect((0...3).map { clock.stamp(of: entry($0)).counter } == [0, 6, 7, 8])
    #expect(clock.counter == 8 && clock.stampSent(entry(4))?.counter == 9)
    #expect(clock.hear(20) == nil && clock.counter == 20)
    #expect((0...4).map { clock.stamp(of: entry($0)).counter } == [0, 6, 7, 8, 9])
    // What waits somewhere gets its new stamp however often it is asked for.
    for counter in 1...3 as ClosedRange<UInt64> {
      let moved = restamping?.applied(to: LinkStamp(counter: counter, hub: 7))
      #expect(moved == LinkStamp(counter: counter + 5, hub: 7))
      #expect(moved.flatMap { restamping?.applied(to: $0) } == moved)
    }
    let other = LinkStamp(counter: 2, hub: 8)
    #expect(restamping?.applied(to: other) == other)
  }

  @Test("once another hub may have answered, what was sent keeps its stamp")
  func hearingLater() {
    for hasHeard in [false, true] {
      let clock = clock(7)
      clock.stampSent(entry(1))
      if hasHeard {
        _ = clock.hear(0)
      } else {
        _ = clock.accept(entry(2), .init(counter: 1, hub: 9))
      }
      #expect(clock.hear(5) == nil && clock.counter == 5)
      #expect(clock.stamp(of: entry(1)).counter == 1)
    }
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
    // Of an unknown value, the first of another hub is new; to accept one is to know it.
    let known = (0..<100).reversed().prefix {
      !clock.accept(entry($0), LinkStamp(counter: 1, hub: 0))
    }
    #expect((count...2 * count).contains(known.count))
  }

  @Test("what was passed on and forgotten is not taken for new; what its hub sends later is")
  func forgotten() {
    let clock = clock(7, keeping: 3)
    for id in 1...100 { #expect(clock.accept(entry(id), LinkStamp(counter: UInt64(id), hub: 3))) }
    for id in 1...100 { #expect(!clock.accept(entry(id), LinkStamp(counter: UInt64(id), hub: 3))) }
    #expect(clock.accept(entry(1), LinkStamp(counter: 101, hub: 3)))
    // Of another hub, nothing was forgotten, however far it is behind.
    #expect(clock.accept(entry(2), LinkStamp(counter: 1, hub: 4)))
    // What was sent here comes back from others.
    let sent = (200..<300).map { clock.stampSent(entry($0)) }
    for (id, stamp) in zip(200..<300, sent) {
      #expect(stamp.map { clock.accept(entry(id), $0) } == false)
    }
  }

  @Test("however many hubs there were, what was forgotten is not taken for new")
  func manyHubs() {
    var forgotten = ForgottenStamps()
    let stamps = (1...5_000).map { LinkStamp(counter: UInt64($0) * 7919 % 5_003, hub: UInt64($0)) }
    for stamp in stamps { forgotten.add(stamp) }
    #expect(stamps.allSatisfy(forgotten.covers))
    #expect(!forgotten.covers(LinkStamp(counter: 5_003, hub: 1)))
    #expect(MemoryLayout<StampKey>.size == 24, "ids of any length cost no more")
  }

  @Test("ids that differ are told apart, although their type hashes them all the same")
  func digests() {
    struct Same: Hashable, Codable {
      var number: Int
      func hash(into hasher: inout Hasher) {}
    }
    struct Unsaid: Hashable { var number: Int }
    let channels = (0..<3).flatMap {
      [
        Channel<LinkedUser>(id: $0), Channel(id: "\($0)"), Channel(id: Int8($0)),
        Channel(id: Same(number: $0)), Channel(id: Unsaid(number: $0)),
      ]
    }
    let digests = Set(channels.map { ChannelDigest($0.address) })
    #expect(digests.count == channels.count)
    #expect(digests.contains(ChannelDigest(Channel<LinkedUser>(id: Same(number: 2)).address)))
    #expect(!digests.contains(ChannelDigest(Channel<LinkedCar>(id: 0).address)))
  }

  @Test(
    "a clock that is further ahead than one that counts is refused; the last counter is the end")
  func highest() {
    let clock = clock(7)
    #expect(throws: ChannelLinkError.self) { try clock.check(LinkStamp.maxLead + 1) }
    #expect(clock.counter == 0)
    while clock.counter < LinkStamp.maxCounter {
      let next = min(clock.counter + LinkStamp.maxLead, LinkStamp.maxCounter)
      #expect(throws: Never.self) { try clock.check(next) }
      _ = clock.hear(next)
    }
    #expect(clock.stampSent(entry(1)) == nil)
  }

  @Test("hubs that get the same values in any order, doubled or not, end with the same one")
  func convergence() {
    for seed in 0..<200 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      let clocks = [clock(5), clock(9), clock(1)]
      var ages = [0, 0, 0]
      var sent: [(age: Int, stamp: LinkStamp)] = []
      // All have heard of each other; what was sent before is another matter.
      for clock in clocks { _ = clock.hear(0) }
      func receive(_ message: (age: Int, stamp: LinkStamp), at hub: Int) {
        if clocks[hub].accept(entry(1), message.stamp) { ages[hub] = message.age }
      }
      for age in 1...12 {
        let hub = Int.random(in: 0..<3, using: &generator)
        ages[hub] = age
        if let stamp = clocks[hub].stampSent(entry(1)) { sent.append((age, stamp)) }
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
      "[4503599627370497,\"a\"]", "[1,\"g\"]", "[1,\"\"]", "[1,\"10000000000000000\"]",
      "[1,\"a\",0]",
    ]
    for text in others { #expect(LinkStamp(try JSONValue(parsing: text.utf8)) == nil, "\(text)") }
  }
}
