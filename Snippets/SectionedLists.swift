import TandemDifferences

let spring = [
  ListSection(header: "Soups", elements: ["Leek", "Pea"]),
  ListSection(header: "Pies", elements: ["Apple"]),
]
let autumn = [
  ListSection(header: "Pies", elements: ["Apple", "Leek"]),
  ListSection(header: "Stews", elements: ["Goulash"]),
]

let difference = SectionedListDifference(
  from: spring, to: autumn, sectionsIdentifiedBy: \.self, elementsIdentifiedBy: \.self)
print(difference.sections.deletions.map(\.element.header))  // ["Soups"]
print(difference.sections.insertions.map(\.element.header))  // ["Stews"]
for move in difference.moves {
  print("\(move.from.section).\(move.from.element) → \(move.to.section).\(move.to.element)")
}  // 0.0 → 0.1: the leek moved from the soups to the pies
