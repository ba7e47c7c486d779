package import TandemDifferences
package import TandemRecords
internal import TandemSync

/// The rules by which conflicts in one table are resolved.
package struct TableMerging: Sendable {
  /// The rule for one field.
  package enum Field: Sendable {
    /// Integers to which each replica adds: the sum of all additions, exactly.
    case counter
    /// Another rule.
    case policy(MergePolicy<FieldValue>)

    fileprivate var policy: MergePolicy<FieldValue> {
      switch self {
      case .counter: .counter
      case .policy(let policy): policy
      }
    }
  }

  /// The rules for fields that both sides changed. A field without one is unresolved.
  package var fields: [FieldName: Field]
  /// The rule for records that are unresolved after all fields have been merged, and for those that
  /// one side deleted.
  package var record: MergePolicy<Record>

  /// By default, edits of different fields are merged, an edit beats a deletion, and all else stays
  /// open.
  package init(fields: [FieldName: Field] = [:], record: MergePolicy<Record> = .editBeatsDelete) {
    self.fields = fields
    self.record = record
  }

  /// True if a field is a counter.
  func isCounter(_ name: String) -> Bool {
    if case .counter? = fields[FieldName(name)] { true } else { false }
  }
}

/// The rules by which conflicts are resolved, by the names of tables.
package struct ReplicaMerging: Sendable {
  /// The rules of single tables.
  package var tables: [String: TableMerging]

  /// Rules for the given tables, and the usual ones for all others.
  package init(_ tables: [String: TableMerging] = [:]) { self.tables = tables }

  /// The rules of a table.
  func merging(of table: String) -> TableMerging { tables[table] ?? TableMerging() }
}

/// The merge of three versions of one record.
struct RowMerge {
  /// The merged record; `nil` if it is deleted.
  var result: Record?
  /// The conflict and its resolution, if both sides changed the same thing.
  var conflict: (MergeConflict<Record>, MergeResolution<Record>)?

  /// Merges three versions, of which absent ones are `nil`. Changes are changes of storage: `1` and
  /// `1.0` differ.
  ///
  /// An unresolved record takes the remote version.
  init(
    base: Record?, local: Record?, remote: Record?, _ granularity: SpaceTable.Granularity,
    _ merging: TableMerging
  ) {
    let counters = RowMerge.counters(base, local, remote, merging)
    self.init(result: nil)
    if local.hasSameStorage(as: remote), counters.isEmpty || base.hasSameStorage(as: local) {
      result = remote
    } else if base.hasSameStorage(as: remote) {
      result = local
    } else if base.hasSameStorage(as: local) {
      result = remote
    } else {
      merge(base, local, remote, granularity, merging)
    }
  }

  private init(result: Record?) { self.result = result }

  /// Merges versions of which no two have the same storage.
  private mutating func merge(
    _ base: Record?, _ local: Record?, _ remote: Record?,
    _ granularity: SpaceTable.Granularity, _ merging: TableMerging
  ) {
    let conflict: MergeConflict<Record>
    switch (base, local, remote) {
    case (let base?, let local?, let remote?):
      conflict = .editEdit(base: base, local: local, remote: remote)
    case (nil, let local?, let remote?): conflict = .addAdd(local: local, remote: remote)
    case (let base?, let local?, nil): conflict = .editDelete(base: base, local: local)
    case (let base?, nil, let remote?): conflict = .deleteEdit(base: base, remote: remote)
    // Without a base, one side alone has a record: both others are absent and agree.
    case (nil, nil, let other), (nil, let other, nil), (_?, nil, let other):
      result = other
      return
    }
    if let local, let remote, granularity == .field {
      let fields = FieldMerge(base: base, local: local, remote: remote, merging)
      if fields.isResolved {
        result = fields.result
        if fields.hasConflict { self.conflict = (conflict, .merged(fields.result)) }
        return
      }
    }
    let resolution = merging.record.resolution(of: conflict)
    switch resolution {
    case .local: result = local
    case .remote, .unresolved: result = remote
    case .merged(let record): result = record
    case .deleted: result = nil
    }
    self.conflict = (conflict, resolution)
  }

  /// The counters that both sides changed: equal sums of two additions are no agreement.
  private static func counters(
    _ base: Record?, _ local: Record?, _ remote: Record?, _ merging: TableMerging
  ) -> [String] {
    guard let base, let local, let remote, !merging.fields.isEmpty else { return [] }
    return local.layout.names.filter {
      merging.isCounter($0) && !base[$0].hasSameStorage(as: local[$0])
        && !base[$0].hasSameStorage(as: remote[$0])
    }
  }
}

/// The merge of a record's fields.
private struct FieldMerge {
  private(set) var result: Record
  /// False if a field stays in conflict.
  private(set) var isResolved = true
  /// True if both sides changed a field to different values.
  private(set) var hasConflict = false

  init(base: Record?, local: Record, remote: Record, _ merging: TableMerging) {
    result = remote
    var names = remote.layout.names
    names += local.layout.names.filter { remote.layout.offset(of: $0) == nil }
    for name in names {
      merge(name, base.map { $0[name] }, local[name], remote[name], merging)
    }
  }

  private mutating func merge(
    _ name: String, _ base: FieldValue?, _ local: FieldValue, _ remote: FieldValue,
    _ merging: TableMerging
  ) {
    let field = FieldName(name)
    if let base, base.hasSameStorage(as: remote) { return set(field, local) }
    if let base, base.hasSameStorage(as: local) { return }
    let isCounter = merging.isCounter(name)
    if local.hasSameStorage(as: remote), !isCounter || base == nil { return }
    hasConflict = true
    if isCounter, let base {
      // Not by `resolution(base:local:remote:)`, which takes equal sums for an agreement.
      let conflict = MergeConflict.editEdit(base: base, local: local, remote: remote)
      guard case .merged(let sum) = MergePolicy<FieldValue>.counter.resolution(of: conflict) else {
        isResolved = false
        return
      }
      return set(field, sum)
    }
    let policy = merging.fields[field]?.policy ?? .unresolved
    let versions = [base, local, remote].map { $0.flatMap { $0.isNull ? nil : $0 } }
    switch policy.resolution(base: versions[0], local: versions[1], remote: versions[2]) {
    case .local: set(field, local)
    case .remote: break
    case .merged(let value): set(field, value)
    case .deleted: set(field, .null)
    case .unresolved: isResolved = false
    }
  }

  private mutating func set(_ name: FieldName, _ value: FieldValue) {
    result[field: name] = value.isNull ? nil : value
  }
}

extension Optional where Wrapped == Record {
  /// True if both are absent, or stored identically.
  func hasSameStorage(as other: Record?) -> Bool {
    switch (self, other) {
    case (let one?, let other?): one.hasSameStorage(as: other)
    case (nil, nil): true
    default: false
    }
  }
}
