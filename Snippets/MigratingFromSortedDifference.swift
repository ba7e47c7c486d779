// snippet.hide
import TandemDifferences

// snippet.show
struct Player: Identifiable, Equatable { var id: Int, name: String }
struct Payload: Identifiable { var id: Int, name: String }

let stored = [Player(id: 1, name: "Ann"), Player(id: 2, name: "Bob")]
let payload = [Payload(id: 1, name: "Anna"), Payload(id: 3, name: "Cem")]

// snippet.walking
for change in SortedDifference(from: stored, to: payload) {
  switch change {
  case .deleted(let player): print("delete", player.name)
  case .inserted(let new): print("insert", new.name)
  case .common(let player, let new): print("update", player.name, "to", new.name)
  case .violation(let violation): print(violation)
  }
}  // update Ann to Anna, delete Bob, insert Cem
// snippet.end

// snippet.forms
let byClosures = SortedDifference(
  from: stored, identifiedBy: \.id, to: payload, identifiedBy: { $0.id })
let byValue = SortedDifference(from: [1, 2], to: [1])
print(Array(byClosures).count, Array(byValue).count)  // 3 2
// snippet.end
