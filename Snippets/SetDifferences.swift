import TandemDifferences

struct Player: Equatable, Identifiable {
  var id: Int
  var name: String
}

let yesterday = [Player(id: 1, name: "Ada"), Player(id: 2, name: "Bob")]
let today = [Player(id: 2, name: "Bobby"), Player(id: 3, name: "Cy")]

let difference = try SetDifference(from: yesterday, to: today)
print(difference.inserted.map(\.name))  // ["Cy"]
print(difference.updated.map { "\($0.old.name) → \($0.new.name)" })  // ["Bob → Bobby"]
print(difference.deleted.map(\.name))  // ["Ada"]

let undone = difference.composed(with: difference.inverted)
print(undone?.isEmpty == true)  // true
