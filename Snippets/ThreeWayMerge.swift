import TandemDifferences

struct Note: Equatable, Identifiable {
  var id: Int
  var title: String
  var likes = 0
}

let base = [Note(id: 1, title: "Milk"), Note(id: 2, title: "Bread")]
let local = [Note(id: 1, title: "Oat milk"), Note(id: 2, title: "Bread", likes: 2)]
let remote = [Note(id: 1, title: "Milk", likes: 1), Note(id: 2, title: "Bread", likes: 3)]

let merge = try ThreeWayMerge(
  base: .known(base), local: local, remote: remote,
  policy: .fieldwise(MergeField(\.title), MergeField(\.likes, .counter)))
for note in merge.merged { print(note.title, note.likes) }  // Oat milk 1, Bread 5
print(merge.conflicts.count, merge.unresolved.count)  // 2 0
