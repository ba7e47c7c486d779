internal import TandemRecords

/// The unit of conflicts in a table. All replicas of a space choose the same.
public enum ConflictGranularity: String, Hashable, Sendable, CaseIterable {
  /// Changes of different fields of a record do not conflict.
  case field
  /// All changes of a record conflict: for tables whose fields must fit each other.
  case record
}

/// The synchronized columns of one table, as a space and all its replicas agree on them.
package struct SpaceTable: Sendable {
  /// The name of the table.
  package let name: String
  /// The synchronized columns that are not part of the key.
  package let columns: [String]
  /// The columns of the primary key, in its order.
  package let keyColumns: [String]
  /// The unit of conflicts.
  package let granularity: ConflictGranularity

  package init(
    name: String, columns: [String], keyColumns: [String], granularity: ConflictGranularity
  ) {
    self.name = name
    self.columns = columns
    self.keyColumns = keyColumns
    self.granularity = granularity
  }
}

extension SpaceTable: Hashable {
  /// Returns true if two tables have the same names, byte by byte and in the same order, and the same
  /// granularity.
  package static func == (first: SpaceTable, second: SpaceTable) -> Bool {
    first.granularity == second.granularity && first.names == second.names
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(names) }

  private var names: [[FieldName]] {
    [[name], columns, keyColumns].map { names in names.map { FieldName($0) } }
  }
}
