import Tandem
import TestRandom
import Testing

@Suite("Lists that animate differences")
struct ListBatchViewTests {
  struct Item: Equatable, Identifiable {
    var id: Int
    var text: Int
  }

  /// A view that behaves as UIKit's: it checks the counts, and takes from its data source only the
  /// elements that are inserted or updated.
  @MainActor
  final class View: ListBatchView {
    var source: [Item] = []
    private(set) var shown: [Item] = []
    private(set) var batchCount = 0
    private var deleted: Set<Int> = []
    private var inserted: Set<Int> = []
    private var updated: Set<Int> = []
    private var moves: [(from: Int, to: Int)] = []

    func performBatch(_ changes: () -> Void) {
      #expect(source.count == shown.count, "the source must change within the batch")
      (deleted, inserted, updated, moves) = ([], [], [], [])
      changes()
      batchCount += 1
      #expect(shown.count - deleted.count + inserted.count == source.count)
      let origins = Set(moves.map(\.from))
      #expect(origins.isDisjoint(with: updated), "UIKit cannot move and reload a row in one batch")
      var next = [Item?](repeating: nil, count: source.count)
      for offset in inserted { next[offset] = source[offset] }
      for move in moves { next[move.to] = shown[move.from] }
      var free = next.indices.filter { next[$0] == nil }[...]
      for offset in shown.indices where !deleted.contains(offset) && !origins.contains(offset) {
        guard let place = free.popFirst() else { return }
        next[place] = updated.contains(offset) ? source[place] : shown[offset]
      }
      shown = next.compactMap(\.self)
    }

    func deleteElements(at offsets: [Int], inSection section: Int) { deleted.formUnion(offsets) }
    func insertElements(at offsets: [Int], inSection section: Int) { inserted.formUnion(offsets) }
    func moveElement(from origin: Int, to destination: Int, inSection section: Int) {
      moves.append((origin, destination))
    }
    func updateElements(at offsets: [Int], inSection section: Int) { updated.formUnion(offsets) }
  }

  @MainActor
  @Test("after random differences, the view shows the list", arguments: 1...200)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let view = View()
    for _ in 0..<10 {
      let ids = (0..<8).shuffled(using: &random).prefix(Int.random(in: 0...8, using: &random))
      let new = ids.map { Item(id: $0, text: .random(in: 0...1, using: &random)) }
      let difference = ListDifference(from: view.source, to: new)
      #expect(view.animate(difference, of: view.source) { view.source = $0 }, "seed \(seed)")
      #expect(view.source == new && view.shown == new, "seed \(seed)")
    }
  }

  @MainActor
  @Test("a difference that does not fit changes nothing")
  func misfit() {
    let view = View()
    let difference = ListDifference(from: [Item(id: 1, text: 0)], to: [])
    #expect(!view.animate(difference, of: view.source) { _ in Issue.record("nothing to store") })
    #expect(view.batchCount == 0)
  }
}
