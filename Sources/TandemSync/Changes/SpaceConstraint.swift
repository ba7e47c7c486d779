package import TandemRecords

/// A rule of a table that spans rows or fields. A space checks it, so that every copy with the same rules can
/// have each of its records.
///
/// Rules of one row alone, such as `NOT NULL`, are no concern of a space.
package enum SpaceConstraint: Hashable, Sendable {
  /// No two records have equal values in these columns. A null in any of them equals nothing.
  case unique([ComparedColumn])
  /// No two records have equal values in a unique index that the space cannot compute. Commits state the values.
  case index(SpaceIndex)
  /// The values of columns are those of a record of another table, the parent, as if the foreign key were deferred
  /// to the end of the commit. A null in any of them refers to nothing. The columns of the parent decide how values
  /// compare.
  case reference([FieldName], to: FieldName, [ComparedColumn])
  /// The columns are one unit of conflict: a space never combines values of them that no table has accepted
  /// together, as those of a `CHECK` over two columns.
  case together([FieldName])
}

extension SpaceConstraint {
  /// The unique index whose values commits state.
  package var index: SpaceIndex? { if case .index(let index) = self { index } else { nil } }
}

extension SpaceConstraint: CustomStringConvertible {
  /// The rule in words, as in `mail is unique (NOCASE)` and `category refers to category(id)`.
  package var description: String {
    switch self {
    case .unique(let columns):
      "\(columns.list) \(columns.count == 1 ? "is" : "are") unique\(columns.comparison)"
    case .index(let index): "\(index.name) is a unique index (\(index.sql))"
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

/// A unique index that has only some of the records, or computes its values. Two are equal if their SQL is.
package struct SpaceIndex: Hashable, Sendable {
  /// The name, for people.
  package let name: String
  /// The statement that creates it.
  package let sql: String
  /// The columns that it depends on, as the table declares them: those that it has, those in its condition, and those
  /// from which either are generated.
  package let columns: [ComparedColumn]

  package init(name: String, sql: String, columns: [ComparedColumn]) {
    self.name = name
    self.sql = sql
    self.columns = columns
  }

  /// True if a change of one of these fields may change the value of a record.
  package func depends(on fields: [String]) -> Bool {
    columns.contains { column in
      column.expression == nil && fields.contains { UTF8Order.areEqual($0, column.name.text) }
    }
  }

  package static func == (first: SpaceIndex, second: SpaceIndex) -> Bool {
    UTF8Order.areEqual(first.sql, second.sql)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(FieldName(sql)) }
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
  /// The expression of a generated column of an index; `nil` of a column that is stored.
  package let expression: String?

  package init(
    _ name: FieldName, _ collation: Collation = .binary, _ affinity: Affinity = .blob,
    as expression: String? = nil
  ) {
    self.name = name
    self.collation = collation
    self.affinity = affinity
    self.expression = expression
  }
}

extension FieldValue {
  /// A value of its own for each class of values that a collation finds equal. ``RecordEncoding`` gives numbers
  /// that are equal the same bytes.
  package func canonical(_ collation: ComparedColumn.Collation) -> FieldValue {
    guard case .text(let text) = self else { return self }
    switch collation {
    case .binary: return self
    case .rtrim:
      var bytes = text.utf8[...]
      while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
      return .text(String(Substring(bytes)))
    case .nocase:
      // SQLite compares the bytes before the first zero, and then the lengths.
      var bytes = text.utf8.prefix { $0 != 0 }.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
      if bytes.count < text.utf8.count { bytes += [0] + Array(String(text.utf8.count).utf8) }
      return .text(String(decoding: bytes, as: UTF8.self))
    }
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
