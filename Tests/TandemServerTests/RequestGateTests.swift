import Synchronization
import TandemServer
import TandemSpace
import TandemSync
import Testing

@Suite(.timeLimit(.minutes(20))) struct RequestGateTests {
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

  /// A space that lets requests wait until ``end()``.
  private final class HeldSpaces: ServedSpaces {
    private let state = Mutex((waiting: [CheckedContinuation<Void, Never>](), isEnded: false))

    var waitingCount: Int { state.withLock { $0.waiting.count } }

    func end() {
      let waiting = state.withLock { state in
        state.isEnded = true
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }

    func names() -> [String] { [] }

    var members: (any SpaceMemberships)? { nil }

    func create(_ name: String, owner: String) throws -> Bool {
      throw SyncRequestError.unknownSpace(name)
    }

    func rename(_ name: String, to newName: String) -> Bool { false }

    func delete(_ name: String) {}

    func successor(of name: String) -> String? { nil }

    func close() {}

    func marks() -> [String: String] { [:] }

    func with<Result: Sendable>(
      _ name: String, creates: Bool, _ body: @Sendable (any SpaceStore) async throws -> Result
    ) async throws -> Result {
      await withCheckedContinuation { continuation in
        let isEnded = state.withLock { state in
          if !state.isEnded { state.waiting.append(continuation) }
          return state.isEnded
        }
        if isEnded { continuation.resume() }
      }
      throw SyncRequestError.unknownSpace(name)
    }

    func follow(
      _ name: String, _ body: @escaping @Sendable (any SpaceStore) async throws -> Void
    ) async throws { throw SyncRequestError.unknownSpace(name) }
  }

  @Test("A service has few large requests under way at a time, and small ones pass them")
  func largeRequests() async throws {
    let spaces = HeldSpaces()
    let service = SyncService(spaces: spaces, tokens: nil)
    let head = ServedRequestHead(
      method: "POST", target: "/v1/spaces/notes/commits",
      fields: [("Host", "127.0.0.1"), ("Content-Type", "application/json")])
    var replica = TestReplica(seed: 1)
    let base = SpaceRevision(epoch: replica.id, version: 0, mark: 0)
    let small = SyncMessageWriter.bytes(replica.commit(base, [insertion(1)]))
    let large = small + [UInt8](repeating: 0x20, count: SyncService.maxSmallBodyByteCount)
    let width = SyncService.maxLargeRequestCount
    await withTaskGroup(of: Int.self) { group in
      for _ in 0..<width + 3 {
        group.addTask { await service.answer(ServedRequest(head: head, body: large)).status }
      }
      while spaces.waitingCount + service.gate.waitingCount < width + 3 { await Task.yield() }
      #expect(spaces.waitingCount == width)
      group.addTask { await service.answer(ServedRequest(head: head, body: small)).status }
      while spaces.waitingCount + service.gate.waitingCount < width + 4 { await Task.yield() }
      #expect(spaces.waitingCount == width + 1)
      spaces.end()
      for await status in group { #expect(status == 404) }
    }
  }
}
