import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

/// One transfer among many that goes wrong in one of two stages, whatever the order and concurrency.
@Suite("A one-way mirror one of whose transfers goes wrong", .timeLimit(.minutes(20)))
struct OneWayMirrorStageTests {
  enum Trouble: CaseIterable, Sendable { case fails, hangs, cancelsTheRun }

  struct Setting: Sendable, CustomTestStringConvertible {
    var trouble: Trouble
    var stage: MirrorStage
    var order: MirrorStageOrder
    var concurrency: Int

    var testDescription: String { "\(stage) \(trouble), \(order), \(concurrency) at a time" }

    static let all: [Setting] = Trouble.allCases.flatMap { trouble in
      [MirrorStage.preview, .content].flatMap { stage in
        MirrorStageOrder.allCases.flatMap { order in
          [1, 2, 10, 64].map {
            Setting(trouble: trouble, stage: stage, order: order, concurrency: $0)
          }
        }
      }
    }
  }

  private static let itemCount = 70
  /// The item whose transfer goes wrong.
  private static let item = 5

  private func scene(_ setting: Setting) -> MirrorScene {
    let timeout = Duration.seconds(5)
    let stages = [MirrorStage.preview, .content].map { MirrorStageOptions($0, timeout: timeout) }
    let scene = MirrorScene(
      ScriptedProcessor(source: Array(0..<Self.itemCount), local: [200]),
      MirrorOptions(
        stages: stages, stageOrder: setting.order, concurrency: setting.concurrency, retry: .never))
    let mirror = scene.mirror
    scene.processor.script.withLock {
      $0["\(setting.stage) \(Self.item)"] =
        switch setting.trouble {
        case .fails: .fail
        case .hangs: .hang
        case .cancelsTheRun:
          .perform {
            await mirror.cancelCurrentRun()
            try await hang()
          }
        }
    }
    return scene
  }

  /// Runs, while time passes if something hangs: what succeeds may be late all the same, but an error
  /// would be told as lateness.
  private func report(of scene: MirrorScene, _ trouble: Trouble) async -> MirrorReport<Int> {
    guard trouble == .hangs else { return await scene.report() }
    let isDone = Locked(false)
    let run = Task {
      defer { isDone.withLock { $0 = true } }
      return await scene.report()
    }
    while !isDone.current {
      scene.clock.advance(by: .seconds(5))
      await Task.yield()
    }
    return await run.value
  }

  @Test("ends in good order, and says what is left", arguments: Setting.all)
  func ending(setting: Setting) async throws {
    let scene = scene(setting)
    let report = await report(of: scene, setting.trouble)
    let interruption = try #require(report.interruption)
    #expect(interruption.step == .transfer)
    #expect(report.isCancelled == (setting.trouble == .cancelsTheRun))
    if !report.isCancelled {
      #expect((interruption.id, interruption.stage) == (Self.item, setting.stage))
      #expect(report.failures.count == 1)
      let code = (interruption.error as? MirrorError)?.code
      #expect(code == (setting.trouble == .hangs ? .timedOut : nil))
    }
    let calls = scene.processor.calls
    let names = calls.prefix(4).map { String($0.prefix { $0 != " " }) }
    #expect(names == ["begin", "localIDs", "source", "prepare"])
    #expect(calls.count { $0 == "begin" } == 1)
    #expect(calls.count { $0 == "end" } == 1)
    #expect(calls.last == "end")
    #expect(!calls.contains { $0.hasPrefix("remove") })
    #expect(report.unremoved == [200])
    #expect(scene.processor.log.current.activeTransferCount == 0)
    #expect(!scene.processor.log.current.wasTransferringAtEnd)
    #expect(scene.processor.log.current.maxActiveTransferCount <= setting.concurrency)
    expectExactTransfers(setting, calls, report)
    expectExactPhases(scene.phases.current, report)
  }

  /// Every transfer that was begun has one outcome, and every item that lacks a stage is named.
  private func expectExactTransfers(
    _ setting: Setting, _ calls: [String], _ report: MirrorReport<Int>
  ) {
    let transfers = calls.filter { $0.hasPrefix("preview") || $0.hasPrefix("content") }
    #expect(Set(transfers).count == transfers.count, "a transfer was made twice")
    let done = report.transferred.map { "\($0.stage) \($0.id)" }
    #expect(Set(done).count == done.count)
    #expect(Set(done).isSubset(of: transfers))
    let culprit = "\(setting.stage) \(Self.item)"
    #expect(transfers.contains(culprit) && !done.contains(culprit))
    let complete = (0..<Self.itemCount).filter {
      done.contains("preview \($0)") && done.contains("content \($0)")
    }
    let failed = report.failures.compactMap(\.id)
    #expect(Set(report.untransferred) == Set(0..<Self.itemCount).subtracting(complete + failed))
    let previews = transfers.count { $0.hasPrefix("preview") }
    switch (setting.order, setting.stage) {
    case (.stageByStage, .preview): #expect(previews == transfers.count)
    case (.stageByStage, _): #expect(previews == Self.itemCount)
    case (.itemByItem, _):
      for id in 0..<Self.itemCount where transfers.contains("content \(id)") {
        #expect(done.contains("preview \(id)"), "a content before its preview")
      }
    }
    guard setting.concurrency == 1 else { return }
    let items = Array(0..<Self.item)
    let expected =
      switch (setting.order, setting.stage) {
      case (.stageByStage, .preview): (items + [Self.item]).map { "preview \($0)" }
      case (.stageByStage, _):
        (0..<Self.itemCount).map { "preview \($0)" } + (items + [Self.item]).map { "content \($0)" }
      case (.itemByItem, .preview):
        items.flatMap { ["preview \($0)", "content \($0)"] } + ["preview \(Self.item)"]
      case (.itemByItem, _): (items + [Self.item]).flatMap { ["preview \($0)", "content \($0)"] }
      }
    #expect(transfers == expected)
  }

  /// Each transfer that ended is one step of the progress, and the run's end is seen.
  private func expectExactPhases(_ phases: [MirrorPhase], _ report: MirrorReport<Int>) {
    #expect(phases.prefix(2) == [.listing, .comparing(sourceCount: Self.itemCount)])
    #expect(phases.suffix(2) == [.ending, .idle])
    var counts: [MirrorStage?: Int] = [:]
    for case .transferring(let progress) in phases {
      let expected = counts[progress.stage].map { $0 + 1 } ?? 0
      #expect(progress.doneCount == expected)
      counts[progress.stage] = progress.doneCount
    }
    let endedCount = counts.values.reduce(0, +)
    #expect(endedCount == report.transferred.count + report.failures.count)
  }

  @Test("is asked in a dry run what it would do, and does none of it")
  func dryRun() async throws {
    let scene = MirrorScene(
      MirrorScene.standardProcessor(), MirrorOptions(removal: .first, isDryRun: true))
    let report = try await scene.mirror.run()
    #expect(
      scene.processor.calls
        == ["begin", "localIDs", "source", "update 1,2", "prepare 5,2,3,4", "end"])
    #expect(report.untransferred == [5, 2, 3, 4])
    #expect(report.unremoved == [9])
    #expect(report.interruption == nil && report.failures.isEmpty)
    #expect(scene.phases.current == [.listing, .comparing(sourceCount: 5), .ending, .idle])
    let refused = MirrorScene(
      ScriptedProcessor(source: [], local: [1]), MirrorOptions(isDryRun: true))
    #expect(await refused.report().interruption?.step == .compare)
  }
}
