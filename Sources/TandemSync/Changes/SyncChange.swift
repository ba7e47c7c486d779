package import TandemRecords

/// The identity of a record: the table's name and the values of the primary key, in the order of
/// ``SpaceTable/keyColumns``.
///
/// Two keys are equal if SQLite's are: the names have the same bytes, and the values are equal, so
/// `1` and `1.0` identify the same record.
package struct SyncKey: Sendable {
  /// The name of the table.
  package let table: String
  /// The values of the primary key. None is null.
  package let id: [FieldValue]

  package init(table: String, id: [FieldValue]) {
    self.table = table
    self.id = id
  }
}

extension SyncKey {
  /// The value of a key that is one integer; `nil` for other keys.
  package var number: Int64? {
    if id.count == 1, case .integer(let number) = id[0] { number } else { nil }
  }
}

extension SyncKey: Hashable {
  package static func == (first: SyncKey, second: SyncKey) -> Bool {
    UTF8Order.areEqual(first.table, second.table) && first.id == second.id
  }

  package func hash(into hasher: inout Hasher) {
    FieldName(table).hash(into: &hasher)
    hasher.combine(id)
  }
}

extension SyncKey: Comparable {
  /// The order of commits: by the bytes of the table's name, then by the values.
  package static func < (first: SyncKey, second: SyncKey) -> Bool {
    let order = UTF8Order.compare(first.table, second.table)
    return order != 0 ? order < 0 : first.id.lexicographicallyPrecedes(second.id)
  }
}

extension SyncKey: CustomStringConvertible {
  /// The table and the values: `note(7)`.
  package var description: String {
    "\(table)(\(id.map(\.description).joined(separator: ", ")))"
  }
}

/// The change of one record.
///
/// Equality is that of SQLite's values, as for ``TandemRecords/Record``.
package struct SyncChange: Hashable, Sendable {
  /// The kinds of change. The records hold the fields that are not part of the key.
  package enum Verb: Hashable, Sendable {
    /// A new record with all its fields. An absent field is null.
    case insert(Record)
    /// New values of the named fields of an existing record; other fields keep their values.
    case update(Record)
    /// Numbers that are added to fields of an existing record. All values are integers.
    ///
    /// The space adds them to the values that it has, so that no count is lost or made twice.
    case add(Record)
    /// The record no longer exists.
    case delete
  }

  /// The identity of the record.
  package let key: SyncKey
  /// The change.
  package let verb: Verb
  /// The values of the record afterwards in unique indexes (``SpaceConstraint/index(_:)``) that the change may change
  /// them in, by the SQL of the index, in canonical form (``TandemRecords/FieldValue/canonical(_:)``). None: the index
  /// does not have the record.
  package let claims: [String: [FieldValue]]
  /// True for the insertion of a record that an edit brings back after another replica has deleted it. Only records
  /// whose keys are numbers that SQLite chooses say so: any other insertion of a number that the space has given is
  /// another record.
  package let revives: Bool

  package init(
    key: SyncKey, verb: Verb, claims: [String: [FieldValue]] = [:], revives: Bool = false
  ) {
    self.key = key
    self.verb = verb
    self.claims = claims
    self.revives = revives
  }
}

/// The state of one record in a space.
package struct SyncRecordState: Hashable, Sendable {
  /// The identity of the record.
  package let key: SyncKey
  /// The version that changed the record last.
  package let version: Int
  /// The fields that are not part of the key; `nil` if the record has been deleted.
  package let fields: Record?

  package init(key: SyncKey, version: Int, fields: Record?) {
    self.key = key
    self.version = version
    self.fields = fields
  }
}
