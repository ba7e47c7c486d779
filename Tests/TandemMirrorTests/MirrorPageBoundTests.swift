import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import Testing

@testable import TandemMirror

@Suite("A mirror of two sorted sides, in pages", .timeLimit(.minutes(20)))
struct MirrorPageBoundTests {
  /// How many items and identities are alive.
  private final class Census: Sendable {
    private let counts = Locked<(alive: Int, most: Int)>((0, 0))

    func add() {
      counts.withLock {
        $0.alive += 1
        $0.most = max($0.most, $0.alive)
      }
    }

    func remove() { counts.withLock { $0.alive -= 1 } }
    var alive: Int { counts.current.alive }
    var most: Int { counts.current.most }
  }

  /// Counts as alive for as long as anything refers to it.
  private final class Life: Sendable {
    private let census: Census

    init(_ census: Census) {
      self.census = census
      census.add()
    }

    deinit { census.remove() }
  }

  private struct Key: Hashable, Comparable, Sendable {
    var number: Int
    var life: Life

    static func == (a: Key, b: Key) -> Bool { a.number == b.number }
    static func < (a: Key, b: Key) -> Bool { a.number < b.number }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  private struct Item: Identifiable, Sendable { var id: Key }

  private struct Sides {
    let census: Census
    let pageCount: Int

    static let pageSize = 100

    private func keys(_ page: Int, of remainder: Int) -> [Key] {
      (page * Self.pageSize..<(page + 1) * Self.pageSize)
        .filter { $0 % 1_000 != remainder }
        .map { Key(number: $0, life: Life(census)) }
    }

    private func pages<Element>(
      _ make: @escaping @Sendable (Int) -> [Element]
    ) -> MirrorPages<Element> {
      let last = pageCount - 1
      return MirrorPages(from: 0) { (make($0), $0 < last ? $0 + 1 : nil) }
    }

    var processor: MirrorProcessor<Item> {
      MirrorProcessor(
        list: { pages { keys($0, of: 0).map(Item.init) } }, local: { pages { keys($0, of: 500) } },
        transfer: { _, _, _ in }, remove: { _ in })
    }
  }

  /// The most items and identities that were alive at a time, but for those the report is made of.
  private func mostAlive(pageCount: Int, isSorted: Bool = true) async throws -> Int {
    let census = Census()
    let processor = Sides(census: census, pageCount: pageCount).processor
    let mirror = isSorted ? OneWayMirror(sorted: processor) : OneWayMirror(processor)
    let report = try await mirror.run()
    let changeCount = pageCount / 10
    #expect(report.transferred.count == changeCount && report.removed.count == changeCount)
    #expect(report.skippedCount == pageCount * Sides.pageSize - 2 * changeCount)
    return census.most - 2 * changeCount
  }

  @Test("never holds more than two pages of each side, however many there are")
  func bound() async throws {
    for pageCount in [10, 100, 1_000] {
      let most = try await mostAlive(pageCount: pageCount)
      #expect(most <= 4 * Sides.pageSize, "\(most) of \(pageCount) pages")
    }
    // What the bound is worth: unsorted sides are held whole.
    #expect(try await mostAlive(pageCount: 100, isSorted: false) >= 90 * Sides.pageSize)
  }
}
