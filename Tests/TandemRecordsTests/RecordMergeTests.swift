import TandemDifferences
import TandemRecords
import Testing

@Suite("Records merged field by field")
struct RecordMergeTests {
  private let base: Record = ["id": 1, "name": "Oslo", "visits": 3]

  private func merged(
    _ local: Record, _ remote: Record, _ policy: MergePolicy<Record>
  ) throws -> ThreeWayMerge<Record, FieldValue> {
    try ThreeWayMerge(
      base: .known([base]), local: [local], remote: [remote], identifiedBy: { $0["id"] },
      policy: policy)
  }

  @Test("changes of different fields are both kept")
  func disjointFields() throws {
    let merge = try merged(
      ["id": 1, "name": "Kristiania", "visits": 3], ["visits": 4, "name": "Oslo", "id": 1],
      .fieldwise(byName: [:]))
    #expect(merge.merged == [["id": 1, "name": "Kristiania", "visits": 4]])
    #expect(merge.unresolved.isEmpty)
  }

  @Test("a policy for one name decides that field alone")
  func policyByName() throws {
    let merge = try merged(
      ["id": 1, "name": "Oslo", "visits": 5], ["id": 1, "name": "Oslo", "visits": 4],
      .fieldwise(byName: ["visits": .maximum]))
    #expect(merge.merged == [["id": 1, "name": "Oslo", "visits": 5]])
  }

  @Test("a counter adds what both sides added, a text has the edits of both")
  func valuesOfOneType() throws {
    let base: Record = ["id": 1, "name": "the quick fox", "visits": 3]
    let merge = try ThreeWayMerge(
      base: .known([base]), local: [["id": 1, "name": "the quick brown fox", "visits": 5]],
      remote: [["id": 1, "name": "that quick fox", "visits": 4]], identifiedBy: { $0["id"] },
      policy: .fieldwise(byName: ["visits": .counter, "name": .textMerge]))
    #expect(merge.merged == [["id": 1, "name": "that quick brown fox", "visits": 6]])
    let overflow = try merged(
      ["id": 1, "name": "Oslo", "visits": .integer(.max)], ["id": 1, "name": "Oslo", "visits": 4],
      .fieldwise(byName: ["visits": .counter]))
    #expect(overflow.unresolved.count == 1)
    let mixed = try merged(
      ["id": 1, "name": "Oslo", "visits": "many"], ["id": 1, "name": "Oslo", "visits": 4],
      .fieldwise(byName: ["visits": .counter.then(.keepRemote)]))
    #expect(mixed.merged == [["id": 1, "name": "Oslo", "visits": 4]])
  }

  @Test("one field changed on both sides leaves the record open unless its policy decides")
  func conflict() throws {
    let local: Record = ["id": 1, "name": "A", "visits": 3]
    let remote: Record = ["id": 1, "name": "B", "visits": 9]
    #expect(try merged(local, remote, .fieldwise(byName: [:])).unresolved.count == 1)
    let merge = try merged(local, remote, .fieldwise(byName: ["name": .keepLocal]))
    #expect(merge.merged == [["id": 1, "name": "A", "visits": 9]])
  }

  @Test("a field added by one side and one removed by the other both take effect")
  func addedAndRemovedFields() throws {
    let merge = try merged(
      ["id": 1, "name": "Oslo", "visits": 3, "note": "north"], ["id": 1, "name": "Oslo"],
      .fieldwise(byName: [:]))
    #expect(merge.merged == [["id": 1, "name": "Oslo", "note": "north"]])
  }

  @Test("names that look alike but differ in bytes are different fields")
  func names() {
    let record: Record = ["caf\u{E9}": 1, "cafe\u{301}": 2]
    #expect(record[field: FieldName("caf\u{E9}")] == 1)
    #expect(record[field: FieldName("cafe\u{301}")] == 2)
    #expect(FieldName("caf\u{E9}") != FieldName("cafe\u{301}"))
    #expect(record[field: FieldName("tea")] == nil)
  }
}
