import TandemDifferences
import TandemRecords
import TandemSQLite
import TestRandom
import Testing

@testable import TandemLiveQueries

@Suite("Changes that wait")
struct MailboxTests {
  static let columns = ResultColumns(
    layout: RecordLayout(uniqueNames: ["k", "v"]), keyOffsets: [0])

  static func record(_ key: Int, _ value: Int) -> Record {
    Record(
      uncheckedLayout: columns.layout,
      values: [.integer(Int64(key)), .integer(Int64(value))])
  }

  static func insertion(_ keys: Range<Int>) -> KeyedDifference {
    KeyedDifference(
      difference: SetDifference(inserted: keys.map { record($0, 0) }), columns: columns)
  }

  @Test("the first change comes by itself, the later ones as one")
  func latest() {
    var mailbox = Mailbox<KeyedDifference>(.latest)
    mailbox.start(Self.insertion(0..<3))
    mailbox.append(Self.insertion(3..<4))
    mailbox.append(Self.insertion(4..<5))
    #expect(mailbox.take().map(\.count) == [3])
    #expect(mailbox.take().map(\.count) == [1, 1])
    #expect(mailbox.take().isEmpty && mailbox.isEmpty)
  }

  @Test("with every commit, each change comes by itself")
  func everyCommit() {
    var mailbox = Mailbox<KeyedDifference>(.everyCommit)
    mailbox.start(Self.insertion(0..<3))
    for key in 3..<6 { mailbox.append(Self.insertion(key..<key + 1)) }
    #expect((0..<5).map { _ in mailbox.take().map(\.count) } == [[3], [1], [1], [1], []])
  }

  @Test("they take no more memory than the rows that differ, however many commits there were")
  func bounded() throws {
    var mailbox = Mailbox<KeyedDifference>(.latest)
    mailbox.start(Self.insertion(0..<10))
    _ = mailbox.take()
    var value = 0
    for _ in 0..<100_000 {
      let update = SetDifference<Record>.Update(
        old: Self.record(3, value), new: Self.record(3, value + 1))
      mailbox.append(
        KeyedDifference(difference: SetDifference(updated: [update]), columns: Self.columns))
      value += 1
      try #require(mailbox.count <= Mailbox<KeyedDifference>.minComposedCount + 1)
    }
    let change = KeyedDifference.composing(mailbox.take())
    #expect(
      change.difference.updated == [.init(old: Self.record(3, 0), new: Self.record(3, value))])
  }

  @Test("changes of other columns stay apart")
  func columns() {
    var mailbox = Mailbox<KeyedDifference>(.latest)
    let others = ResultColumns(
      layout: RecordLayout(uniqueNames: ["k", "v", "w"]), keyOffsets: [0])
    mailbox.start(Self.insertion(0..<1))
    mailbox.append(Self.insertion(1..<2))
    mailbox.append(KeyedDifference(difference: SetDifference(), columns: others))
    mailbox.append(KeyedDifference(difference: SetDifference(), columns: others))
    #expect((0..<4).map { _ in mailbox.take().count } == [1, 1, 2, 0])
  }
}

@Suite("Differences of lists, one after the other")
struct ListCompositionTests {
  @Test("are one with the same result, and the fewest moves", arguments: 1...400)
  func composition(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func list() -> [KeyedRow] {
      let keys = (0..<Int.random(in: 0...14, using: &random)).map { _ in
        Int.random(in: 0..<16, using: &random)
      }
      var seen: Set<Int> = []
      return keys.filter { seen.insert($0).inserted }.map {
        OrderedRowsTests.row($0, .random(in: 0..<2, using: &random), 0)
      }
    }
    func edited(_ rows: [KeyedRow]) -> [KeyedRow] {
      guard Int.random(in: 0..<4, using: &random) > 0, !rows.isEmpty else { return list() }
      var rows = rows
      let row = rows.remove(at: .random(in: rows.indices, using: &random))
      if Bool.random(using: &random) {
        rows.insert(row, at: .random(in: 0...rows.count, using: &random))
      }
      return rows
    }
    func difference(_ old: [KeyedRow], _ new: [KeyedRow]) -> ListDifference<KeyedRow> {
      ListDifference(from: old, to: new, identifiedBy: \.key)
    }
    for _ in 0..<50 {
      let lists = (0..<4).reduce(into: [list()]) { lists, _ in
        lists.append(edited(lists[lists.count - 1]))
      }
      let changes = zip(lists, lists.dropFirst()).map(difference)
      let composed = ListDifference<KeyedRow>.composing(changes)
      let expected = difference(lists[0], lists[4])
      #expect(composed.applying(to: lists[0]) == lists[4], "seed \(seed)")
      #expect(composed.deletions == expected.deletions, "seed \(seed)")
      #expect(composed.insertions == expected.insertions, "seed \(seed)")
      #expect(composed.updates == expected.updates, "seed \(seed)")
      #expect(composed.moves.count == expected.moves.count, "seed \(seed)")
    }
  }
}
