import TandemDifferences

/// A record of the merge tests: an identity and a value.
struct MergeItem: Hashable, Codable, Identifiable, Sendable, Comparable, CustomStringConvertible {
  var id: Int
  var value: Int

  init(_ id: Int, _ value: Int) {
    self.id = id
    self.value = value
  }

  static func < (a: MergeItem, b: MergeItem) -> Bool { (a.id, a.value) < (b.id, b.value) }

  var description: String { "\(id):\(value)" }
}

typealias ItemMerge = ThreeWayMerge<MergeItem, Int>

enum MergeInputs {
  /// Every version of the records 1 to `count`, in ascending order, where each is absent or has one
  /// of the values 0, 1 and 2.
  static func versions(count: Int) -> [[MergeItem]] {
    guard count > 0 else { return [[]] }
    return versions(count: count - 1).flatMap { version in
      [version] + (0...2).map { version + [MergeItem(count, $0)] }
    }
  }

  /// Every sequence of distinct numbers of 1 to `count`, of any length.
  static func arrangements(count: Int) -> [[Int]] {
    var all: [[Int]] = [[]]
    var longest = all
    for _ in 0..<count {
      longest = longest.flatMap { head in
        (1...count).filter { !head.contains($0) }.map { head + [$0] }
      }
      all += longest
    }
    return all
  }
}

/// The specification of a merge, written for clarity alone.
struct MergeOracle {
  var merged: [MergeItem] = []
  var conflicts: [Int: MergeConflict<MergeItem>] = [:]
  /// True if both sides changed the order, in different ways.
  var hasDisputedOrder = false

  /// Leaves conflicts unresolved.
  init(base: [MergeItem], local: [MergeItem], remote: [MergeItem]) {
    let sides = [base, local, remote].map { $0.map(\.id) }
    let shared = sides.map { side in side.filter { id in sides.allSatisfy { $0.contains(id) } } }
    let isOnlyLocalReordered = shared[1] != shared[0] && shared[2] == shared[0]
    hasDisputedOrder = Set(shared).count == 3
    let (leader, follower) =
      isOnlyLocalReordered ? (sides[1], sides[2]) : (sides[2], sides[1])
    var places = leader
    var predecessor: Int?
    for id in follower {
      if !places.contains(id) {
        let place = predecessor.flatMap { places.firstIndex(of: $0) }
        places.insert(id, at: place.map { $0 + 1 } ?? 0)
      }
      predecessor = id
    }
    for id in places {
      let versions = [base, local, remote].map { side in side.first { $0.id == id } }
      if let item = merge(id, base: versions[0], local: versions[1], remote: versions[2]) {
        merged.append(item)
      }
    }
  }

  /// The table of the fifteen cases, case by case.
  private mutating func merge(
    _ id: Int, base: MergeItem?, local: MergeItem?, remote: MergeItem?
  ) -> MergeItem? {
    switch (base, local, remote) {
    case (nil, nil, let remote): return remote
    case (nil, let local, nil): return local
    case (nil, let local?, let remote?):
      if local != remote { conflicts[id] = .addAdd(local: local, remote: remote) }
      return local
    case (_?, nil, nil): return nil
    case (let base?, nil, let remote?):
      if remote != base { conflicts[id] = .deleteEdit(base: base, remote: remote) }
      return nil
    case (let base?, let local?, nil):
      if local == base { return nil }
      conflicts[id] = .editDelete(base: base, local: local)
      return local
    case (let base?, let local?, let remote?):
      if local == base { return remote }
      if remote != base && remote != local {
        conflicts[id] = .editEdit(base: base, local: local, remote: remote)
      }
      return local
    }
  }
}

extension SetDifference where Element == MergeItem {
  /// The elements after this difference, by identity; `nil` if it does not fit.
  func applied(to elements: [MergeItem]) -> Set<MergeItem>? {
    applying(to: Dictionary(uniqueKeysWithValues: elements.map { ($0.id, $0) }))
      .map { Set($0.values) }
  }
}
