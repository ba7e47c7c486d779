import TandemDifferences
import Testing

@Suite("MergePolicy")
struct MergePolicyTests {
  static let kinds: [MergeConflict<Int>] = [
    .editEdit(base: 0, local: 1, remote: 2), .addAdd(local: 1, remote: 2),
    .editDelete(base: 0, local: 1), .deleteEdit(base: 0, remote: 2),
  ]

  func answers(_ policy: MergePolicy<Int>) -> [MergeResolution<Int>] {
    Self.kinds.map(policy.resolution)
  }

  @Test("the simple policies answer every kind of conflict as they say")
  func simple() {
    #expect(answers(.keepLocal) == [.local, .local, .local, .local])
    #expect(answers(.keepRemote) == [.remote, .remote, .remote, .remote])
    #expect(answers(.unresolved) == [.unresolved, .unresolved, .unresolved, .unresolved])
    #expect(answers(.editBeatsDelete) == [.unresolved, .unresolved, .local, .remote])
    #expect(answers(.maximum) == [.remote, .remote, .unresolved, .unresolved])
    #expect(answers(.minimum) == [.local, .local, .unresolved, .unresolved])
    #expect(answers(.counter) == [.merged(3), .unresolved, .unresolved, .unresolved])
    #expect(
      answers(.merging { "\($0)\($1)\($2)".count == 3 ? $1 + $2 : nil })
        == [.merged(3), .unresolved, .unresolved, .unresolved])
  }

  @Test("the next policy is asked only about what the one before leaves unresolved")
  func then() {
    #expect(
      answers(.editBeatsDelete.then(.counter).then(.keepRemote))
        == [.merged(3), .remote, .local, .remote])
    #expect(answers(.keepLocal.then(.keepRemote)) == answers(.keepLocal))
  }

  @Test("the kind and the versions of a conflict are those of its three versions")
  func conflicts() {
    let values: [Int?] = [nil, 0, 1, 2]
    for base in values {
      for local in values {
        for remote in values {
          let conflict = MergeConflict(base: base, local: local, remote: remote)
          let isConflict = local != remote && local != base && remote != base
          #expect((conflict != nil) == isConflict)
          guard let conflict else { continue }
          #expect(conflict.base == base && conflict.local == local && conflict.remote == remote)
        }
      }
    }
    #expect(Self.kinds.map(\.kind) == MergeConflict<Int>.Kind.allCases)
    #expect(
      Self.kinds.map(\.kind.rawValue) == ["edit/edit", "add/add", "edit/delete", "delete/edit"])
  }

  @Test("a maximum of versions that cannot be ordered is no answer")
  func unordered() {
    let conflict = MergeConflict.editEdit(base: 0, local: Double.nan, remote: 1)
    #expect(MergePolicy.maximum.resolution(of: conflict).isUnresolved)
    #expect(MergePolicy.minimum.resolution(of: conflict).isUnresolved)
    let tie = MergeConflict.addAdd(local: MergeItem(1, 5), remote: MergeItem(2, 5))
    #expect(MergePolicy.maximum(by: \.value).resolution(of: tie) == .unresolved)
  }

  func checkCounter<Value: FixedWidthInteger & SendableMetatype>(_ type: Value.Type) throws {
    let values = stride(from: Int(Value.min), through: Int(Value.max), by: 3).map { Value($0) }
    for base in values {
      for local in values where local != base {
        for remote in values where remote != base {
          let conflict = MergeConflict.editEdit(base: base, local: local, remote: remote)
          let sum = Value(exactly: Int(local) + Int(remote) - Int(base))
          try #require(
            MergePolicy.counter.resolution(of: conflict) == (sum.map { .merged($0) } ?? .unresolved)
          )
        }
      }
    }
  }

  @Test("a counter is exact where the sum fits, and unresolved where it does not")
  func counter() throws {
    try checkCounter(Int8.self)
    try checkCounter(UInt8.self)
  }

  @Test("a union has each member that was added or kept, and none that was removed")
  func union() {
    for bits in 0..<512 {
      let sides = (0..<3).map { side in Set((0..<3).filter { bits >> (side * 3 + $0) & 1 == 1 }) }
      let (base, local, remote) = (sides[0], sides[1], sides[2])
      let expected = (0..<3).filter { member in
        MergePolicy.unresolved.resolution(
          base: base.contains(member), local: local.contains(member),
          remote: remote.contains(member)) == .local
          ? local.contains(member) : remote.contains(member)
      }
      let conflict = MergeConflict.editEdit(base: base, local: local, remote: remote)
      #expect(MergePolicy.union.resolution(of: conflict) == .merged(Set(expected)))
      #expect(
        MergePolicy.union.resolution(of: .addAdd(local: local, remote: remote))
          == .merged(local.union(remote)))
    }
    #expect(
      MergePolicy<Set<Int>>.union.resolution(of: .editDelete(base: [1], local: [2])).isUnresolved)
  }
}

@Suite("MergePolicy, field by field")
struct MergePolicyFieldTests {
  struct Note: Hashable, Sendable {
    let id: Int
    var title = 0
    var likes = 0
    var hidden = 0
  }

  static let policy: MergePolicy<Note> = .fieldwise(
    MergeField(\.title), MergeField(\.likes, .counter))

  static let notes: [Note] = (0..<27).map { number in
    Note(id: 1, title: number % 3, likes: number / 3 % 3, hidden: number / 9)
  }

  @Test(
    "fields merge one by one, and no part of a record is lost, whether a field covers it or not")
  func everyNote() throws {
    for base in Self.notes {
      for local in Self.notes {
        for remote in Self.notes {
          guard let conflict = MergeConflict(base: base, local: local, remote: remote) else {
            continue
          }
          let resolution = Self.policy.resolution(of: conflict)
          let parts = [\Note.title, \Note.hidden].map { part in
            MergePolicy.unresolved.resolution(
              base: base[keyPath: part], local: local[keyPath: part],
              remote: remote[keyPath: part])
          }
          guard !parts.contains(.unresolved) else {
            try #require(resolution == .unresolved)
            continue
          }
          let expected = Note(
            id: 1, title: parts[0] == .local ? local.title : remote.title,
            likes: local.likes == remote.likes
              ? local.likes : base.likes + (local.likes - base.likes) + (remote.likes - base.likes),
            hidden: parts[1] == .local ? local.hidden : remote.hidden)
          try #require(resolution == .merged(expected))
        }
      }
    }
  }

  @Test("without a base, fields that differ need an answer of their own")
  func noBase() {
    let local = Note(id: 1, title: 1, likes: 4)
    let conflict = MergeConflict.addAdd(local: local, remote: Note(id: 1, title: 2, likes: 4))
    #expect(Self.policy.resolution(of: conflict) == .unresolved)
    let answered = MergePolicy<Note>.fieldwise([MergeField(\.title, .maximum)])
    #expect(answered.resolution(of: conflict) == .merged(Note(id: 1, title: 2, likes: 4)))
  }

  @Test("a deleted record has no fields to merge")
  func deleted() {
    let note = Note(id: 1)
    #expect(Self.policy.resolution(of: .editDelete(base: note, local: note)).isUnresolved)
    #expect(Self.policy.resolution(of: .deleteEdit(base: note, remote: note)).isUnresolved)
  }

  @Test("an edit beats a delete, fields merge, and what is left goes to the last policy")
  func composed() throws {
    let base = (1...4).map { Note(id: $0) }
    var local = base
    var remote = base
    local[0].title = 1
    remote[0].likes = 5
    local[1].title = 1
    remote[1].title = 2
    local.remove(at: 2)
    remote[2].likes = 1
    local[2].likes = 2
    remote[3].likes = 3
    let merge = try ThreeWayMerge(
      base: .known(base), local: local, remote: remote, identifiedBy: \.id,
      policy: .editBeatsDelete.then(Self.policy).then(.keepRemote))
    #expect(
      merge.merged == [
        Note(id: 1, title: 1, likes: 5), Note(id: 2, title: 2), Note(id: 3, likes: 1),
        Note(id: 4, likes: 5),
      ])
    #expect(merge.unresolved.isEmpty && merge.conflicts.count == 4)
  }
}

@Suite("MergePolicy, fields by name")
struct MergePolicyNamedFieldTests {
  struct Row: NamedFields, Hashable, Sendable {
    var fields: [String: Int] = [:]

    var fieldNames: [String] { fields.keys.sorted() }

    subscript(field name: String) -> Int? {
      get { fields[name] }
      set { fields[name] = newValue }
    }
  }

  static let rows = [[Int?]](
    [nil, 0, 1, 2].flatMap { first in [nil, 0, 1, 2].map { [first, $0] } }
  ).map { values in
    var row = Row()
    row.fields["a"] = values[0]
    row.fields["b"] = values[1]
    return row
  }

  @Test("a field by name merges as a record does, absent or not")
  func everyRow() throws {
    let policy = MergePolicy<Row>.fieldwise(byName: ["a": .editBeatsDelete], otherwise: .keepRemote)
    for base in Self.rows {
      for local in Self.rows {
        for remote in Self.rows {
          guard let conflict = MergeConflict(base: base, local: local, remote: remote) else {
            continue
          }
          let a = MergePolicy<Int>.editBeatsDelete.resolution(
            base: base.fields["a"], local: local.fields["a"], remote: remote.fields["a"])
          let b = MergePolicy<Int>.keepRemote.resolution(
            base: base.fields["b"], local: local.fields["b"], remote: remote.fields["b"])
          guard a != .unresolved else {
            try #require(policy.resolution(of: conflict) == .unresolved)
            continue
          }
          var expected = Row()
          expected.fields["a"] = a == .local ? local.fields["a"] : remote.fields["a"]
          expected.fields["b"] = b == .local ? local.fields["b"] : remote.fields["b"]
          try #require(policy.resolution(of: conflict) == .merged(expected))
        }
      }
    }
  }

  @Test("an answer may merge or delete a field")
  func answers() {
    let conflict = MergeConflict.editEdit(
      base: Row(fields: ["a": 1, "b": 1]), local: Row(fields: ["a": 2, "b": 2]),
      remote: Row(fields: ["a": 4, "b": 4]))
    let policy = MergePolicy<Row>.fieldwise(
      byName: ["a": .counter, "b": MergePolicy { _ in .deleted }])
    #expect(policy.resolution(of: conflict) == .merged(Row(fields: ["a": 5])))
  }
}
