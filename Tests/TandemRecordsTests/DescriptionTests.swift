import TandemDifferences
import TandemRecords
import Testing

struct DescriptionTests {
  private let ann: Record = ["id": 1, "name": "Ann"]
  private let bob: Record = ["id": 2, "name": "Bob"]

  @Test("records, keys and lists of them print their fields in one line")
  func records() throws {
    #expect("\(ann)" == #"{id: 1, name: "Ann"}"#)
    #expect("\(Record([]) ?? ann)" == "{}")
    let list = try KeyedRecords([bob, ann], key: ["id"])
    #expect("\(list)" == #"by id: [{id: 1, name: "Ann"}, {id: 2, name: "Bob"}]"#)
    #expect("\(ann.layout)" == "id, name")
  }

  @Test("descriptions are bounded, whatever they describe")
  func bounds() throws {
    let long: Record = ["id": 1, "text": .text(String(repeating: "a\n", count: 10_000))]
    let wide = try #require(Record((0..<2_000).map { (name: "f\($0)", value: .integer(1)) }))
    let many = SetDifference(inserted: Array(repeating: wide, count: 1_000))
    for text in ["\(long)", "\(wide)", "\(wide.layout)", "\(many)"] {
      #expect(text.utf8.count < 2_000)
      #expect(!text.contains("\n"))
    }
  }

  @Test("differences, conflicts and merges print their changes in one line")
  func changes() throws {
    let difference = SetDifference(
      inserted: [1, 2, 3, 4, 5], updated: [.init(old: 6, new: 7)])
    #expect("\(difference)" == "inserted [1, 2, 3, … 2 more], updated [6 → 7]")
    #expect("\(SetDifference<Int>())" == "no changes")
    let list = ListDifference(from: ["a", "b", "c"], to: ["c", "a", "d"], identifiedBy: { $0 })
    #expect("\(list)" == "deletions [1: b], insertions [2: d], moves [2 → 0]")
    #expect("\(TextDifference(from: "the mat", to: "the sofa"))" == #"edits [4: "mat" → "sofa"]"#)
    let merge = try RecordMerge(key: ["id"]).merge(
      base: .known([ann]), local: [["id": 1, "name": "A"]], remote: [["id": 1, "name": "B"]])
    #expect(
      "\(merge.conflicts)"
        == #"[1: edit/edit: base {id: 1, name: "Ann"}, local {id: 1, name: "A"}, "#
        + #"remote {id: 1, name: "B"}: unresolved]"#)
  }
}
