import TandemDifferences
import TandemSync
import Testing

@Suite("InMemoryRemote keeps the promises of a conditional remote")
struct SynchronizerRemoteTests {
  func push(
    _ contents: [Int], at revision: RemoteRevision?, _ token: String, to remote: InMemoryRemote<Int>
  ) async -> RemoteRevision? {
    await remote.push(contents, difference: SetDifference(), at: revision, token: token)
  }

  let first = RemoteRevision(epoch: "1", commit: "1")

  @Test("absent contents are created once")
  func creation() async {
    let remote = InMemoryRemote<Int>()
    #expect(await remote.pull() == nil)
    #expect(await push([1], at: first, "a", to: remote) == nil)
    #expect(await push([1], at: nil, "b", to: remote) == first)
    #expect(await push([2], at: nil, "c", to: remote) == nil)
    #expect(await remote.pull()?.elements == [1])
    #expect(await remote.pull()?.revision == first)
  }

  @Test("a push is accepted at exactly its revision, epoch and commit")
  func condition() async {
    let remote = InMemoryRemote<Int>()
    _ = await push([1], at: nil, "a", to: remote)
    for (epoch, commit) in [("1", "2"), ("2", "1")] {
      let wrong = RemoteRevision(epoch: epoch, commit: commit)
      #expect(await push([2], at: wrong, "b", to: remote) == nil)
    }
    #expect(await remote.pull()?.revision == first)
    let second = RemoteRevision(epoch: "1", commit: "2")
    #expect(await push([2], at: first, "c", to: remote) == second)
    #expect(await remote.pull()?.elements == [2])
    #expect(await remote.pull()?.revision == second)
  }

  @Test("a repeated push is answered as the first time, and not applied again")
  func repetition() async {
    let remote = InMemoryRemote<Int>()
    _ = await push([1], at: nil, "a", to: remote)
    _ = await push([2], at: first, "b", to: remote)
    #expect(await push([1], at: nil, "a", to: remote) == first)
    #expect(await remote.pull()?.elements == [2])
    await remote.remove()
    #expect(await push([1], at: nil, "a", to: remote) == first)
    #expect(await remote.pull() == nil)
  }

  @Test("a restart is a new epoch")
  func restart() async {
    let remote = InMemoryRemote<Int>()
    await remote.restart(with: [1])
    await remote.restart(with: [1])
    #expect(await remote.pull()?.elements == [1])
    #expect(await remote.pull()?.revision == RemoteRevision(epoch: "2", commit: "2"))
  }

  @Test("as many tokens are remembered as promised, and no more")
  func memory() async {
    let remote = InMemoryRemote<Int>()
    var revisions = [first]
    _ = await push([0], at: nil, "0", to: remote)
    let count = InMemoryRemote<Int>.rememberedTokenCount
    for number in 1...count * 2 {
      guard
        let revision = await push(
          [number], at: revisions[number - 1], String(number), to: remote)
      else {
        Issue.record("push \(number) was rejected")
        return
      }
      revisions.append(revision)
    }
    for number in [count + 1, count * 2] {
      #expect(await push([], at: nil, String(number), to: remote) == revisions[number])
    }
    #expect(await push([], at: nil, String(count), to: remote) == nil)
  }

  @Test("random tokens differ")
  func tokens() {
    #expect(Set((0..<100).map { _ in PushToken.random() }).count == 100)
  }
}
