import TandemDifferences
import Testing

@Suite("ThreeWayMerge, by example")
struct ThreeWayMergeTests {
  /// One row of the table "complete behaviour of one record": shadow, client, remote, and what a
  /// three-way merge gives.
  struct Row: CustomTestStringConvertible, Sendable {
    enum Outcome: Equatable, Sendable {
      case value(Int?)
      case conflict(MergeConflict<MergeItem>.Kind)
    }

    var shadow: Int?
    var client: Int?
    var remote: Int?
    var outcome: Outcome

    init(_ shadow: Int?, _ client: Int?, _ remote: Int?, _ outcome: Outcome) {
      self.shadow = shadow
      self.client = client
      self.remote = remote
      self.outcome = outcome
    }

    var testDescription: String {
      let text = [shadow, client, remote].map { $0.map(String.init) ?? "-" }
      return "shadow \(text[0]), client \(text[1]), remote \(text[2])"
    }
  }

  static let table: [Row] = [
    Row(nil, nil, nil, .value(nil)),
    Row(nil, nil, 0, .value(0)),
    Row(nil, 0, nil, .value(0)),
    Row(nil, 0, 0, .value(0)),
    Row(nil, 0, 1, .conflict(.addAdd)),
    Row(0, nil, nil, .value(nil)),
    Row(0, nil, 0, .value(nil)),
    Row(0, nil, 1, .conflict(.deleteEdit)),
    Row(0, 0, nil, .value(nil)),
    Row(0, 0, 0, .value(0)),
    Row(0, 0, 1, .value(1)),
    Row(0, 1, nil, .conflict(.editDelete)),
    Row(0, 1, 0, .value(1)),
    Row(0, 1, 1, .value(1)),
    Row(0, 1, 2, .conflict(.editEdit)),
  ]

  func side(_ value: Int?) -> [MergeItem] { value.map { [MergeItem(7, $0)] } ?? [] }

  @Test("each row of the table of one record comes out as the table says", arguments: table)
  func row(row: Row) throws {
    let (local, remote) = (side(row.client), side(row.remote))
    let merge = try ThreeWayMerge(base: .known(side(row.shadow)), local: local, remote: remote)
    switch row.outcome {
    case .value(let value):
      #expect(merge.merged == side(value))
      #expect(merge.conflicts.isEmpty)
      #expect(merge.toLocal.isEmpty == (row.client == value))
      #expect(merge.toRemote.isEmpty == (row.remote == value))
    case .conflict(let kind):
      let report = try #require(merge.conflicts.first)
      #expect(merge.conflicts.count == 1)
      #expect(report.id == 7)
      #expect(report.conflict.kind == kind)
      #expect(report.conflict.base?.value == row.shadow)
      #expect(report.conflict.local?.value == row.client)
      #expect(report.conflict.remote?.value == row.remote)
      #expect(report.resolution == .unresolved)
      #expect(merge.merged == local)
      #expect(merge.toLocal.isEmpty && merge.toRemote.isEmpty)
    }
  }

  @Test("the table is complete: it has every row up to renaming values, and the oracle agrees")
  func tableIsComplete() {
    #expect(Set(Self.table.map { [$0.shadow, $0.client, $0.remote] }).count == 15)
    for row in Self.table {
      let oracle = MergeOracle(
        base: side(row.shadow), local: side(row.client), remote: side(row.remote))
      switch row.outcome {
      case .value(let value):
        #expect(oracle.merged == side(value) && oracle.conflicts.isEmpty)
      case .conflict(let kind): #expect(oracle.conflicts[7]?.kind == kind)
      }
    }
  }

  @Test("equal additions on both sides are not asked about")
  func equalAdditions() throws {
    let both = [MergeItem(1, 5)]
    for base in [MergeBase<MergeItem>.known([]), .unknown] {
      let merge = try ThreeWayMerge(base: base, local: both, remote: both)
      #expect(
        merge == ItemMerge(merged: both, toLocal: .init(), toRemote: .init(), conflicts: []))
    }
  }

  @Test("an uncontested edit survives an answer that favours the other side")
  func uncontestedEdit() throws {
    // Shadow A, D; client A1, D2; remote A, D1: keeping the remote side must not lose A1.
    let merge = try ThreeWayMerge(
      base: .known([MergeItem(1, 0), MergeItem(4, 0)]),
      local: [MergeItem(1, 1), MergeItem(4, 2)], remote: [MergeItem(1, 0), MergeItem(4, 1)],
      policy: .keepRemote)
    #expect(merge.merged == [MergeItem(1, 1), MergeItem(4, 1)])
    #expect(merge.conflicts.map(\.id) == [4])
  }

  @Test("each conflict is answered on its own")
  func perRecordAnswers() throws {
    let base = (1...3).map { MergeItem($0, 0) }
    let local = (1...3).map { MergeItem($0, 1) }
    let remote = (1...3).map { MergeItem($0, 2) }
    let policy = MergePolicy<MergeItem> { conflict in
      switch conflict.local?.id {
      case 1: .local
      case 2: .remote
      default: .deleted
      }
    }
    let merge = try ThreeWayMerge(
      base: .known(base), local: local, remote: remote, policy: policy)
    #expect(merge.merged == [MergeItem(1, 1), MergeItem(2, 2)])
    #expect(merge.toLocal.deleted == [MergeItem(3, 1)])
    #expect(merge.toRemote.deleted == [MergeItem(3, 2)])
  }

  @Test("a record that moved on at the remote never becomes a second one")
  func noSecondRecord() throws {
    let merge = try ThreeWayMerge(
      base: .known([MergeItem(1, 0)]), local: [MergeItem(1, 1)], remote: [MergeItem(1, 2)],
      policy: .keepLocal)
    #expect(merge.merged == [MergeItem(1, 1)])
  }

  @Test("an edit merges into an empty remote with a shadow as a conflict, not as a loss")
  func emptyRemote() throws {
    let base = (1...3).map { MergeItem($0, 0) }
    let local = [MergeItem(1, 1), MergeItem(2, 0), MergeItem(4, 0)]
    let merge = try ThreeWayMerge(
      base: .known(base), local: local, remote: [], policy: .editBeatsDelete)
    #expect(merge.merged == [MergeItem(1, 1), MergeItem(4, 0)])
    #expect(merge.conflicts.map(\.conflict.kind) == [.editDelete])
  }

  @Test("an unknown ancestor keeps what one side has, where an ancestor that had it would not")
  func unknownIsNotEmpty() throws {
    let local = [MergeItem(1, 0), MergeItem(2, 0)]
    let remote = [MergeItem(2, 0)]
    let unknown = try ThreeWayMerge(base: .unknown, local: local, remote: remote)
    #expect(unknown.merged == local)
    let known = try ThreeWayMerge(base: .known(local), local: local, remote: remote)
    #expect(known.merged == remote)
  }

  @Test("an unknown ancestor makes two versions a conflict without a base")
  func unknownConflict() throws {
    let merge = try ThreeWayMerge(
      base: .unknown, local: [MergeItem(1, 1)], remote: [MergeItem(1, 2)])
    #expect(
      merge.conflicts.map(\.conflict)
        == [.addAdd(local: MergeItem(1, 1), remote: MergeItem(1, 2))])
  }

  @Test("no difference is an empty difference, and the merged list is that of the side that moved")
  func nothingToDo() throws {
    let items = [MergeItem(3, 0), MergeItem(1, 0)]
    let moved = Array(items.reversed())
    for (local, remote) in [(moved, items), (items, moved), (moved, moved)] {
      let merge = try ThreeWayMerge(base: .known(items), local: local, remote: remote)
      #expect(merge.merged == moved)
      #expect(merge.toLocal.isEmpty && merge.toRemote.isEmpty && merge.conflicts.isEmpty)
    }
  }

  @Test("in the order of local, a remote addition follows its remote predecessor")
  func localOrder() throws {
    let base = [1, 2, 3, 4, 5].map { MergeItem($0, 0) }
    let local = [9, 5, 4, 3, 2, 1].map { MergeItem($0, $0 == 2 ? 1 : 0) }
    let remote = [8, 1, 2, 3, 7, 6, 5].map { MergeItem($0, $0 == 3 ? 2 : 0) }
    let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
    #expect(
      merge.merged.map(\.description)
        == ["8:0", "9:0", "5:0", "3:2", "7:0", "6:0", "2:1", "1:0"])
    #expect(merge.toLocal.deleted == [MergeItem(4, 0)])
    #expect(merge.toRemote.inserted == [MergeItem(9, 0)])
  }

  @Test("an open conflict leaves both sides alone, and the rest is merged around it")
  func openConflict() throws {
    let base = [MergeItem(1, 0), MergeItem(2, 0), MergeItem(3, 0), MergeItem(4, 0)]
    let local = [MergeItem(1, 1), MergeItem(3, 1), MergeItem(4, 0), MergeItem(5, 0)]
    let remote = [MergeItem(1, 2), MergeItem(2, 2), MergeItem(4, 2)]
    let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
    #expect(merge.merged.map(\.description) == ["1:1", "3:1", "4:2", "5:0"])
    #expect(merge.unresolved.map(\.conflict.kind) == [.editEdit, .editDelete, .deleteEdit])
    #expect(merge.toLocal == .init(updated: [.init(old: MergeItem(4, 0), new: MergeItem(4, 2))]))
    #expect(merge.toRemote == .init(inserted: [MergeItem(5, 0)]))
  }

  @Test("a record in conflict has its place in the order of either side")
  func orderWithConflict() throws {
    let base = (1...4).map { MergeItem($0, 0) }
    let local = [4, 1, 3, 2].map { MergeItem($0, $0 == 1 ? 1 : 0) }
    let remote = [1, 2, 3, 4].map { MergeItem($0, $0 == 1 ? 2 : 0) }
    for (local, remote) in [(local, remote), (remote, local)] {
      let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
      #expect(merge.merged.map(\.id) == [4, 1, 3, 2] && merge.unresolved.map(\.id) == [1])
      #expect(merge.merged[1] == local.first { $0.id == 1 })
    }
  }

  @Test("a union has each identity once, after its predecessor")
  func union() {
    func union(_ first: [Int], _ second: [Int]) -> [Int] {
      first.union(second, identifiedBy: { $0 })
    }
    #expect(union([], [2, 1]) == [2, 1] && union([2, 1], []) == [2, 1])
    #expect(union([3, 1, 2], [9, 8, 1, 7, 6, 3, 5, 2]) == [9, 8, 3, 5, 1, 7, 6, 2])
    let arrangements = MergeInputs.arrangements(count: 4)
    for first in arrangements {
      for second in arrangements {
        let sides = [first, second].map { $0.map { MergeItem($0, 0) } }
        let oracle = MergeOracle(base: [], local: sides[1], remote: sides[0])
        #expect(union(first, second) == oracle.merged.map(\.id), "\(first) \(second)")
      }
    }
  }

  @Test("identities that equal others in one direction only are an error, not a trap")
  func unsymmetricIdentities() throws {
    /// The value is that of the side. Remote 3 equals two local identities.
    struct Identity: Hashable {
      let item: MergeItem
      static func == (a: Identity, b: Identity) -> Bool {
        a.item.id == (a.item.value == 2 && b.item == MergeItem(1, 1) ? 3 : b.item.id)
      }
      func hash(into hasher: inout Hasher) {}
    }
    let sides = [([1, 2, 3, 4], 0), ([4, 3, 2, 1], 1), ([1, 2, 3, 4], 2)].map { ids, side in
      ids.map { MergeItem($0, side) }
    }
    #expect(throws: MergeError.identity(side: .remote, offset: 0, kind: .incomparable)) {
      try ThreeWayMerge(
        base: .known(sides[0]), local: sides[1], remote: sides[2],
        identifiedBy: { Identity(item: $0) })
    }
  }

  @Test("sorted sides merge to a sorted list")
  func sortedOrder() throws {
    let merge = try ThreeWayMerge(
      base: .known([]), local: [MergeItem(1, 0), MergeItem(5, 0)],
      remote: [MergeItem(1, 0), MergeItem(3, 0), MergeItem(7, 0)], sortedBy: \.id)
    #expect(merge.merged.map(\.id) == [1, 3, 5, 7])
  }

  @Test("in any order, a local addition follows its local predecessor")
  func unsortedOrder() throws {
    let base = [3, 1, 2].map { MergeItem($0, 0) }
    let local = [8, 3, 9, 1, 6, 7, 2].map { MergeItem($0, 0) }
    let remote = [2, 5, 1, 3].map { MergeItem($0, 0) }
    let merge = try ThreeWayMerge(base: .known(base), local: local, remote: remote)
    #expect(merge.merged.map(\.id) == [8, 2, 5, 1, 6, 7, 3, 9])
  }

  @Test("contents that do not equal themselves are a conflict, not a crash")
  func notANumber() throws {
    struct Reading: Equatable, Identifiable {
      var id: Int
      var celsius: Double
    }
    let readings = [Reading(id: 1, celsius: .nan)]
    let merge = try ThreeWayMerge(base: .known(readings), local: readings, remote: readings)
    #expect(merge.conflicts.map(\.conflict.kind) == [.editEdit])
  }

  @Test("a merge of nothing is empty")
  func nothing() throws {
    let empty = ItemMerge(merged: [], toLocal: .init(), toRemote: .init(), conflicts: [])
    #expect(try ThreeWayMerge(base: .unknown, local: [], remote: []) == empty)
    #expect(
      try ThreeWayMerge(base: .known([]), local: [], remote: [], sortedBy: \MergeItem.id) == empty)
  }
}
