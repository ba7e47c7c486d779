package import TandemRecords

/// A rule of a table that spans rows or fields. A space checks it, so that every copy with the same rules can
/// have each of its records.
///
/// Rules of one row alone, such as `NOT NULL`, are no concern of a space.
package enum SpaceConstraint: Hashable, Sendable {
  /// No two records have equal values in these columns. A null in any of them equals nothing.
  case unique([ComparedColumn])
  /// The values of columns are those of a record of another table, the parent, as if the foreign key were deferred
  /// to the end of the commit. A null in any of them refers to nothing. The columns of the parent decide how values
  /// compare.
  case reference([FieldName], to: FieldName, [ComparedColumn])
  /// The columns are one unit of conflict: a space never combines values of them that no table has accepted
  /// together, as those of a `CHECK` over two columns.
  case together([FieldName])
}

extension SpaceConstraint: CustomStringConvertible {
  /// The rule in words, as in `mail is unique (NOCASE)` and `category refers to category(id)`.
  package var description: String {
    switch self {
    case .unique(let columns):
      "\(columns.list) \(columns.count == 1 ? "is" : "are") unique\(columns.comparison)"
    case .reference(let names, to: let table, let columns):
      "\(names.map(\.text).joined(separator: ", ")) \(names.count == 1 ? "refers" : "refer") to "
        + "\(table)(\(columns.list))\(columns.comparison)"
    case .together(let names):
      "\(names.map(\.text).joined(separator: ", ")) belong\(names.count == 1 ? "s" : "") together"
    }
  }
}

extension [ComparedColumn] {
  fileprivate var list: String { map(\.name.text).joined(separator: ", ") }

  /// The collations, unless all are `BINARY`.
  fileprivate var comparison: String {
    allSatisfy { $0.collation == .binary }
      ? "" : " (\(map(\.collation.rawValue).joined(separator: ", ")))"
  }
}

/// A column and the way in which its values compare.
package struct ComparedColumn: Hashable, Sendable {
  /// SQLite's own collations. Any program knows them.
  package enum Collation: String, Hashable, Sendable, CaseIterable {
    case binary = "BINARY"
    case nocase = "NOCASE"
    case rtrim = "RTRIM"
  }

  /// The conversion of values before they are compared. Columns of the affinity BLOB have none.
  package enum Affinity: String, Hashable, Sendable, CaseIterable {
    case text = "TEXT"
    case numeric = "NUMERIC"
    case integer = "INTEGER"
    case real = "REAL"
    case blob = "BLOB"
  }

  /// The name of the column.
  package let name: FieldName
  /// The comparison of texts.
  package let collation: Collation
  /// The conversion of values; that of a unique column is BLOB, because its values have been converted by the table.
  package let affinity: Affinity

  package init(
    _ name: FieldName, _ collation: Collation = .binary, _ affinity: Affinity = .blob
  ) {
    self.name = name
    self.collation = collation
    self.affinity = affinity
  }
}

/// A constraint that records of the space break. It is tried again with each commit that changes one of its tables,
/// and holds from when the records satisfy it.
package struct PendingConstraint: Hashable, Sendable {
  /// The maximum number of records that are named.
  package static let maxRecordCount = 5

  package let constraint: SpaceConstraint
  /// The keys of records that break it, the first ones in the order of their versions.
  package let records: [[FieldValue]]

  package init(_ constraint: SpaceConstraint, records: [[FieldValue]]) {
    self.constraint = constraint
    self.records = records
  }
}
