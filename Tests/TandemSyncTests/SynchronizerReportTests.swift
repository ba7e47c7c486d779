import TandemDifferences
import TandemSync
import TestRandom
import Testing

@Suite("Synchronizer, no edit is lost without a report")
struct SynchronizerReportTests {
  /// The edits of a run. Each has a value that no other has, and replaces the value that its device saw.
  private struct Edits {
    private(set) var replaced: [Int: Int] = [:]

    mutating func add(replacing value: Int) -> Int {
      let next = replaced.count + 1
      replaced[next] = value
      return next
    }

    /// All values that are known, and those that they replaced, deliberately.
    func accountedFor(_ known: some Sequence<Int>) -> Set<Int> {
      var result: Set<Int> = []
      for var value in known {
        while value != 0, result.insert(value).inserted { value = replaced[value] ?? 0 }
      }
      return result
    }
  }

  private static let recordCount = 3

  /// Plays a random history of three devices; returns the edits that neither the result has nor a report names.
  private func lostEdits(seed: Int) async throws -> Set<Int> {
    var generator = SplitMix64(seed: seed)
    let start = (0..<Self.recordCount).map { MergeItem($0, 0) }
    let policy: MergePolicy<MergeItem> = Bool.random(using: &generator) ? .keepLocal : .keepRemote
    let world = SynchronizationWorld([start, [], []], policy: policy)
    try await world.settle()
    var edits = Edits()
    for _ in 0..<16 {
      let device = Int.random(in: 0..<3, using: &generator)
      if Int.random(in: 0..<5, using: &generator) < 2 {
        let place = Int.random(in: 0..<Self.recordCount, using: &generator)
        let value = edits.add(replacing: await world.client(device)[place].value)
        await world.change(device) { $0.client[place].value = value }
        continue
      }
      let call = Int.random(in: 0..<4, using: &generator)
      let other = (device + 1) % 3
      let kind = Int.random(in: 0..<6, using: &generator)
      let fault: RemoteFault? =
        switch kind {
        case 0: .loseRequest
        case 1, 2: .loseReply
        case 3: .cancel
        case 4: .first { _ = try? await world.synchronize(other) }
        default: nil
        }
      _ = try? await world.synchronize(device, faults: fault.map { [call: $0] } ?? [:])
      if kind == 2 { await world.restart(device) }
    }
    try await world.settle()
    let reported = await world.reported.flatMap { [$0.local, $0.remote].compactMap { $0?.value } }
    let known = reported + (await world.remoteContents?.elements ?? []).map(\.value)
    return Set(edits.replaced.keys).subtracting(edits.accountedFor(known))
  }

  @Test("in random histories with lost messages, each edit is in the result or in a report")
  func randomHistories() async throws {
    for seed in 0..<1_500 {
      let lost = try await lostEdits(seed: seed)
      try #require(lost.isEmpty, "seed \(seed)")
    }
  }
}
