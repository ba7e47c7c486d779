import TandemDifferences

/// An element with an identity and contents, written as `a0`.
struct ListItem: Hashable, Identifiable, Codable, CustomStringConvertible {
  var id: Int
  var version = 0

  var description: String { "\(id).\(version)" }
}

/// All lists of up to `maxCount` of the given elements, with repetition.
func listsWithRepetition<Element>(of elements: [Element], maxCount: Int) -> [[Element]] {
  var lists: [[Element]] = [[]]
  var longest = lists
  for _ in 0..<maxCount {
    longest = longest.flatMap { list in elements.map { list + [$0] } }
    lists += longest
  }
  return lists
}

/// All lists of some of the given elements, each at most once, in any order.
func listsWithoutRepetition<Element>(of elements: [Element]) -> [[Element]] {
  [[]]
    + elements.indices.flatMap { index in
      var rest = elements
      let first = rest.remove(at: index)
      return listsWithoutRepetition(of: rest).map { [first] + $0 }
    }
}

/// How many values an increasing subsequence has at most, by trying each as the last.
func naiveIncreasingCount(_ values: [Int]) -> Int {
  var counts: [Int] = []
  for (index, value) in values.enumerated() {
    let before = (0..<index).filter { values[$0] < value }.map { counts[$0] }
    counts.append((before.max() ?? 0) + 1)
  }
  return counts.max() ?? 0
}

/// What a table or collection view shows: it does what a batch says, and asks for contents only where
/// a batch inserts or reloads.
struct ListView<Cell: Equatable> {
  var cells: [Cell]

  /// Performs a batch as UIKit's `performBatchUpdates` does, `data` being the model after it; says
  /// what UIKit would refuse, or `nil`.
  mutating func perform(
    deleting deletions: [Int], reloading reloads: [Int], inserting insertions: [Int],
    moving moves: [ListMove<Int>], data: [Cell]
  ) -> String? {
    let origins = deletions + reloads + moves.map(\.from)
    let destinations = insertions + moves.map(\.to)
    guard Set(origins).count == origins.count else { return "two changes of one cell" }
    guard Set(destinations).count == destinations.count else { return "two cells in one place" }
    guard origins.allSatisfy(cells.indices.contains) else { return "no such cell" }
    guard destinations.allSatisfy(data.indices.contains) else { return "no such place" }
    guard cells.count - deletions.count + insertions.count == data.count else {
      return "the number of cells after the update is not what it must be"
    }
    var result = [Cell?](repeating: nil, count: data.count)
    for offset in insertions { result[offset] = data[offset] }
    for move in moves { result[move.to] = cells[move.from] }
    let removed = Set(deletions + moves.map(\.from))
    var free = result.indices.filter { result[$0] == nil }[...]
    for offset in cells.indices where !removed.contains(offset) {
      let place = free.removeFirst()
      result[place] = reloads.contains(offset) ? data[place] : cells[offset]
    }
    cells = result.compactMap(\.self)
    return nil
  }
}
