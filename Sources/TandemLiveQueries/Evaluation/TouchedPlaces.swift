internal import TandemDifferences

/// The places of touched rows in two versions of a list, in which all other rows kept their order.
///
/// Costs do not depend on the length of the list: untouched rows count as runs.
struct TouchedPlaces {
  /// For each touched row of a version, the number of untouched rows before it.
  private let oldUntouched: [Int]
  private let newUntouched: [Int]
  private let old: [Int]
  private let new: [Int]

  /// - Parameters:
  ///   - old: The ascending offsets of the touched rows in the old list.
  ///   - new: Those in the new list.
  init(old: [Int], new: [Int]) {
    self.old = old
    self.new = new
    oldUntouched = old.enumerated().map { $1 - $0 }
    newUntouched = new.enumerated().map { $1 - $0 }
  }

  /// The offset in the old list of the untouched row that has so many before it.
  func oldOffset(_ untouched: Int) -> Int {
    untouched + oldUntouched.partitioningIndex { $0 > untouched }
  }

  /// The offset in the new list of the untouched row that has so many before it.
  func newOffset(_ untouched: Int) -> Int {
    untouched + newUntouched.partitioningIndex { $0 > untouched }
  }

  /// The offset in the new list of an untouched row of the old list.
  func newOffset(ofOld offset: Int) -> Int {
    newOffset(offset - old.partitioningIndex { $0 > offset })
  }

  /// The offset in the old list of an untouched row of the new list.
  func oldOffset(ofNew offset: Int) -> Int {
    oldOffset(offset - new.partitioningIndex { $0 > offset })
  }

  /// The fewest moves: of all pairs and runs except a heaviest selection that keeps its order.
  ///
  /// - Parameters:
  ///   - pairs: For each row touched in both versions, its places among the touched rows of each.
  ///   - untouchedCount: The number of untouched rows that count.
  func moves(
    _ pairs: [(old: Int, new: Int)], untouchedCount: Int = .max
  ) -> [ListDifference<KeyedRow>.Move] {
    let before = pairs.map { min(oldUntouched[$0.old], untouchedCount) }
    let after = pairs.map { min(newUntouched[$0.new], untouchedCount) }
    let cuts = Set(before).union(after).sorted()
    var rows: [OrderedRun] = pairs.indices.map { place in
      OrderedRun(
        weight: 1, old: .init(before[place], pairs[place].old),
        new: .init(after[place], pairs[place].new))
    }
    for (start, end) in zip(cuts, cuts.dropFirst()) {
      rows.append(OrderedRun(weight: end - start, old: .init(start), new: .init(start)))
    }
    let stays = OrderedRun.heaviestAscent(of: rows)
    var moves: [ListDifference<KeyedRow>.Move] = []
    for (place, run) in rows.enumerated() where !stays[place] {
      if place < pairs.count {
        moves.append(.init(from: old[pairs[place].old], to: new[pairs[place].new]))
      } else {
        for rest in run.new.untouched..<run.new.untouched + run.weight {
          moves.append(.init(from: oldOffset(rest), to: newOffset(rest)))
        }
      }
    }
    return moves
  }
}
