public import TandemDifferences
public import TandemRecords

/// The rules by which conflicts in one table are resolved.
public struct TableMerging: Sendable {
  /// The rule for one field.
  public enum Field: Sendable {
    /// Integers to which each replica adds: the sum of all additions, exactly.
    case counter
    /// Another rule.
    case policy(MergePolicy<FieldValue>)

    var policy: MergePolicy<FieldValue> {
      switch self {
      case .counter: .counter
      case .policy(let policy): policy
      }
    }
  }

  /// The rules for fields that both sides changed. A field without one is unresolved.
  public var fields: [FieldName: Field]
  /// The rule for records that are unresolved after all fields have been merged, and for those that
  /// one side deleted.
  public var record: MergePolicy<Record>
  /// The fields that belong together, by a rule of the table: each set is merged as one.
  var units: [Set<FieldName>] = []

  /// By default, edits of different fields are merged, an edit beats a deletion, and all else stays
  /// open.
  public init(fields: [FieldName: Field] = [:], record: MergePolicy<Record> = .editBeatsDelete) {
    self.fields = fields
    self.record = record
  }

  /// True if a field is a counter.
  func isCounter(_ name: String) -> Bool {
    if case .counter? = fields[FieldName(name)] { true } else { false }
  }

  /// The sum of two additions; `nil` if the field is no counter, or a value is no integer. Additions that make the same
  /// number are two: `resolution(base:local:remote:)` would take them for an agreement.
  func sum(
    _ name: String, base: FieldValue, local: FieldValue, remote: FieldValue
  ) -> FieldValue? {
    let conflict = MergeConflict.editEdit(base: base, local: local, remote: remote)
    guard isCounter(name),
      case .merged(let sum) = MergePolicy<FieldValue>.counter.resolution(of: conflict)
    else { return nil }
    return sum
  }
}

/// The rules by which conflicts are resolved, by the names of tables.
public struct ReplicaMerging: Sendable {
  /// The rules of single tables.
  public var tables: [String: TableMerging]

  /// Rules for the given tables, and the usual ones for all others.
  public init(_ tables: [String: TableMerging] = [:]) { self.tables = tables }

  /// The rules of a table.
  func merging(of table: String) -> TableMerging { tables[table] ?? TableMerging() }
}
