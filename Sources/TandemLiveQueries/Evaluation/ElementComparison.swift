internal import TandemRecords

/// Compares elements by the protocols that their type has, which a live query does not require.
enum ElementComparison {
  /// True if a row that changed from one element to another is an update: the elements differ, or
  /// cannot be compared.
  static func isUpdate<Element>(from old: Element, to new: Element) -> Bool {
    // Records that are equal may differ in the type of a value.
    if let old = old as? Record, let new = new as? Record { return !old.hasSameStorage(as: new) }
    guard let old = old as? any Equatable else { return true }
    return !isEqual(old, new)
  }

  private static func isEqual<Value: Equatable>(_ first: Value, _ second: Any) -> Bool {
    second as? Value == first
  }

  /// True if two elements have the same identity, or none of their own. The default identity of an
  /// object is the object, not its row.
  static func haveSameIdentity<Element>(_ first: Element, _ second: Element) -> Bool {
    guard let first = first as? any Identifiable else { return true }
    return isIdentical(first, second)
  }

  private static func isIdentical<Value: Identifiable>(_ first: Value, _ second: Any) -> Bool {
    guard Value.ID.self != ObjectIdentifier.self, let second = second as? Value else { return true }
    return first.id == second.id
  }
}
