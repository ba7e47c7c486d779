import TestRandom
import Testing

@testable import TandemSQLite

struct LendingQueueTests {
  /// The same by arrays, in the plainest way.
  private struct Model {
    var idle: [Int]
    var waiting: [UInt64] = []
    var lent: [Int] = []
  }

  @Test("whoever asks first is served first, those who left are passed over, and no item is lost")
  func random() {
    for seed in 0..<UInt64(200) {
      var generator = SplitMix64(seed: seed)
      let count = Int.random(in: 0...3, using: &generator)
      var queue = LendingQueue<Int, UInt64>(Array(0..<count))
      var model = Model(idle: Array(0..<count))
      for _ in 0..<300 {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1:
          let ticket = queue.ticket()
          switch queue.request(ticket, { ticket }) {
          case .lent(let item):
            #expect(model.idle.popLast() == item, "seed \(seed)")
            model.lent.append(item)
          case .waits:
            #expect(model.idle.isEmpty, "seed \(seed)")
            model.waiting.append(ticket)
          case .refused: Issue.record("it is not closed, seed \(seed)")
          }
        case 2, 3:
          guard let item = model.lent.popLast() else { continue }
          let next = queue.giveBack(item)
          if model.waiting.isEmpty {
            #expect(next == nil, "seed \(seed)")
            model.idle.append(item)
          } else {
            #expect(next == model.waiting.removeFirst(), "seed \(seed)")
            model.lent.append(item)
          }
        default:
          guard let ticket = model.waiting.randomElement(using: &generator) else { continue }
          #expect(queue.withdraw(ticket) == ticket, "seed \(seed)")
          #expect(queue.withdraw(ticket) == nil, "seed \(seed)")
          model.waiting.removeAll { $0 == ticket }
        }
        #expect(queue.isWhole == model.lent.isEmpty, "seed \(seed)")
      }
      #expect(queue.close() == model.waiting, "seed \(seed)")
      for item in model.lent { #expect(queue.giveBack(item) == nil) }
      #expect(queue.isWhole)
      #expect(queue.takeIdle().sorted() == Array(0..<count))
      #expect(queue.isWhole)
    }
  }

  @Test("a closed queue refuses everybody")
  func closed() {
    var queue = LendingQueue<Int, Int>([1])
    #expect(queue.close() == [])
    guard case .refused = queue.request(queue.ticket(), { 0 }) else {
      Issue.record("it lends after closing")
      return
    }
  }
}
