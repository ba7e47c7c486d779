import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("Preparing a mirror's transfers", .timeLimit(.minutes(20)))
struct MirrorPrepareTests {
  /// Has 1, 2 and 3 to transfer, answers `answer`, and orders items by their negated identity.
  struct Scene {
    var answer: [Int]?
    var transferred = Locked<[Int]>([])
    var given = Locked<[Int]>([])

    var mirror: OneWayMirror<ScriptedItem> {
      let (answer, transferred, given) = (answer, transferred, given)
      var processor = MirrorProcessor<ScriptedItem>(
        list: { MirrorPages(from: 1) { id in ([ScriptedItem(id: id)], id < 3 ? id + 1 : nil) } },
        local: { MirrorPages([]) },
        transfer: { item, _, _ in transferred.withLock { $0.append(item.id) } }, remove: { _ in })
      processor.order = { -$0.id }
      processor.prepare = { items in
        given.withLock { $0 = items.map(\.id) }
        return answer?.map { ScriptedItem(id: $0) } ?? items
      }
      return OneWayMirror(processor, options: MirrorOptions(concurrency: 1))
    }
  }

  @Test("is given the items by their order value, from all pages")
  func order() async throws {
    let scene = Scene()
    try await scene.mirror.run()
    #expect(scene.given.current == [3, 2, 1])
    #expect(scene.transferred.current == [3, 2, 1])
  }

  @Test("may reorder and leave out; what is left out counts as skipped")
  func filter() async throws {
    for answer in [[], [1], [1, 3], [2, 1, 3]] {
      let scene = Scene(answer: answer)
      let report = try await scene.mirror.run()
      #expect(scene.transferred.current == answer)
      #expect(report.skippedCount == 3 - answer.count)
    }
  }

  @Test("may add items, which are transferred like the others")
  func added() async throws {
    for answer in [[4], [1, 4, 2], [3, 2, 1, 4, 5]] {
      let scene = Scene(answer: answer)
      let report = try await scene.mirror.run()
      #expect(scene.transferred.current == answer)
      #expect(report.transferred.map(\.id) == answer)
      #expect(report.skippedCount == 3 - answer.count { $0 <= 3 })
      #expect(report.isComplete)
    }
  }

  @Test("may not repeat an item")
  func repeated() async throws {
    for answer in [[1, 1], [4, 4], [1, 2, 3, 1]] {
      let scene = Scene(answer: answer)
      do {
        try await scene.mirror.run()
        Issue.record("\(answer) was accepted")
      } catch let error as MirrorRunError<Int> {
        #expect((error.failure.error as? MirrorError)?.code == .duplicateElement)
        #expect(error.report.untransferred == [3, 2, 1])
      }
      #expect(scene.transferred.current.isEmpty)
    }
  }
}

@Suite("Pages")
struct MirrorPagesTests {
  private func elements(_ pages: MirrorPages<Int>) async throws -> [[Int]] {
    try await pages.reduce(into: []) { $0.append($1) }
  }

  @Test("of a list are one page, each time they are read")
  func list() async throws {
    let pages = MirrorPages([1, 2])
    #expect(try await elements(pages) == [[1, 2]])
    #expect(try await elements(pages) == [[1, 2]])
  }

  @Test("pages of a sequence are passed on unchanged")
  func sequence() async throws {
    let (stream, continuation) = AsyncStream<[Int]>.makeStream()
    for page in [[1], [], [2, 3]] { continuation.yield(page) }
    continuation.finish()
    #expect(try await elements(MirrorPages(stream)) == [[1], [], [2, 3]])
  }

  @Test("by a cursor end with the last one, or with an error")
  func cursor() async throws {
    let pages = MirrorPages<Int>(from: 0) { ([$0], $0 < 2 ? $0 + 1 : nil) }
    #expect(try await elements(pages) == [[0], [1], [2]])
    let failing = MirrorPages<Int>(from: 0) { cursor in
      if cursor == 2 { throw ScriptedError() }
      return ([cursor], cursor + 1)
    }
    await #expect(throws: ScriptedError.self) { try await elements(failing) }
  }
}
