/// Rows that are adjacent in both versions of a list: one touched row, or a run of untouched ones.
struct OrderedRun {
  /// A place in one of the versions.
  struct Place: Comparable {
    /// The number of untouched rows before it.
    var untouched: Int
    /// Orders the touched rows before the same untouched row, which follows them.
    private var rank: Int

    /// The place of a touched row, of which there are `rank` before it.
    init(_ untouched: Int, _ rank: Int) {
      self.untouched = untouched
      self.rank = rank
    }

    /// The place where a run of untouched rows begins.
    init(_ untouched: Int) { self.init(untouched, .max) }

    static func < (first: Place, second: Place) -> Bool {
      (first.untouched, first.rank) < (second.untouched, second.rank)
    }
  }

  /// The number of rows.
  var weight: Int
  var old: Place
  var new: Place

  /// True for the runs of a heaviest selection that is in the same order in both versions.
  ///
  /// A weighted longest increasing subsequence: for each run in the new order, the heaviest ascent
  /// that ends with it extends the heaviest that ends before it in the old order (Fenwick 1994).
  ///
  /// - Complexity: O(*m* log *m*) for *m* runs.
  static func heaviestAscent(of runs: [OrderedRun]) -> [Bool] {
    var ranks = [Int](repeating: 0, count: runs.count)
    for (rank, run) in runs.indices.sorted(by: { runs[$0].old < runs[$1].old }).enumerated() {
      ranks[run] = rank
    }
    var best = HeaviestPrefix(count: runs.count)
    var previous = [Int?](repeating: nil, count: runs.count)
    var last: (weight: Int, run: Int)?
    for run in runs.indices.sorted(by: { runs[$0].new < runs[$1].new }) {
      let before = best.heaviest(before: ranks[run])
      previous[run] = before?.run
      let weight = runs[run].weight + (before?.weight ?? 0)
      best.insert(weight, run, at: ranks[run])
      if weight > last?.weight ?? 0 { last = (weight, run) }
    }
    var isSelected = [Bool](repeating: false, count: runs.count)
    var next = last?.run
    while let run = next {
      isSelected[run] = true
      next = previous[run]
    }
    return isSelected
  }
}

/// The heaviest entry before a place, while entries are added.
private struct HeaviestPrefix {
  private var nodes: [(weight: Int, run: Int)?]

  init(count: Int) { nodes = Array(repeating: nil, count: count + 1) }

  func heaviest(before place: Int) -> (weight: Int, run: Int)? {
    var heaviest: (weight: Int, run: Int)?
    var node = place
    while node > 0 {
      if let candidate = nodes[node], candidate.weight > heaviest?.weight ?? 0 {
        heaviest = candidate
      }
      node &= node - 1
    }
    return heaviest
  }

  mutating func insert(_ weight: Int, _ run: Int, at place: Int) {
    var node = place + 1
    while node < nodes.count {
      if weight > nodes[node]?.weight ?? 0 { nodes[node] = (weight, run) }
      node += node & -node
    }
  }
}
