extension FieldValue {
  /// Whether a table would hold the two alike: of one type, and the same to the bit. `==` takes `1` for
  /// `1.0`; this does not. A NaN is held as null.
  @inlinable
  package func hasSameStorage(as other: FieldValue) -> Bool {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.real(let a), .real(let b)): return a.bitPattern == b.bitPattern || a.isNaN && b.isNaN
    case (.text(let a), .text(let b)): return UTF8Order.areEqual(a, b)
    case (.blob(let a), .blob(let b)): return a == b
    default: return isNull && other.isNull
    }
  }
}

extension Record {
  /// Whether a table would hold the two alike: the same fields, in whatever order, with values that
  /// have the same storage; a field that is absent counts as null.
  ///
  /// - Complexity: as that of `==`.
  package func hasSameStorage(as other: Record) -> Bool {
    guard layout.hasSameOrder(as: other.layout) else {
      return isStored(in: other) && other.isStored(in: self)
    }
    return values.indices.allSatisfy { values[$0].hasSameStorage(as: other.values[$0]) }
  }

  /// Whether `other` would hold each of this record's fields alike.
  private func isStored(in other: Record) -> Bool {
    zip(layout.names, values).allSatisfy { name, value in value.hasSameStorage(as: other[name]) }
  }
}
