import TandemDifferences

var songs = ["Overture", "Waltz", "March", "Finale"]
let difference = ListDifference(
  from: songs, to: ["Finale", "Overture", "Waltz", "Encore"], identifiedBy: \.self)

print(difference.deletions.map(\.element))  // ["March"]
print(difference.insertions.map { "\($0.element) at \($0.offset)" })  // ["Encore at 3"]
print(difference.moves.map { "\($0.from) → \($0.to)" })  // ["3 → 0"]

// The same changes as single steps, each of which applies to the result of the one before.
print(difference.steps.count)  // 3

// The same changes in batches. A table view or a collection view animates one batch in one go.
for batch in difference.batches {
  if let next = batch.applying(to: songs) { songs = next }
}
print(songs)  // ["Finale", "Overture", "Waltz", "Encore"]
