/// The elements of two sectioned lists, in pairs.
@usableFromInline
struct SectionPairing<Element> {
  @usableFromInline let old: FlattenedSections<Element>
  @usableFromInline let new: FlattenedSections<Element>
  /// For each section of the new list, its version in the old list, if any.
  @usableFromInline let origins: [Int?]
  @usableFromInline var steps = StepWalk()
  @usableFromInline let matching: ListMatching

  @inlinable
  init<ID: Hashable>(
    old: FlattenedSections<Element>, new: FlattenedSections<Element>, origins: [Int?],
    id: (Element) -> ID, areEquivalent: (Element, Element) -> Bool
  ) {
    self.old = old
    self.new = new
    self.origins = origins
    var steps = StepWalk()
    matching = old.elements.withUnsafeBufferPointer { oldElements in
      new.elements.withUnsafeBufferPointer { newElements in
        for case (let section, let origin?) in zip(origins.indices, origins) {
          steps.walk(
            old: old.range(of: origin), new: new.range(of: section),
            isSame: { id(oldElements[$0]) == id(newElements[$1]) },
            isEquivalent: { areEquivalent(oldElements[$0], newElements[$1]) })
        }
        return ListMatching(
          oldElements, newElements, steps: steps, id: id, areEquivalent: areEquivalent)
      }
    }
    self.steps = steps
  }

  /// The moves between sections, and the fewest within each section.
  @inlinable
  func moves() -> [ListMove<Int>] {
    var moves: [ListMove<Int>] = []
    var runs = steps.runs[...]
    var pairs = matching.pairs[...]
    for (section, origin) in origins.enumerated() {
      let end = new.range(of: section).upperBound
      let sectionRuns = runs.prefix { $0.new < end }
      let sectionPairs = pairs.prefix { $0.to < end }
      runs = runs.dropFirst(sectionRuns.count)
      pairs = pairs.dropFirst(sectionPairs.count)
      let home = origin.map { old.range(of: $0) } ?? 0..<0
      moves += sectionPairs.filter { !home.contains($0.from) }
      let stays = sectionPairs.filter { home.contains($0.from) }
      if !stays.isEmpty { moves += [ListMove<Int>](fewestFor: Array(sectionRuns), and: stays) }
    }
    return moves
  }
}
