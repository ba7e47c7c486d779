import Synchronization
import TandemServer
import Testing

@Suite struct RequestGateTests {
  private final class Entries: Sendable {
    private let numbers = Mutex<[Int]>([])

    var all: [Int] { numbers.withLock { $0 } }

    func add(_ number: Int) { numbers.withLock { $0.append(number) } }
  }

  @Test("No more requests are let in than there is room for, and they keep their order")
  func order() async {
    let gate = RequestGate(width: 2)
    let entries = Entries()
    await gate.enter()
    await gate.enter()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          await gate.enter()
          entries.add(number)
        }
        while gate.waitingCount == number { await Task.yield() }
      }
      for count in 0..<4 {
        #expect(entries.all == Array(0..<count))
        gate.leave()
        while entries.all.count == count { await Task.yield() }
      }
    }
    #expect(gate.waitingCount == 0)
    // The room of the last ones is there for others.
    gate.leave()
    gate.leave()
    await gate.enter()
    await gate.enter()
  }
}
