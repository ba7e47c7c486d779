import TandemDifferences

/// Three versions of a million records. On either side 1 % of them are changed: a third each
/// deleted, inserted and updated. A hundredth of the changes meet one of the other side.
enum MergeCases {
  struct Row: MergeBenchmarkRecord {
    var id: Int64
    var first: Int64
    var version: Int64

    init(id: Int64, version: Int64) {
      self.id = id
      self.version = version
      first = id &* 7
    }
  }

  struct Note: MergeBenchmarkRecord {
    var id: Int64
    var title: String
    var version: Int64

    /// Makes a title in memory of its own, as if each version had been read from somewhere.
    init(id: Int64, version: Int64) {
      self.id = id
      self.version = version
      title = "Lorem ipsum dolor sit amet, consectetur \(id)"
    }
  }

  static let integers = BenchmarkGroup(name: "merge-integers") {
    let sorted = MergeVersions<Row>(count: 1_000_000)
    let unsorted = MergeVersions<Row>(count: 1_000_000, scramblesIDs: true)
    return benchmarks("1 M records of three integers", sorted, unsorted)
      + [shuffled("1 M records of three integers", unsorted)]
      + growth(
        "1 M records of three integers, sorted", sorted, MergeVersions(count: 1_000), mergeSorted)
      + growth(
        "1 M records of three integers, order mostly kept", unsorted,
        MergeVersions(count: 1_000, scramblesIDs: true), mergeUnsorted)
  }

  static let strings = BenchmarkGroup(name: "merge-strings") {
    let unsorted = MergeVersions<Note>(count: 1_000_000, scramblesIDs: true)
    return benchmarks(
      "1 M records with a string", MergeVersions<Note>(count: 1_000_000), unsorted)
      + [shuffled("1 M records with a string", unsorted)]
  }

  /// Both sides in an order of their own.
  @inline(__always)
  static func shuffled<Record: MergeBenchmarkRecord>(
    _ name: String, _ versions: MergeVersions<Record>
  ) -> Benchmark {
    var versions = versions
    var generator = SplitMix64(seed: 6)
    versions.local.shuffle(using: &generator)
    versions.remote.shuffle(using: &generator)
    let shuffled = versions
    return Benchmark(
      name: "\(name), shuffled",
      ours: .init(name: "ThreeWayMerge(identifiedBy:)") { try mergeUnsorted(shuffled) },
      others: [.init(name: "Dictionary merge") { mergeByDictionary(shuffled) }],
      goals: [Benchmark.goal(atLeast: 2, timesFasterThan: "Dictionary merge")])
  }

  @inline(__always)
  static func benchmarks<Record: MergeBenchmarkRecord>(
    _ name: String, _ sorted: MergeVersions<Record>, _ unsorted: MergeVersions<Record>
  ) -> [Benchmark] {
    [
      Benchmark(
        name: "\(name), sorted",
        ours: .init(name: "ThreeWayMerge(sortedBy:)") { try mergeSorted(sorted) },
        others: [.init(name: "hand-written Swift merge") { mergeByHand(sorted) }],
        goals: [Benchmark.goal(atMost: 1.5, times: "hand-written Swift merge")]),
      Benchmark(
        name: "\(name), order mostly kept",
        ours: .init(name: "ThreeWayMerge(identifiedBy:)") { try mergeUnsorted(unsorted) },
        others: [
          .init(name: "ThreeWayMerge(sortedBy:)") { try mergeSorted(sorted) },
          .init(name: "Dictionary merge") { mergeByDictionary(unsorted) },
        ],
        goals: [Benchmark.goal(atMost: 3, times: "ThreeWayMerge(sortedBy:)")]),
    ]
  }

  /// The same amount of work in one piece and in a thousand.
  static func growth(
    _ name: String, _ large: MergeVersions<Row>, _ small: MergeVersions<Row>,
    _ merge: @escaping (MergeVersions<Row>) throws -> Int
  ) -> [Benchmark] {
    [
      Benchmark(
        name: "growth: \(name)",
        ours: .init(name: "once 1 M") {
          _ = try merge(large); return 0
        },
        others: [
          .init(name: "1,000 times 1 k") {
            for _ in 0..<1_000 { _ = try merge(small) }; return 0
          }
        ],
        // A thousand records stay in the caches of the processor.
        goals: [Benchmark.goal(atMost: 2, times: "1,000 times 1 k")])
    ]
  }
}

protocol MergeBenchmarkRecord: Hashable, Sendable {
  var id: Int64 { get }
  init(id: Int64, version: Int64)
}

// MARK: - Data

struct MergeVersions<Record: MergeBenchmarkRecord>: Sendable {
  var base: [Record] = []
  var local: [Record] = []
  var remote: [Record] = []

  /// Ascending by identity, unless the identities are scrambled.
  init(count: Int, scramblesIDs: Bool = false) {
    func record(_ number: Int, _ version: Int64) -> Record {
      let id = Int64(number)
      return Record(
        id: scramblesIDs ? id &* 0x1E37_79B9_7F4A_7C15 : id, version: version)
    }
    func change(_ number: Int, _ phase: Int, _ version: Int64, _ side: inout [Record]) {
      switch (number + phase) % 300 {
      case 0: side.append(record(2 * number, version))
      case 100: break
      case 200: side += [record(2 * number, 0), record(2 * number + 1, version)]
      default: side.append(record(2 * number, 0))
      }
    }
    for number in 0..<count {
      base.append(record(2 * number, 0))
      change(number, 0, 1, &local)
      change(number, number / 300 % 100 == 1 ? 0 : 37, 2, &remote)
    }
  }
}

// MARK: - Contenders

extension MergeCases {
  @inline(__always)
  static func mergeSorted<Record: MergeBenchmarkRecord>(
    _ versions: MergeVersions<Record>
  ) throws -> Int {
    let merge = try ThreeWayMerge(
      base: .known(versions.base), local: versions.local, remote: versions.remote,
      sortedBy: { $0.id }, policy: .keepRemote)
    return merge.merged.count + merge.toLocal.count + merge.toRemote.count + merge.conflicts.count
  }

  @inline(__always)
  static func mergeUnsorted<Record: MergeBenchmarkRecord>(
    _ versions: MergeVersions<Record>
  ) throws -> Int {
    let merge = try ThreeWayMerge(
      base: .known(versions.base), local: versions.local, remote: versions.remote,
      identifiedBy: { $0.id }, policy: .keepRemote)
    return merge.merged.count + merge.toLocal.count + merge.toRemote.count + merge.conflicts.count
  }

  /// The loop a careful person writes for one record type, with the same results, a policy built in
  /// and no check that the sides ascend. It is generic only in the source, as everything here is
  /// specialised.
  @inline(__always)
  static func mergeByHand<Record: MergeBenchmarkRecord>(_ versions: MergeVersions<Record>) -> Int {
    let (base, local, remote) = (versions.base, versions.local, versions.remote)
    var result = HandMerge<Record>()
    result.merged.reserveCapacity(max(local.count, remote.count))
    var (b, l, r) = (0, 0, 0)
    while l < local.count || r < remote.count {
      let localID = l < local.count ? local[l].id : Int64.max
      let remoteID = r < remote.count ? remote[r].id : Int64.max
      let id = min(localID, remoteID)
      while b < base.count, base[b].id < id { b += 1 }
      let before = b < base.count && base[b].id == id ? base[b] : nil
      result.merge(
        before, localID == id ? local[l] : nil, remoteID == id ? remote[r] : nil)
      l += localID == id ? 1 : 0
      r += remoteID == id ? 1 : 0
    }
    return result.count
  }

  @inline(__always)
  static func mergeByDictionary<Record: MergeBenchmarkRecord>(
    _ versions: MergeVersions<Record>
  ) -> Int {
    let base = Dictionary(uniqueKeysWithValues: versions.base.map { ($0.id, $0) })
    let remote = Dictionary(uniqueKeysWithValues: versions.remote.map { ($0.id, $0) })
    var rest = Dictionary(uniqueKeysWithValues: versions.local.map { ($0.id, $0) })
    var result = HandMerge<Record>()
    for record in versions.remote {
      result.merge(base[record.id], rest.removeValue(forKey: record.id), record)
    }
    for record in versions.local where remote[record.id] == nil {
      result.merge(base[record.id], record, nil)
    }
    return result.count
  }
}

struct HandMerge<Record: MergeBenchmarkRecord> {
  var merged: [Record] = []
  var toLocal = SetDifference<Record>()
  var toRemote = SetDifference<Record>()
  var conflicts: [(base: Record?, local: Record?, remote: Record?)] = []

  var count: Int { merged.count + toLocal.count + toRemote.count + conflicts.count }

  @inline(__always)
  mutating func merge(_ base: Record?, _ local: Record?, _ remote: Record?) {
    if local == remote {
      if let remote { merged.append(remote) }
    } else if remote == base {
      if let local { merged.append(local) }
      change(&toRemote, from: remote, to: local)
    } else {
      if local != base { conflicts.append((base, local, remote)) }
      if let remote { merged.append(remote) }
      change(&toLocal, from: local, to: remote)
    }
  }

  @inline(__always)
  func change(_ difference: inout SetDifference<Record>, from old: Record?, to new: Record?) {
    switch (old, new) {
    case (nil, let new?): difference.inserted.append(new)
    case (let old?, nil): difference.deleted.append(old)
    case (let old?, let new?): difference.updated.append(.init(old: old, new: new))
    case (nil, nil): break
    }
  }
}
