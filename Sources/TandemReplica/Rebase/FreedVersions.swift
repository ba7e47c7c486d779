package import TandemSync

/// The order in which versions are tried that were set aside: as if all of them were tried one after the other,
/// again and again. But a version is left out as long as the row has not changed whose value it needs.
package struct FreedVersions {
  /// The keys of all versions.
  package let keys: [SyncKey]
  /// The numbers of the versions that were refused since the last pass began.
  private var refused: [Int]
  private let numbers: [SyncKey: Int]
  private var isPlaced: [Bool]
  /// For each version, those that wait until its row has it.
  private var followers: [[Int]]
  /// The versions that nothing seemed to prevent. They are not tried twice for that reason.
  private var seemedFree: Set<Int> = []
  /// The versions of this pass, the last ones first, and those of the next one.
  private var pass: [Int] = []
  private var nextPass: [Int] = []

  /// Versions of which all were refused.
  package init(_ keys: [SyncKey]) {
    self.keys = keys
    refused = Array(keys.indices)
    numbers = Dictionary(
      keys.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    isPlaced = keys.map { _ in false }
    followers = keys.map { _ in [] }
  }

  /// The keys of the versions that were not placed.
  package var rest: [SyncKey] { keys.indices.filter { !isPlaced[$0] }.map { keys[$0] } }

  /// The keys of the versions that were refused since the last pass began.
  package var refusedKeys: [SyncKey] { refused.map { keys[$0] } }

  /// Begins a pass; `false` if there is nothing to try.
  ///
  /// - Parameter rowsInTheWay: For each version in ``refusedKeys``, the rows that prevent it. A version that a
  ///   row prevents which is not among the versions, or something else, is not tried again.
  package mutating func begin(_ rowsInTheWay: [[SyncKey]?]) -> Bool {
    for (number, rows) in zip(refused, rowsInTheWay) {
      guard let rows else { continue }
      let holders = rows.map { numbers[$0] }
      if let first = holders.first {
        let mayMove = holders.allSatisfy { $0.map { !isPlaced[$0] } ?? false }
        if mayMove, let first { followers[first].append(number) }
      } else if seemedFree.insert(number).inserted {
        nextPass.append(number)
      }
    }
    refused = []
    pass = nextPass.sorted(by: >)
    nextPass = []
    return !pass.isEmpty
  }

  /// The next version of the pass.
  package mutating func next() -> Int? { pass.popLast() }

  /// Takes note of the result of a version. Those that wait for its row follow in their order.
  package mutating func note(_ number: Int, isPlaced isAccepted: Bool) {
    guard isAccepted else { return refused.append(number) }
    isPlaced[number] = true
    for follower in followers[number] {
      if follower > number {
        insert(follower)
      } else {
        nextPass.append(follower)
      }
    }
    followers[number] = []
  }

  /// Inserts a version into the pass, by a binary search.
  private mutating func insert(_ number: Int) {
    var (start, end) = (0, pass.count)
    while start < end {
      let middle = (start + end) / 2
      if pass[middle] > number { start = middle + 1 } else { end = middle }
    }
    pass.insert(number, at: start)
  }
}
