import TandemDifferences
import TandemSync
import TestRandom
import Testing

@Suite("InMemoryRemote keeps the promises of a conditional remote")
struct SynchronizerRemoteTests {
  func push(
    _ condition: ConditionalPush<Int>.Condition, _ contents: [Int], _ token: String
  ) -> ConditionalPush<Int> {
    ConditionalPush(
      condition: condition, contents: contents, difference: SetDifference(),
      token: PushToken(token))
  }

  let first = RemoteRevision(epoch: "1", commit: "1")

  @Test("absent contents are created once")
  func creation() async {
    let remote = InMemoryRemote<Int>()
    #expect(await remote.pull() == .absent)
    #expect(await remote.push(push(.revision(first), [1], "a")) == .rejected(current: nil))
    #expect(await remote.push(push(.absent, [1], "b")) == .accepted(first))
    #expect(await remote.push(push(.absent, [2], "c")) == .rejected(current: first))
    #expect(await remote.pull() == .present([1], first))
  }

  @Test("a push is accepted at exactly its revision, epoch and commit")
  func condition() async {
    let remote = InMemoryRemote<Int>()
    _ = await remote.push(push(.absent, [1], "a"))
    for (epoch, commit) in [("1", "2"), ("2", "1")] {
      let wrong = RemoteRevision(epoch: epoch, commit: commit)
      #expect(await remote.push(push(.revision(wrong), [2], "b")) == .rejected(current: first))
    }
    let second = RemoteRevision(epoch: "1", commit: "2")
    #expect(await remote.push(push(.revision(first), [2], "c")) == .accepted(second))
    #expect(await remote.pull() == .present([2], second))
  }

  @Test("a repeated push is answered as the first time, and not applied again")
  func repetition() async {
    let remote = InMemoryRemote<Int>()
    let creation = push(.absent, [1], "a")
    _ = await remote.push(creation)
    _ = await remote.push(push(.revision(first), [2], "b"))
    #expect(await remote.push(creation) == .accepted(first))
    #expect(await remote.pull().contents == [2])
    await remote.remove()
    #expect(await remote.push(creation) == .accepted(first))
    #expect(await remote.pull() == .absent)
  }

  @Test("a restart is a new epoch")
  func restart() async {
    let remote = InMemoryRemote<Int>()
    await remote.restart(with: [1])
    await remote.restart(with: [1])
    #expect(await remote.pull() == .present([1], RemoteRevision(epoch: "2", commit: "2")))
  }

  @Test("as many tokens are remembered as promised, and no more")
  func memory() async {
    let remote = InMemoryRemote<Int>()
    var revisions = [first]
    _ = await remote.push(push(.absent, [0], "0"))
    let count = InMemoryRemote<Int>.rememberedTokenCount
    for number in 1...count * 2 {
      guard
        case .accepted(let revision) = await remote.push(
          push(.revision(revisions[number - 1]), [number], String(number)))
      else {
        Issue.record("push \(number) was rejected")
        return
      }
      revisions.append(revision)
    }
    for number in [count + 1, count * 2] {
      #expect(
        await remote.push(push(.absent, [], String(number))) == .accepted(revisions[number]))
    }
    #expect(
      await remote.push(push(.absent, [], String(count))) == .rejected(current: revisions.last))
  }

  @Test("random tokens differ, and are the generator's")
  func tokens() {
    var generator = SplitMix64(seed: 1)
    var tokens: Set<PushToken> = [.random(), .random()]
    for _ in 0..<100 { tokens.insert(.random(using: &generator)) }
    #expect(tokens.count == 102)
    var again = SplitMix64(seed: 1)
    #expect(tokens.contains(.random(using: &again)))
  }
}

extension RemoteContents {
  fileprivate var contents: [Element]? {
    if case .present(let elements, _) = self { elements } else { nil }
  }
}
