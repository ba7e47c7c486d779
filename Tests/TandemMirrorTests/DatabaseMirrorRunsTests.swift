import Foundation
import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite("Mirrors: runs that repeat", .timeLimit(.minutes(20)))
struct DatabaseMirrorRunsTests {
  let scene: ContentScene
  let clock = VirtualClock()

  init() throws { scene = try ContentScene() }

  private func runs(into database: Database, client: (any HTTPClient)? = nil) -> DatabaseMirror.Runs
  {
    var list = RecordListOptions()
    list.retry = .never
    return DatabaseMirror(table: "place", key: ["id"]).runs(
      from: .url(ContentScene.listURL), into: database, every: .seconds(60), list: list,
      client: client ?? scene.server, clock: clock)
  }

  @Test("each report is of one run, an interval after the one before, and asks only for changes")
  func reports() async throws {
    let database = try Database(path: "\(scene.folder.path)/list.db")
    scene.server["/list"] = #"[{"id":1}]"#
    let clock = clock
    let runs = runs(into: database)
    let (reports, continuation) = AsyncStream.makeStream(of: DatabaseMirror.Report.self)
    let loop = Task {
      for await report in runs { continuation.yield(report) }
      continuation.finish()
    }
    var seen = reports.makeAsyncIterator()
    var descriptions: [String] = []
    for list in [#"[{"id":1}]"#, #"[{"id":2}]"#, nil, #"[{"id":2},{"id":3}]"#] {
      await clock.untilSleeping(descriptions.isEmpty ? 0 : 1)
      scene.server["/list"] = list ?? scene.server["/list"]
      if !descriptions.isEmpty { clock.advance(by: .seconds(60)) }
      descriptions.append(try #require(await seen.next()).description)
    }
    #expect(
      descriptions == [
        "1 inserted, 0 updated, 0 deleted", "1 inserted, 0 updated, 1 deleted", "unchanged",
        "1 inserted, 0 updated, 0 deleted",
      ])
    #expect(scene.server.requests.dropFirst().allSatisfy { $0.fields["If-None-Match"] != nil })
    #expect(clock.durations.allSatisfy { $0 == .seconds(60) })
    // A cancellation during a pause ends the loop.
    await clock.untilSleeping(1)
    loop.cancel()
    clock.advance(by: .seconds(60))
    await loop.value
    #expect(await seen.next() == nil)
    #expect(scene.server.requests.count == 4)
  }

  @Test("a run that fails is reported, and the next ones wait longer")
  func failures() async throws {
    let database = try Database(path: ":memory:")
    let runs = runs(into: database)
    let clock = clock
    let server = scene.server
    let loop = Task {
      var iterator = runs.makeAsyncIterator()
      var reports: [DatabaseMirror.Report] = []
      while reports.count < 4, let report = await iterator.next() {
        reports.append(report)
        if reports.count == 3 { server["/list"] = #"[{"id":1}]"# }
      }
      return reports
    }
    for _ in 1...3 {
      await clock.untilSleeping(1)
      clock.advance(by: .seconds(900))
    }
    let reports = await loop.value
    #expect(reports.map { $0.run.interruption == nil } == [false, false, false, true])
    #expect(try #require(reports.first).description.contains("404"))
    #expect(clock.durations.count == 3)
    // Up to half of each pause is left out at random, but never so that it is shorter than the interval.
    for (duration, bounds) in zip(clock.durations, [60...60, 60...120, 120...240]) {
      #expect(duration >= .seconds(bounds.lowerBound) && duration <= .seconds(bounds.upperBound))
    }
  }

  @Test("the pause doubles with each failure in a row, up to a bound, and obeys the server")
  func pauses() throws {
    let runs = runs(into: try Database(path: ":memory:"))
    let error = TransportError(.badStatus, "busy", url: "http://a.example")
    let pauses = (1...6).map { runs.pause(afterFailure: $0, error: error, chance: 1) }
    #expect(pauses == [60, 120, 240, 480, 900, 900].map { Duration.seconds($0) })
    #expect(runs.pause(afterFailure: 1, error: error, chance: 0) == .seconds(60))
    #expect(runs.pause(afterFailure: .max, error: error, chance: 1) == .seconds(900))
    var asking = error
    asking.retryDelay = .seconds(300)
    #expect(runs.pause(afterFailure: 1, error: asking, chance: 1) == .seconds(300))
    asking.retryDelay = .seconds(86_400)
    #expect(runs.pause(afterFailure: 1, error: asking, chance: 1) == .seconds(900))
  }

  @Test("a cancellation ends the run in progress, which is not reported")
  func cancelled() async throws {
    let database = try Database(path: ":memory:")
    let (asked, isAsked) = AsyncStream.makeStream(of: Void.self)
    let runs = runs(into: database, client: HangingClient(onRequest: { isAsked.finish() }))
    let loop = Task {
      var count = 0
      for await _ in runs { count += 1 }
      return count
    }
    for await _ in asked {}
    loop.cancel()
    #expect(await loop.value == 0)
  }

  @Test("an iteration of a task that is cancelled already starts nothing")
  func cancelledBefore() async throws {
    let runs = runs(into: try Database(path: ":memory:"))
    let loop = Task {
      while !Task.isCancelled { await Task.yield() }
      var iterator = runs.makeAsyncIterator()
      return await iterator.next() == nil
    }
    loop.cancel()
    #expect(await loop.value)
    #expect(scene.server.requests.isEmpty)
  }
}

/// Answers no request.
private struct HangingClient: HTTPClient {
  let onRequest: @Sendable () -> Void

  func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    onRequest()
    try await hang()
    throw CancellationError()
  }
}
