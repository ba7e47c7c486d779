import TandemRecords
import TestRandom
import Testing

struct KeyedRecordsTests {
  private func keyed(_ records: [Record], _ key: [String] = ["id"]) -> Result<
    KeyedRecords, RecordError
  > {
    Result { () throws(RecordError) in try KeyedRecords(records, key: key) }
  }

  private func failure(_ records: [Record], _ key: [String] = ["id"]) -> RecordError? {
    guard case .failure(let error) = keyed(records, key) else { return nil }
    return error
  }

  @Test("every order of a small list is sorted alike")
  func permutations() throws {
    let sorted: [Record] = [1, 1.5, 2, "a", "b", .blob([0])].map { ["n": "x", "id": $0] }
    var orders: [[Record]] = [[]]
    for record in sorted {
      orders = orders.flatMap { order in
        (0...order.count).map { position in
          var longer = order
          longer.insert(record, at: position)
          return longer
        }
      }
    }
    #expect(orders.count == 720)
    for order in orders {
      #expect(try KeyedRecords(order, key: ["id"]).records == sorted)
    }
  }

  @Test("every list of up to four small keys is sorted or refused as a naive reader would")
  func oracle() throws {
    let values: [FieldValue?] = [.none, .null, 0, 0.0, 1, "", "\u{E9}", "e\u{301}"]
    var lists: [[Record]] = [[]]
    for _ in 0..<4 {
      lists = lists.flatMap { list in
        values.map { value in list + [value.map { ["n": 0, "id": $0] } ?? ["n": 0]] }
      }
      for list in lists { expectSameAsNaive(list, ["id"]) }
    }
  }

  @Test("random lists with two key fields are sorted or refused as a naive reader would")
  func random() {
    for seed in 0..<500 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      let values = nastyValues.dropFirst(3)
      let count = Int.random(in: 0...40, using: &generator)
      let list = (0..<count).map { _ -> Record in
        let a = values.randomElement(using: &generator) ?? 0
        let b = values.randomElement(using: &generator) ?? 0
        return generator.next() % 2 == 0 ? ["a": a, "b": b] : ["b": b, "c": 1, "a": a]
      }
      expectSameAsNaive(list, ["a", "b"], "seed \(seed)")
      expectSameAsNaive(list, ["b"], "seed \(seed)")
      expectSameAsNaive(list.sorted { $0["a"] < $1["a"] }, ["a", "b"], "seed \(seed)")
    }
  }

  private func expectSameAsNaive(_ list: [Record], _ key: [String], _ comment: Comment = "") {
    let keys = list.map { record in key.map { record[$0] } }
    let result = keyed(list, key)
    if let missing = keys.firstIndex(where: { $0.contains(where: \.isNull) }) {
      #expect(failure(list, key)?.code == .missingKey, comment)
      #expect(failure(list, key)?.record == missing + 1, comment)
    } else if let second = keys.indices.first(where: { keys[..<$0].contains(keys[$0]) }),
      let first = keys.firstIndex(of: keys[second])
    {
      #expect(failure(list, key)?.code == .duplicateKey, comment)
      #expect(failure(list, key)?.record == second + 1, comment)
      let places = "the records \(first + 1) and \(second + 1) have the same key"
      #expect(failure(list, key)?.message.hasPrefix(places) == true, comment)
    } else {
      let order = keys.indices.sorted { keys[$0].lexicographicallyPrecedes(keys[$1]) }
      guard case .success(let sorted) = result else {
        Issue.record("\(result): \(comment)")
        return
      }
      #expect(sorted.records == order.map { list[$0] }, comment)
    }
  }

  @Test("an error names the positions and the key")
  func messages() {
    #expect(
      failure([["id": 2], ["id": 1], ["id": 2.0]])?.description
        == "record 3: the records 1 and 3 have the same key id = 2")
    #expect(
      failure([["a": "x\n", "id": 1], ["id": 1, "a": "x\n"]], ["a", "id"])?.description
        == "record 2: the records 1 and 2 have the same key a = \"x\\n\", id = 1")
    #expect(
      failure([["id": 2], ["a": 1]])?.description
        == "record 2: the record has no value in the key field \"id\"")
    #expect(failure([["id": .real(.nan)]])?.code == .missingKey)
  }

  @Test("1 and 1.0 are one key; composed and decomposed é are two, and so are 2^53 and 2^53 + 1")
  func sameKeys() {
    #expect(failure([["id": 1], ["id": 1.0]])?.code == .duplicateKey)
    #expect(failure([["id": "\u{E9}"], ["id": "e\u{301}"]]) == nil)
    #expect(failure([["id": 0x1p53], ["id": .integer((1 << 53) + 1)]]) == nil)
    #expect(failure([["id": .integer((1 << 53) + 1)], ["id": 0x1p53]]) == nil)
  }

  @Test("a record is found by its key, and none by another")
  func lookups() throws {
    let list = (0..<50).map { ["id": .integer(($0 * 37) % 101), "b": "x"] as Record }
    let keyed = try KeyedRecords(list, key: ["id", "b"])
    for number in -1...101 as ClosedRange<Int64> {
      let key = RecordKey([.integer(number), "x"])
      #expect(keyed[key: key] == list.first { $0["id"] == .integer(number) })
      #expect(keyed[key: RecordKey([.integer(number)])] == nil)
    }
    #expect(keyed.indices.map { keyed.key(at: $0) } == keyed.map { RecordKey([$0["id"], "x"]) })
    #expect(keyed.count == 50 && keyed.key == ["id", "b"])
    #expect(try KeyedRecords([], key: ["id"])[key: RecordKey([1])] == nil)
  }
}
