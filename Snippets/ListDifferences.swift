import TandemDifferences

var songs = ["Overture", "Waltz", "March", "Finale"]
let difference = ListDifference(
  from: songs, to: ["Finale", "Overture", "Waltz", "Encore"], identifiedBy: \.self)

print(difference.deletions.map(\.element))  // ["March"]
print(difference.insertions.map { "\($0.element) at \($0.offset)" })  // ["Encore at 3"]
print(difference.moves.map { "\($0.from) → \($0.to)" })  // ["3 → 0"]

// Single steps lead there too, one change after another.
print(difference.steps.count)  // 3

// Each batch is what a table or collection view animates in one go.
for batch in difference.batches {
  if let next = batch.applying(to: songs) { songs = next }
}
print(songs)  // ["Finale", "Overture", "Waltz", "Encore"]
