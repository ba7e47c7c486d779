internal import TandemRecords
internal import TandemSync

/// The changes of one record since its base.
struct RowDifference {
  /// The verbs that make the base the local version; two if some fields are set and others are
  /// counted.
  private(set) var verbs: [SyncChange.Verb] = []

  init(base: Record?, local: Record?, _ merging: TableMerging) {
    switch (base, local) {
    case (nil, nil): return
    case (nil, let local?): verbs = [.insert(local.withoutNulls)]
    case (_?, nil): verbs = [.delete]
    case (let base?, let local?): addUpdates(base, local, merging)
    }
  }

  private mutating func addUpdates(_ base: Record, _ local: Record, _ merging: TableMerging) {
    var updates: [(name: String, value: FieldValue)] = []
    var additions: [(name: String, value: FieldValue)] = []
    var names: [String] = []
    if base.layout === local.layout {
      names = local.values.indices
        .filter { !base.values[$0].hasSameStorage(as: local.values[$0]) }
        .map { local.layout.names[$0] }
    } else {
      names = local.layout.names
      names += base.layout.names.filter { local.layout.offset(of: $0) == nil }
    }
    for name in names where !base[name].hasSameStorage(as: local[name]) {
      if merging.isCounter(name), case .integer(let old) = base[name],
        case .integer(let new) = local[name]
      {
        let (addition, overflow) = new.subtractingReportingOverflow(old)
        if !overflow {
          additions.append((name, .integer(addition)))
          continue
        }
      }
      updates.append((name, local[name]))
    }
    if !updates.isEmpty { verbs.append(.update(Record(uniqueFields: updates))) }
    if !additions.isEmpty { verbs.append(.add(Record(uniqueFields: additions))) }
  }
}

extension Record {
  /// A record of fields whose names are known to be unique.
  fileprivate init(uniqueFields fields: [(name: String, value: FieldValue)]) {
    self.init(
      uncheckedLayout: RecordLayout(uniqueNames: fields.map(\.name)), values: fields.map(\.value))
  }

  /// The record without the fields that are null, which count as absent.
  var withoutNulls: Record {
    guard values.contains(where: \.isNull) else { return self }
    let kept = values.indices.filter { !values[$0].isNull }
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: kept.map { layout.names[$0] }),
      values: kept.map { values[$0] })
  }

  /// The record after a change by one verb of an update.
  func applying(_ verb: SyncChange.Verb) -> Record {
    var record = self
    switch verb {
    case .insert, .delete: break
    case .update(let fields):
      for (name, value) in zip(fields.layout.names, fields.values) {
        record[field: FieldName(name)] = value.isNull ? nil : value
      }
    case .add(let fields):
      for (name, value) in zip(fields.layout.names, fields.values) {
        guard case .integer(let old) = record[name], case .integer(let addition) = value else {
          continue
        }
        record[field: FieldName(name)] = .integer(old &+ addition)
      }
    }
    return record
  }
}
