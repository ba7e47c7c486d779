import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("The bound of a processor", .timeLimit(.minutes(20)))
struct MirrorTransferBoundTests {
  @Test(
    "is how many transfers run at a time, if the options allow more",
    arguments: [(64, 3), (3, 64), (64, 0), (64, -1), (0, 2)])
  func bound(concurrency: Int, bound: Int) async throws {
    let count =
      concurrency == 0 ? bound : max(1, min(concurrency, bound))
    let processor = ScriptedProcessor(source: Array(0..<20), local: [], maxTransferCount: bound)
    let scene = MirrorScene(processor, MirrorOptions(concurrency: concurrency))
    let clock = scene.clock
    processor.script.withLock { script in
      for id in 0..<20 {
        script["content \(id)"] = .perform { try await clock.sleep(for: .seconds(1)) }
      }
    }
    let run = Task { try await scene.mirror.run() }
    var left = 20
    while left > 0 {
      await clock.untilSleeping(min(count, left))
      clock.advance(by: .seconds(1))
      left -= min(count, left)
    }
    #expect(try await run.value.transferred.count == 20)
    #expect(processor.log.current.maxActiveTransferCount == count)
    #expect(scene.mirror.options.concurrency == concurrency)
  }
}
