/// What somebody wants to know about the changes of one table.
package struct TableInterest: Hashable, Sendable {
  /// How the key of a changed row is found while it changes.
  package enum Key: Hashable, Sendable {
    /// It is the rowid, or a column that stands for it.
    case rowid
    /// It is the values of the columns at these positions in the table.
    case columns([Int])
    /// It is of no interest, or cannot be found: only that the table changed is noted.
    case none
  }

  /// The table, as declared.
  package var table: String
  /// How to note its rows.
  package var key: Key
  /// The positions of the columns whose changes matter; `nil` for all. Insertions and deletions
  /// always matter.
  package var columns: [Int]?

  /// An interest in a table of the main database.
  package init(table: String, key: Key, columns: [Int]? = nil) {
    self.table = table
    self.key = key
    self.columns = columns
  }
}

/// What one or more commits changed, as far as somebody is interested.
package struct CommittedChanges: Sendable {
  /// The rows touched; an interest that is absent had none.
  package var touched: [TableInterest: TouchedKeys] = [:]
  /// Whether anything else may have changed as well: by another process, or the schema.
  package var isUnknown = false

  /// No change.
  package init() {}

  /// Whether nothing changed that matters.
  package var isEmpty: Bool { touched.isEmpty && !isUnknown }

  /// Adds later changes.
  package mutating func formUnion(_ other: CommittedChanges) {
    isUnknown = isUnknown || other.isUnknown
    touched.merge(other.touched) { first, second in
      var union = first
      union.formUnion(second)
      return union
    }
  }
}
