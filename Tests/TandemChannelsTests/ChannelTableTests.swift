import TestRandom
import Testing

@testable import TandemChannels

@Suite("A table of channels")
struct ChannelTableTests {

  private func node(_ id: Int) -> ChannelNode {
    ChannelNode(address: Channel<User>(id: id).address)
  }

  @Test("it finds what a dictionary would, whatever is added and removed", arguments: 0..<50)
  func dictionary(seed: Int) {
    var generator = SplitMix64(seed: seed)
    let idCount = Int.random(in: 1...200, using: &generator)
    let table = ChannelTable()
    var naive: [Int: ChannelNode] = [:]
    for _ in 0..<2_000 {
      let id = Int.random(in: 0..<idCount, using: &generator)
      if let node = naive.removeValue(forKey: id) {
        table.remove(node)
      } else {
        let node = node(id)
        table.insert(node)
        naive[id] = node
      }
      let other = Int.random(in: 0..<idCount, using: &generator)
      #expect(table.node(at: node(other).address) === naive[other], "seed \(seed)")
    }
    for id in 0..<idCount {
      #expect(table.node(at: node(id).address) === naive[id], "seed \(seed)")
    }
    #expect(table.count == naive.count && table.nodes.count == naive.count, "seed \(seed)")
  }

  @Test("a channel that is not there is not removed, and what was held is let go")
  func lifetime() {
    var table: ChannelTable? = ChannelTable()
    var (first, second): (ChannelNode?, ChannelNode?) = (node(1), node(2))
    weak let (weakFirst, weakSecond) = (first, second)
    if let first, let second {
      table?.insert(first)
      table?.remove(node(1))
      #expect(table?.count == 1)
      table?.insert(second)
      table?.remove(first)
    }
    (first, second) = (nil, nil)
    #expect(weakFirst == nil && weakSecond != nil)
    table = nil
    #expect(weakSecond == nil)
  }
}
