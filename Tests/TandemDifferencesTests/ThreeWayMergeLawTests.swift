import TandemDifferences
import Testing

@Suite("ThreeWayMerge, laws over every small input")
struct ThreeWayMergeLawTests {
  static let versions = MergeInputs.versions(count: 3)
  static let quiet = ItemMerge(merged: [], toLocal: .init(), toRemote: .init(), conflicts: [])

  /// Sorted, unsorted and reversed, which all three must agree but for order.
  func merge(
    _ base: MergeBase<MergeItem>, _ local: [MergeItem], _ remote: [MergeItem],
    _ policy: MergePolicy<MergeItem> = .unresolved
  ) throws -> ItemMerge {
    let sorted = try ThreeWayMerge(
      base: base, local: local, remote: remote, sortedBy: \.id, policy: policy)
    let unsorted = try ThreeWayMerge(
      base: base, local: local, remote: remote, identifiedBy: \.id, policy: policy)
    try #require(sorted.merged == unsorted.merged.sorted())
    try #require(Set(sorted.toLocal.inserted) == Set(unsorted.toLocal.inserted))
    try #require(sorted.toLocal.updated.map(\.new) == unsorted.toLocal.updated.map(\.new))
    try #require(sorted.toLocal.deleted == unsorted.toLocal.deleted)
    try #require(sorted.toRemote.updated.map(\.new) == unsorted.toRemote.updated.map(\.new))
    try #require(sorted.toRemote.deleted == unsorted.toRemote.deleted)
    try #require(
      sorted.conflicts.sorted { $0.id < $1.id } == unsorted.conflicts.sorted { $0.id < $1.id })
    return sorted
  }

  @Test("merge(b, x, b) = x, merge(b, b, x) = x and merge(b, x, x) = x, without conflicts")
  func oneSided() throws {
    for base in Self.versions {
      for version in Self.versions {
        let local = try merge(.known(base), version, base)
        try #require(local.merged == version && local.conflicts.isEmpty && local.toLocal.isEmpty)
        let remote = try merge(.known(base), base, version)
        try #require(
          remote.merged == version && remote.conflicts.isEmpty && remote.toRemote.isEmpty)
        var expected = Self.quiet
        expected.merged = version
        try #require(try merge(.known(base), version, version) == expected)
        try #require(try merge(.unknown, version, version) == expected)
      }
    }
  }

  @Test("every merge of three records agrees with the specification and its differences apply")
  func everything() throws {
    for base in Self.versions {
      for local in Self.versions {
        for remote in Self.versions {
          let oracle = MergeOracle(base: base, local: local, remote: remote)
          let merge = try ThreeWayMerge(
            base: .known(base), local: local, remote: remote, identifiedBy: \.id)
          let reports = Dictionary(
            uniqueKeysWithValues: merge.conflicts.map { ($0.id, $0.conflict) })
          try #require(merge.merged == oracle.merged && reports == oracle.conflicts)
          try #require(merge.toLocal.applied(to: local) == Set(merge.merged))
          let onRemote =
            merge.merged.filter { reports[$0.id] == nil } + reports.values.compactMap(\.remote)
          try #require(merge.toRemote.applied(to: remote) == Set(onRemote))
        }
      }
    }
  }

  @Test("with two records, sorted equals unsorted and resolved merges reach both sides")
  func resolved() throws {
    let versions = MergeInputs.versions(count: 2)
    let policies: [MergePolicy<MergeItem>] = [
      .keepLocal, .keepRemote, .editBeatsDelete.then(.keepRemote), .init { _ in .deleted },
      .init { .merged(MergeItem(($0.local ?? $0.remote)?.id ?? 0, 9)) },
    ]
    for base in versions.map({ .known($0) }) + [MergeBase<MergeItem>.unknown] {
      for local in versions {
        for remote in versions {
          for policy in policies {
            let merge = try merge(base, local, remote, policy)
            try #require(merge.unresolved.isEmpty)
            try #require(merge.toLocal.applied(to: local) == Set(merge.merged))
            try #require(merge.toRemote.applied(to: remote) == Set(merge.merged))
          }
        }
      }
    }
  }

  @Test("mirrored sides and policies give a mirrored result")
  func mirrored() throws {
    let versions = MergeInputs.versions(count: 2)
    for base in versions.map({ .known($0) }) + [MergeBase<MergeItem>.unknown] {
      for local in versions {
        for remote in versions {
          for (policy, mirror) in [
            (MergePolicy<MergeItem>.keepLocal, MergePolicy<MergeItem>.keepRemote),
            (.editBeatsDelete.then(.keepLocal), .editBeatsDelete.then(.keepRemote)),
            (.maximum(by: \.value).then(.keepRemote), .maximum(by: \.value).then(.keepLocal)),
          ] {
            let merge = try merge(base, local, remote, policy)
            let mirrored = try self.merge(base, remote, local, mirror)
            try #require(merge.merged == mirrored.merged)
            try #require(merge.toLocal == mirrored.toRemote && merge.toRemote == mirrored.toLocal)
            try #require(merge.conflicts.map(\.id) == mirrored.conflicts.map(\.id))
          }
        }
      }
    }
  }

  @Test("an unknown ancestor keeps every record, and conflicts exactly where versions differ")
  func unknown() throws {
    for local in Self.versions {
      for remote in Self.versions {
        let merge = try merge(.unknown, local, remote)
        let ids = Set(local.map(\.id)).union(remote.map(\.id))
        try #require(merge.merged.map(\.id) == ids.sorted())
        let differing = ids.filter { id in
          let versions = [local, remote].compactMap { $0.first { $0.id == id } }
          return Set(versions).count == 2
        }
        try #require(merge.conflicts.map(\.id) == differing.sorted())
        try #require(merge.conflicts.allSatisfy { $0.conflict.kind == .addAdd })
      }
    }
  }

  @Test("an asynchronous resolver with the same answers gives the same result")
  func asynchronous() async throws {
    let versions = MergeInputs.versions(count: 2)
    let answers = MergePolicy<MergeItem> { $0.kind == .addAdd ? .unresolved : .remote }
    for base in versions.map({ .known($0) }) + [MergeBase<MergeItem>.unknown] {
      for local in versions {
        for remote in versions {
          let policy = MergePolicy<MergeItem>.editBeatsDelete
          let expected = try merge(base, local, remote, policy.then(answers))
          let sorted = try await ThreeWayMerge(
            base: base, local: local, remote: remote, sortedBy: \.id, policy: policy
          ) { conflict in
            await Task.yield()
            return answers.resolution(of: conflict)
          }
          try #require(sorted == expected)
          let unsorted = try await ThreeWayMerge(
            base: base, local: local, remote: remote, policy: policy
          ) { answers.resolution(of: $0) }
          try #require(
            try unsorted
              == ThreeWayMerge(
                base: base, local: local, remote: remote, policy: policy.then(answers)))
        }
      }
    }
  }

  @Test(
    "an order that one side changed wins: merge(b, x, b) = x and merge(b, b, x) = x, in order too")
  func orderOfOneSide() throws {
    let arrangements = MergeInputs.arrangements(count: 4).map { $0.map { MergeItem($0, 0) } }
    for base in arrangements {
      for version in arrangements {
        for (local, remote) in [(version, base), (base, version), (version, version)] {
          let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
          try #require(merge.merged == version, "\(base) \(local) \(remote)")
        }
      }
    }
  }

  @Test("the order is the naive oracle's for every arrangement of four records")
  func order() throws {
    let arrangements = MergeInputs.arrangements(count: 4)
    for base in arrangements where base == base.sorted() {
      for local in arrangements {
        for remote in arrangements {
          let items = [base, local, remote].map { $0.map { MergeItem($0, 0) } }
          let oracle = MergeOracle(base: items[0], local: items[1], remote: items[2])
          let merge = try ThreeWayMerge(base: .known(items[0]), local: items[1], remote: items[2])
          try #require(merge.merged == oracle.merged, "\(base) \(local) \(remote)")
          for (difference, old) in [(merge.toLocal, items[1]), (merge.toRemote, items[2])] {
            try #require(difference.inserted == oracle.merged.filter { !old.contains($0) })
            try #require(difference.deleted == old.filter { !oracle.merged.contains($0) })
          }
          let plan = try MergePlan(
            base: items[0], local: items[1], remote: items[2], identifiedBy: \.id)
          try #require((plan.order == .remoteDisputed) == oracle.hasDisputedOrder)
        }
      }
    }
  }
}
