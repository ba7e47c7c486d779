/// How a mirror compares the identities of its two sides.
///
/// Ask for ``sorted`` where both sides come ascending by identity: no identity is hashed, and no more
/// than a page of each side is in memory.
public struct MirrorComparison<Item: Identifiable & Sendable>: Sendable where Item.ID: Sendable {
  /// Whether both sides are read in step.
  @usableFromInline let isSorted: Bool
  /// Compares as much as there is.
  @usableFromInline let advance: @Sendable (inout MirrorPlanning<Item>) -> Void

  /// Where the current page of the source has an item that was asked about, if it does.
  @usableFromInline let offset: @Sendable (MirrorPlanning<Item>, Item.ID) -> Int?
  /// Picks the items to ask about; a closure, like the others, because it is compiled for its type
  /// where the comparison is made.
  @usableFromInline let pick: @Sendable (MirrorPlanning<Item>) -> [Item]

  @inlinable
  init(
    isSorted: Bool, advance: @escaping @Sendable (inout MirrorPlanning<Item>) -> Void,
    offset: @escaping @Sendable (MirrorPlanning<Item>, Item.ID) -> Int?
  ) {
    pick = { $0.pickQuestions() }
    self.isSorted = isSorted
    self.advance = advance
    self.offset = offset
  }

  /// Takes both sides in any order. All local identities are held in memory, and those of new items.
  @inlinable
  public static var unsorted: MirrorComparison {
    MirrorComparison(
      isSorted: false, advance: { $0.lookUp() }, offset: { $0.offsetByTable(of: $1) })
  }
}

extension MirrorComparison where Item.ID: Comparable {
  /// Takes sides that both ascend by identity, page by page; what does not ascend ends the run with
  /// ``MirrorError/Code/unsortedList``.
  @inlinable
  public static var sorted: MirrorComparison {
    MirrorComparison(
      isSorted: true, advance: { $0.merge() }, offset: { $0.offsetBySearch(of: $1) })
  }
}
