import Tandem

func records(_ csv: String) throws -> [Record] {
  try RecordReader.records(in: Array("id,title,stars\n\(csv)".utf8), format: .csv)
}

// Titles merge as texts, the larger number of stars wins, and an edit beats a deletion.
let stars = MergePolicy<FieldValue> { conflict in
  guard case .editEdit(_, let local, let remote) = conflict else { return .unresolved }
  return local < remote ? .remote : .local
}
let fields = MergePolicy<Record>.fieldwise(byName: ["title": .textMerge, "stars": stars])
let merge = try RecordMerge(key: ["id"], policy: fields.then(.editBeatsDelete)).merge(
  base: .known(records("1,A lake in autumn,3\n2,Snow,1\n")),
  local: records("1,A cold lake in autumn,4\n"),
  remote: records("1,A lake in late autumn,5\n2,Snow,2\n"))
for record in merge.merged { print(record["title"], record["stars"]) }
// "A cold lake in late autumn" 5, then "Snow" 2
print(merge.conflicts.count, merge.unresolved.count)  // 2 0

// Files merge with their columns, and keep the text of what did not change.
let file = try ListMerge(key: ["id"]).merge(
  base: ListText(Array("id,title\n1,Lake\n".utf8), format: .csv),
  local: ListText(Array("id,title\n1,Lake\n2,Snow\n".utf8), format: .csv),
  remote: ListText(Array("id,name\n1,Lake\n".utf8), format: .csv))
print(String(decoding: file.text(marksConflicts: true), as: UTF8.self))
