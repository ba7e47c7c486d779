import TestRandom
import Testing

@testable import TandemSQLite

struct CheckoutQueueTests {
  /// The same by arrays, in the plainest way.
  private struct Model {
    var idle: [Int]
    var waiting: [(id: CheckoutQueue<Int, Int>.RequestID, waiter: Int)] = []
    var checkedOut: [Int] = []
    var requestCount = 0
  }

  @Test("requests are served in order, withdrawn ones are skipped, and no item is lost")
  func random() {
    for seed in 0..<UInt64(200) {
      var generator = SplitMix64(seed: seed)
      let count = Int.random(in: 0...3, using: &generator)
      var queue = CheckoutQueue<Int, Int>(Array(0..<count))
      var model = Model(idle: Array(0..<count))
      for _ in 0..<300 {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0, 1:
          let id = queue.makeRequestID()
          model.requestCount += 1
          let waiter = model.requestCount
          switch queue.checkOut(id, { waiter }) {
          case .checkedOut(let item):
            #expect(model.idle.popLast() == item, "seed \(seed)")
            model.checkedOut.append(item)
          case .waits:
            #expect(model.idle.isEmpty, "seed \(seed)")
            model.waiting.append((id, waiter))
          case .rejected: Issue.record("it is not closed, seed \(seed)")
          }
        case 2, 3:
          guard let item = model.checkedOut.popLast() else { continue }
          let next = queue.checkIn(item)
          if model.waiting.isEmpty {
            #expect(next == nil, "seed \(seed)")
            model.idle.append(item)
          } else {
            #expect(next == model.waiting.removeFirst().waiter, "seed \(seed)")
            model.checkedOut.append(item)
          }
        default:
          guard let (id, waiter) = model.waiting.randomElement(using: &generator) else { continue }
          #expect(queue.withdraw(id) == waiter, "seed \(seed)")
          #expect(queue.withdraw(id) == nil, "seed \(seed)")
          model.waiting.removeAll { $0.id == id }
        }
        #expect(queue.isIdle == model.checkedOut.isEmpty, "seed \(seed)")
      }
      #expect(queue.close() == model.waiting.map(\.waiter), "seed \(seed)")
      for item in model.checkedOut { #expect(queue.checkIn(item) == nil) }
      #expect(queue.isIdle)
      #expect(queue.takeIdle().sorted() == Array(0..<count))
      #expect(queue.isIdle)
    }
  }

  @Test("a closed queue rejects every request")
  func closed() {
    var queue = CheckoutQueue<Int, Int>([1])
    #expect(queue.close() == [])
    guard case .rejected = queue.checkOut(queue.makeRequestID(), { 0 }) else {
      Issue.record("an item is checked out after closing")
      return
    }
  }
}
