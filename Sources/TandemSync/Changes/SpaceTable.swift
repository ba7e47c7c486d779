package import TandemRecords

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
  package var columns: [String]
  /// The columns of the primary key, in its order.
  package let keyColumns: [String]
  /// The unit of conflicts.
  package let granularity: ConflictGranularity
  /// True if SQLite chooses the keys, which are numbers: copies choose equal ones. All replicas declare the same.
  package var isNumbered: Bool
  /// The rules that span rows or fields; `nil` from a program that knows none. A file declares those of its table,
  /// and a space has those of all files.
  package var constraints: [SpaceConstraint]?
  /// Of a space: the rules that hold from when its records satisfy them.
  package var pending: [PendingConstraint] = []
  /// How the columns are defined; `nil` from a program that does not say it. A file declares how its own table defines
  /// them, and a space answers how the first copy of each column did.
  package var definitions: [SpaceColumn]?

  package init(
    name: String, columns: [String], keyColumns: [String], granularity: ConflictGranularity,
    isNumbered: Bool = false, constraints: [SpaceConstraint]? = nil
  ) {
    self.name = name
    self.columns = columns
    self.keyColumns = keyColumns
    self.granularity = granularity
    self.isNumbered = isNumbered
    self.constraints = constraints
  }
}

extension SpaceTable {
  /// This table for a program that knows constraints: it has a list of them, which may be empty.
  package var withConstraints: SpaceTable {
    var table = self
    table.constraints = constraints ?? []
    return table
  }

  /// This table for a program that may know neither constraints nor definitions.
  package var withoutConstraints: SpaceTable {
    var table = self
    (table.constraints, table.pending, table.definitions) = (nil, [], nil)
    return table
  }

  /// This table for a program that may not know ``isNumbered``.
  package var withoutNumbers: SpaceTable {
    var table = self
    table.isNumbered = false
    return table
  }
}

extension SpaceTable: Hashable {
  /// Returns true if two tables have the same names, byte by byte and in the same order, the same granularity, kind of
  /// keys, constraints and definitions.
  package static func == (first: SpaceTable, second: SpaceTable) -> Bool {
    first.granularity == second.granularity && first.isNumbered == second.isNumbered
      && first.names == second.names
      && first.constraints == second.constraints && first.pending == second.pending
      && first.definitions == second.definitions
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(names) }

  private var names: [[FieldName]] {
    [[name], columns, keyColumns].map { names in names.map { FieldName($0) } }
  }
}

/// How a table defines one of its columns, as far as copies may differ in the rows that they accept, and how a copy merges
/// it. A space checks nothing by it: copies show their users what differs.
package struct SpaceColumn: Hashable, Sendable {
  /// The name of the column.
  package let name: FieldName
  /// The declared type; empty if there is none.
  package let type: String
  /// True if the table is `STRICT`.
  package let isStrict: Bool
  /// True if the column is `NOT NULL`.
  package let isRequired: Bool
  /// The default, as SQL; `nil` if there is none.
  package let defaultText: String?
  /// The expressions of each `CHECK` that names the column, as SQL.
  package let checks: [String]
  /// The name of the policy for values that two copies changed; `nil` if there is none.
  package var policy: String?

  package init(
    _ name: FieldName, type: String, isStrict: Bool = false, isRequired: Bool = false,
    defaultText: String? = nil, checks: [String] = [], policy: String? = nil
  ) {
    self.name = name
    self.type = type
    self.isStrict = isStrict
    self.isRequired = isRequired
    self.defaultText = defaultText
    self.checks = checks
    self.policy = policy
  }
}

extension [SpaceTable] {
  /// These tables with all columns that a commit names. A file may send an edit of a column that it no
  /// longer has, or fields that it keeps aside, to a space that never knew the column or has lost it.
  ///
  /// - Complexity: O(*n*) in the number of fields of the commit.
  package func adding(columnsOf commit: SyncCommit) -> [SpaceTable] {
    var names: [FieldName: Set<FieldName>] = [:]
    for change in commit.changes {
      let fields: Record
      switch change.verb {
      case .insert(let record), .update(let record), .add(let record): fields = record
      case .delete: continue
      }
      for name in fields.layout.names {
        names[FieldName(change.key.table), default: []].insert(FieldName(name))
      }
    }
    return map { table in
      guard let named = names[FieldName(table.name)] else { return table }
      let more = named.subtracting((table.columns + table.keyColumns).map { FieldName($0) })
      var joined = table
      joined.columns += more.map(\.text).sorted()
      return joined
    }
  }
}
