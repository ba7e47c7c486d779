public import TandemDifferences
public import TandemRecords
internal import TandemSync

/// The rules by which conflicts in one table are resolved.
public struct TableMerging: Sendable {
  /// The rule for one field.
  public enum Field: Sendable {
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

/// The merge of three versions of one record.
struct RowMerge {
  /// The merged record; `nil` if it is deleted.
  var result: Record?
  /// The conflict, if both sides changed the same thing.
  var conflict: Conflict?

  /// A conflict and its resolution.
  struct Conflict {
    let versions: MergeConflict<Record>
    var resolution: MergeResolution<Record>
    /// The fields in conflict; `nil` if it is the record as a whole.
    let fields: [String]?

    init(
      _ versions: MergeConflict<Record>, _ resolution: MergeResolution<Record>,
      _ fields: [String]? = nil
    ) {
      self.versions = versions
      self.resolution = resolution
      self.fields = fields
    }
  }

  /// Merges three versions, of which absent ones are `nil`. Changes are changes of storage: `1` and
  /// `1.0` differ.
  ///
  /// With the granularity `field`, all fields that can be merged are. The rule for the record sees
  /// them with the same value on both sides, so that it decides only on the others. What stays
  /// unresolved takes the remote version.
  init(
    base: Record?, local: Record?, remote: Record?, _ granularity: ConflictGranularity,
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
    _ granularity: ConflictGranularity, _ merging: TableMerging
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
    var reduced = conflict
    if let local, let remote, granularity == .field {
      let fields = FieldMerge(base: base, local: local, remote: remote, merging)
      guard !fields.unresolved.isEmpty else {
        result = fields.remote
        if fields.hasConflict { self.conflict = Conflict(conflict, .merged(fields.remote)) }
        return
      }
      reduced =
        fields.base.map { .editEdit(base: $0, local: fields.local, remote: fields.remote) }
        ?? .addAdd(local: fields.local, remote: fields.remote)
      self.conflict = Conflict(conflict, .unresolved, fields.unresolved)
    } else {
      self.conflict = Conflict(conflict, .unresolved)
    }
    let resolution = merging.record.resolution(of: reduced)
    switch resolution {
    case .local: result = reduced.local
    case .remote, .unresolved: result = reduced.remote
    case .merged(let record): result = record
    case .deleted: result = nil
    }
    self.conflict?.resolution = resolution
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

/// The merge of a record's fields: the versions, in which each merged field has the same value.
private struct FieldMerge {
  private(set) var base: Record?
  private(set) var local: Record
  private(set) var remote: Record
  /// The fields that stay in conflict.
  private(set) var unresolved: [String] = []
  /// True if both sides changed a field to different values.
  private(set) var hasConflict = false
  /// The fields of units that both sides changed.
  private var contested: Set<FieldName> = []

  init(base: Record?, local: Record, remote: Record, _ merging: TableMerging) {
    self.base = base
    self.local = local
    self.remote = remote
    if base.map({ $0.layout !== remote.layout }) ?? false || local.layout !== remote.layout {
      // Versions of copies that lack columns get one layout.
      var names = remote.layout.names
      names += local.layout.names.filter { remote.layout.offset(of: $0) == nil }
      let layout = RecordLayout(uniqueNames: names)
      func laidOut(_ record: Record) -> Record {
        Record(uncheckedLayout: layout, values: names.map { record[$0] })
      }
      self.base = base.map(laidOut)
      (self.local, self.remote) = (laidOut(local), laidOut(remote))
    }
    contested = FieldMerge.contested(base, local, remote, merging)
    mergeFields(merging)
  }

  /// The fields of units of which both sides changed fields, and not to the same values. Counters are added up all the
  /// same: the table decides whether it accepts the sum.
  private static func contested(
    _ base: Record?, _ local: Record, _ remote: Record, _ merging: TableMerging
  ) -> Set<FieldName> {
    var contested: Set<FieldName> = []
    for unit in merging.units {
      let names = unit.filter { !merging.isCounter($0.text) }
      func differ(_ one: Record?, _ other: Record) -> Bool {
        names.contains { !(one?[$0.text].hasSameStorage(as: other[$0.text]) ?? false) }
      }
      if differ(base, local), differ(base, remote), differ(local, remote) {
        contested.formUnion(names)
      }
    }
    return contested
  }

  private mutating func mergeFields(_ merging: TableMerging) {
    var merged: [(offset: Int, value: FieldValue)] = []
    for offset in remote.values.indices {
      let values = (base?.values[offset], local.values[offset], remote.values[offset])
      // Most fields are the same in all versions.
      if values.1.hasSameStorage(as: values.2), values.0?.hasSameStorage(as: values.2) ?? true {
        continue
      }
      let name = remote.layout.names[offset]
      if let value = self.merged(name, values.0, values.1, values.2, merging) {
        merged.append((offset, value))
      } else {
        unresolved.append(name)
      }
    }
    remote = remote.setting(merged)
    // The other versions matter only to the rule for the record.
    guard !unresolved.isEmpty else { return }
    local = local.setting(merged)
    base = base?.setting(merged)
  }

  /// The value of a field that merges; `nil` if it stays in conflict.
  private mutating func merged(
    _ name: String, _ base: FieldValue?, _ local: FieldValue, _ remote: FieldValue,
    _ merging: TableMerging
  ) -> FieldValue? {
    if contested.contains(FieldName(name)) {
      if local.hasSameStorage(as: remote) { return remote }
      hasConflict = true
      return nil
    }
    if let base, base.hasSameStorage(as: remote) { return local }
    if let base, base.hasSameStorage(as: local) { return remote }
    let isCounter = merging.isCounter(name)
    if local.hasSameStorage(as: remote), !isCounter || base == nil { return remote }
    hasConflict = true
    if isCounter, let base {
      // Not by `resolution(base:local:remote:)`, which takes equal sums for an agreement.
      let conflict = MergeConflict.editEdit(base: base, local: local, remote: remote)
      guard case .merged(let sum) = MergePolicy<FieldValue>.counter.resolution(of: conflict) else {
        return nil
      }
      return sum
    }
    let policy = merging.fields[FieldName(name)]?.policy ?? .unresolved
    let versions = [base, local, remote].map { $0.flatMap { $0.isNull ? nil : $0 } }
    switch policy.resolution(base: versions[0], local: versions[1], remote: versions[2]) {
    case .local: return local
    case .remote: return remote
    case .merged(let value): return value
    case .deleted: return .null
    case .unresolved: return nil
    }
  }

}

extension Record {
  /// The record with other values at some offsets.
  fileprivate func setting(_ changes: [(offset: Int, value: FieldValue)]) -> Record {
    var values = values
    for (offset, value) in changes { values[offset] = value }
    return Record(uncheckedLayout: layout, values: values)
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
