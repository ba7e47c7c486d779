import TandemDifferences

struct Stock: Equatable {
  var code: String
  var count: Int
}

// Two versions that are sorted by identity are compared in one pass, and neither is kept in memory.
let monday = [Stock(code: "apple", count: 3), Stock(code: "fig", count: 1)]
let tuesday = [Stock(code: "apple", count: 2), Stock(code: "pear", count: 7)]
for change in SortedDifference(from: monday, to: tuesday, sortedBy: \.code) {
  switch change {
  case .deleted(let stock): print("no", stock.code)
  case .inserted(let stock): print("new", stock.code)
  case .common(let old, let new): print(new.code, old.count, "→", new.count)
  case .violation(let violation): print(violation)
  }
}  // apple 3 → 2, no fig, new pear

// A difference applies only to a version that it fits. `misfits` holds the elements that do not fit.
let difference = try SetDifference(from: monday, to: tuesday, identifiedBy: \.code)
let shelf = Dictionary(uniqueKeysWithValues: monday.map { ($0.code, $0) })
let tuesdayShelf = difference.applying(to: shelf, identifiedBy: \.code)
print(tuesdayShelf?.keys.sorted() ?? [])  // ["apple", "pear"]

let emptied = [String: Stock]()
print(difference.applying(to: emptied, identifiedBy: \.code) == nil)  // true
let misfits = difference.misfits(in: emptied, identifiedBy: \.code)
print(misfits.updated.map(\.old.code), misfits.deleted.map(\.code))  // ["apple"] ["fig"]
