internal import TandemDifferences
internal import TandemRecords

/// The merge of a record's fields: the versions, in which each merged field has the same value.
struct FieldMerge {
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
      return merging.sum(name, base: base, local: local, remote: remote)
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
