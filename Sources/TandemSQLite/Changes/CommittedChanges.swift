/// A request to be notified of changes of one table.
package struct TableInterest: Hashable, Sendable {
  /// The source of a changed row's key while the row changes.
  package enum Key: Hashable, Sendable {
    /// The rowid, or a column that stands for it.
    case rowid
    /// The values of the columns at these positions in the table. If they may be rounded, a real
    /// may stand for an integer beyond 2^53.
    case columns([Int], mayBeRounded: Bool)
    /// None: only the fact that the table changed is recorded.
    case none
  }

  /// The table, as declared.
  package var table: String
  /// The source of the keys.
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

/// The changes that one or more commits made, as far as a subscription is interested.
package struct CommittedChanges: Sendable {
  /// The rows touched; an interest without an entry had none.
  package var touched: [TableInterest: TouchedKeys] = [:]
  /// True if anything else may have changed as well: by another process, or the schema.
  package var isUnknown = false

  /// No change.
  package init() {}

  /// Changes of unknown extent.
  static var unknown: CommittedChanges {
    var changes = CommittedChanges()
    changes.isUnknown = true
    return changes
  }

  /// True if nothing changed that matters.
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
