/// Suggests corrections of misspelt words.
enum Spelling {
  /// The candidate with the smallest distance from `word`, or `nil` if more than one letter, and more than a
  /// third of them, differ. Candidates that begin with `word` come first.
  static func closest(to word: String, among candidates: [String]) -> String? {
    func nearest(_ candidates: [String]) -> (candidate: String, distance: Int)? {
      candidates.map { ($0, distance(word, $0)) }.min { $0.1 < $1.1 }
    }
    guard !word.isEmpty else { return nil }
    if let longer = nearest(candidates.filter { $0.hasPrefix(word) }) { return longer.candidate }
    guard let best = nearest(candidates), best.distance <= max(1, (word.count + 1) / 3) else {
      return nil
    }
    return best.candidate
  }

  /// The number of characters to insert, delete, replace or exchange with their neighbour (the optimal
  /// string alignment distance).
  static func distance(_ first: String, _ second: String) -> Int {
    let a = Array(first)
    let b = Array(second)
    var beforePrevious: [Int] = []
    var previous = Array(0...b.count)
    for i in a.indices {
      var current = [i + 1]
      for j in b.indices {
        let replacement = previous[j] + (a[i] == b[j] ? 0 : 1)
        var best = min(replacement, previous[j + 1] + 1, current[j] + 1)
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
          best = min(best, beforePrevious[j - 1] + 1)
        }
        current.append(best)
      }
      (beforePrevious, previous) = (previous, current)
    }
    return previous[b.count]
  }
}
