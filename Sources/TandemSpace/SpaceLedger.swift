package import TandemRecords
package import TandemSync

/// The state of one record in a space, with what the rules for conflicts need.
package struct SpaceRecord: Hashable, Sendable {
  /// The fields that are not null; `nil` if the record has been deleted.
  package var fields: Record?
  /// The version that changed the record last.
  package var version: Int
  /// The version that created the record, the last time if it was deleted and created again.
  package var createdVersion: Int
  /// The versions of the fields that were changed after the record was created and after the
  /// horizon.
  package var fieldVersions: [FieldName: Int]
  /// The values of a live record in unique indexes, which commits have stated, by the SQL of the index. No bytes: the
  /// index does not have the record.
  package var claims: [String: [UInt8]] = [:]

  package init(
    fields: Record?, version: Int, createdVersion: Int, fieldVersions: [FieldName: Int] = [:]
  ) {
    self.fields = fields
    self.version = version
    self.createdVersion = createdVersion
    self.fieldVersions = fieldVersions
  }

  /// The version that changed a field last.
  package func version(of field: FieldName) -> Int { fieldVersions[field] ?? createdVersion }
}

/// The rules by which a space accepts commits. They are pure: the caller reads and writes records.
///
/// A commit is accepted as a whole or not at all. A change conflicts in these cases, where *base* is
/// the version of the commit's base:
///
/// | change | conflict |
/// |---|---|
/// | insert | the record lives with other fields (`exists`) |
/// | insert of a number that SQLite chose | the space gave it, or a higher one, unless it revives (`taken`) |
/// | update, add, delete | the record does not live (`missing`), or was created after the base (`recreated`) |
/// | update | a field that changed after the base has another value (`changed`) |
/// | update, add | a field of the same unit changed after the base (`changed`), even to the same value |
/// | add | a field that changed after the base cannot take the sum (`changed`) |
/// | delete | a field changed after the base (`changed`) |
/// | update, add, delete in a table with the granularity `record` | the record changed after the base (`changed`) |
///
/// A change of a column of a unique index that the space cannot compute has to state the value of the record in it
/// (`unclaimed`). Other changes leave that value as it is.
///
/// The fields of a ``TandemSync/SpaceConstraint/together(_:)`` are a unit. Units that share a field are one. A unit
/// of one field matters for an add only: two replicas that add to a field reach sums that neither has tried.
///
/// A change without an effect, such as an insert of a record that lives with equal fields, leaves
/// the record at its version. Fields are compared by their storage, so `1` and `1.0` differ.
package struct SpaceLedger {
  /// The result for a commit.
  package enum Verdict {
    /// The commit is accepted with these changes of records.
    case accepted([Edit])
    /// Changes that conflict.
    case conflict([SyncObjection])
    /// Changes that the space can never accept.
    case refused([SyncObjection])
  }

  /// A record before and after a commit.
  package struct Edit: Hashable, Sendable {
    package let key: SyncKey
    /// The state before; `nil` if the space has never had the record, or has forgotten it.
    package let old: SpaceRecord?
    /// The state after.
    package let new: SpaceRecord
    /// False if the commit has only stated a value of the record, which keeps its version.
    var changesRecord: Bool { new.version != old?.version }
  }

  /// The columns of a table.
  private final class Columns {
    let table: SpaceTable
    /// The layout of the records in which no field is null.
    let layout: RecordLayout
    /// The unique indexes that commits state values of, and whether the rule holds.
    let indexes: [(index: SpaceIndex, holds: Bool)]
    private let offsets: [FieldName: Int]
    /// The unit of each field that is in one.
    private let units: [FieldName: Set<FieldName>]
    /// The layout of the last change, which most changes share with the one before.
    private var lastLayout: RecordLayout
    private var lastOffsets: [Int?]

    init(_ table: SpaceTable) {
      self.table = table
      offsets = Dictionary(table.columns.enumerated().map { (FieldName($1), $0) }) { first, _ in
        first
      }
      layout = RecordLayout(uniqueNames: table.columns)
      units = Columns.units(table)
      indexes =
        (table.constraints ?? []).compactMap(\.index).map { ($0, true) }
        + table.pending.compactMap(\.constraint.index).map { ($0, false) }
      lastLayout = layout
      lastOffsets = Array(table.columns.indices)
    }

    /// Columns of the key never change, so they are left out.
    private static func units(_ table: SpaceTable) -> [FieldName: Set<FieldName>] {
      var units: [FieldName: Set<FieldName>] = [:]
      let keys = table.keyColumns.map { FieldName($0) }
      for case .together(let names) in table.constraints ?? [] {
        let unit = Set(names).subtracting(keys).reduce(into: Set<FieldName>()) { unit, name in
          unit.formUnion(units[name] ?? [name])
        }
        for name in unit { units[name] = unit }
      }
      return units
    }

    /// True if a field of the same unit as this one changed after the base.
    ///
    /// - Parameter minCount: The number of fields from which on a unit is looked at.
    func unit(
      of name: FieldName, changedIn record: SpaceRecord, after base: Int, minCount: Int
    ) -> Bool {
      guard let unit = units[name], unit.count >= minCount else { return false }
      return unit.contains { record.version(of: $0) > base }
    }

    /// The values in unique indexes after a change that makes or keeps the record. An index whose value the change
    /// does not state, and should, has none. While an index is pending, any change may state its value, if the replica
    /// has seen the columns as they are.
    func claims(
      of old: SpaceRecord?, after change: SyncChange, base: Int
    ) -> [String: [UInt8]] {
      var claims: [String: [UInt8]] = [:]
      for (index, holds) in indexes {
        let isStated =
          !holds && change.claims[index.sql] != nil
          && index.columns.allSatisfy { old?.version(of: $0.name) ?? 0 <= base }
        guard change.touches(index) || isStated else {
          claims[index.sql] = old?.claims[index.sql]
          continue
        }
        claims[index.sql] = change.claims[index.sql].map { values in
          var bytes: [UInt8] = []
          if !values.contains(where: \.isNull), !values.isEmpty {
            RecordEncoding.append(id: values, to: &bytes)
          }
          return bytes
        }
      }
      return claims
    }

    /// True if a change lacks the value of an index that it may change.
    func isUnclaimed(_ change: SyncChange) -> Bool {
      indexes.contains { index, holds in
        holds && change.touches(index) && change.claims[index.sql] == nil
      }
    }

    /// The column of each field; `nil` for a field without one.
    func offsets(of other: RecordLayout) -> [Int?] {
      if other !== lastLayout {
        lastOffsets = other.names.map { offsets[FieldName($0)] }
        lastLayout = other
      }
      return lastOffsets
    }
  }

  private let columns: [FieldName: Columns]
  private let horizon: Int
  private let limits: SyncLimits
  private let numbers: [FieldName: Int64]

  /// The rules of a space with these tables, which has forgotten the changes up to the horizon.
  ///
  /// - Parameter numbers: The highest number ever given in each table whose keys are numbers that SQLite chooses.
  package init(
    tables: [SpaceTable], horizon: Int, limits: SyncLimits, numbers: [FieldName: Int64] = [:]
  ) {
    columns = Dictionary(
      tables.map { (FieldName($0.name), Columns($0)) }, uniquingKeysWith: { first, _ in first })
    self.horizon = horizon
    self.limits = limits
    self.numbers = numbers
  }
}

// MARK: - Judging

extension SpaceLedger {
  /// Judges the changes of a commit, which would become the given version.
  ///
  /// - Parameter record: Returns the state of a record; called once per key.
  package func verdict(
    on commit: SyncCommit, as version: Int, record: (SyncKey) throws -> SpaceRecord?
  ) rethrows -> Verdict {
    var states = TouchedRecords(maxCount: commit.changes.count)
    var conflicts: [SyncObjection] = []
    var refusals: [SyncObjection] = []
    var last: Columns?
    for change in commit.changes {
      // The changes of one table mostly follow each other.
      if last.map({ UTF8Order.areEqual($0.table.name, change.key.table) }) != true {
        last = columns[FieldName(change.key.table)]
      }
      guard let columns = last else {
        refusals.append(SyncObjection(key: change.key, reason: .unknownTable))
        continue
      }
      if let reason = flaw(of: change, in: columns) {
        refusals.append(SyncObjection(key: change.key, reason: reason))
        continue
      }
      let offset = try states.offset(of: change.key, record)
      if states.repeats(change, at: offset) {
        refusals.append(SyncObjection(key: change.key, reason: .repeated))
        continue
      }
      switch objection(to: change, in: columns, states[offset].old, base: commit.base.version) {
      case .conflict(let reason): conflicts.append(SyncObjection(key: change.key, reason: reason))
      case .refusal(let reason): refusals.append(SyncObjection(key: change.key, reason: reason))
      case nil:
        states[offset].new = applying(
          change, in: columns, to: states[offset].new, base: commit.base.version, as: version)
      }
    }
    if !refusals.isEmpty { return .refused(refusals) }
    if !conflicts.isEmpty { return .conflict(conflicts) }
    let edits = states.edits
    let tooLarge = edits.filter { byteCount($0) > limits.maxRecordByteCount }
    guard tooLarge.isEmpty else {
      return .refused(tooLarge.map { SyncObjection(key: $0.key, reason: .tooLarge) })
    }
    return .accepted(edits)
  }

  /// The length of a record in the pages that have it, with room for each later version; of a short
  /// record an upper bound.
  private func byteCount(_ edit: Edit) -> Int {
    guard let fields = edit.new.fields else { return 0 }
    // Most records are so short that no encoding of their values is too long.
    let bound = SyncRecordState.maxByteCount(key: edit.key, fields: fields)
    guard bound > limits.maxRecordByteCount else { return bound }
    var json = JSONWriter()
    json.write(
      SyncRecordState(key: edit.key, version: SpaceRevision.maxVersion, fields: fields))
    return json.bytes.count
  }

  /// The reason why no space with these tables can accept a change.
  private func flaw(
    of change: SyncChange, in columns: Columns
  ) -> SyncObjection.Reason? {
    let id = change.key.id
    guard id.count == columns.table.keyColumns.count, !id.contains(where: \.isNull) else {
      return .invalidKey
    }
    guard RecordEncoding.byteCount(of: change.key) <= SyncLimits.maxKeyByteCount else {
      return .invalidKey
    }
    if columns.table.isNumbered {
      // SQLite gives no number after the highest one that it knows.
      guard let number = change.key.number, number < 1 << 62 else { return .invalidKey }
    }
    guard let fields = change.fields else { return nil }
    guard columns.offsets(of: fields.layout).allSatisfy({ $0 != nil }) else {
      return .unknownColumn
    }
    if case .add = change.verb, !fields.values.allSatisfy(\.isInteger) { return .notAddable }
    return nil
  }

  private enum Objection {
    case conflict(SyncObjection.Reason)
    case refusal(SyncObjection.Reason)
  }

  /// The objection to a change of a record in a state.
  private func objection(
    to change: SyncChange, in columns: Columns, _ old: SpaceRecord?, base: Int
  ) -> Objection? {
    let live = old?.fields
    if case .insert(let fields) = change.verb {
      if columns.table.isNumbered, !change.revives, let number = change.key.number,
        let last = numbers[FieldName(columns.table.name)], number <= last
      {
        return .conflict(.taken)
      }
      if let live { return live.hasSameStorage(as: fields) ? nil : .conflict(.exists) }
      return columns.isUnclaimed(change) ? .refusal(.unclaimed) : nil
    }
    guard let old, let live else { return .conflict(.missing) }
    guard old.createdVersion <= base else { return .conflict(.recreated) }
    let isWhole = columns.table.granularity == .record
    if old.version > base, isWhole { return .conflict(.changed) }
    switch change.verb {
    case .insert: preconditionFailure("an insert was judged above")
    case .delete: return old.version > base ? .conflict(.changed) : nil
    case .update(let fields):
      let isChanged = zip(fields.layout.names, fields.values).contains { text, value in
        let name = FieldName(text)
        return columns.unit(of: name, changedIn: old, after: base, minCount: 2)
          || old.version(of: name) > base && !live[text].hasSameStorage(as: value)
      }
      if isChanged { return .conflict(.changed) }
      return columns.isUnclaimed(change) ? .refusal(.unclaimed) : nil
    case .add(let fields):
      let isChanged = fields.layout.names.contains {
        columns.unit(of: FieldName($0), changedIn: old, after: base, minCount: 1)
      }
      if isChanged { return .conflict(.changed) }
      for (name, addend) in zip(fields.layout.names, fields.values)
      where live[name].adding(addend) == nil {
        // If the field changed after the base, the replica has not seen the value that is there.
        return old.version(of: FieldName(name)) > base
          ? .conflict(.changed) : .refusal(.notAddable)
      }
      return columns.isUnclaimed(change) ? .refusal(.unclaimed) : nil
    }
  }
}

// MARK: - Applying

extension SpaceLedger {
  /// The state of a record after a change that nothing objects to.
  private func applying(
    _ change: SyncChange, in columns: Columns, to old: SpaceRecord?, base: Int, as version: Int
  ) -> SpaceRecord {
    switch change.verb {
    case .insert(let fields):
      if let old, old.fields != nil { return old }
      var new = SpaceRecord(
        fields: record(columns, [fields]), version: version, createdVersion: version)
      new.claims = columns.claims(of: nil, after: change, base: base)
      return new
    case .delete:
      return SpaceRecord(
        fields: nil, version: version, createdVersion: old?.createdVersion ?? version)
    case .update(let fields):
      return changing(old, columns, fields, by: change, base: base, as: version)
    case .add(let addends):
      let live = old?.fields
      let sums = zip(addends.layout.names, addends.values).map { name, addend in
        live?[name].adding(addend) ?? .null
      }
      return changing(
        old, columns, Record(uncheckedLayout: addends.layout, values: sums), by: change,
        base: base, as: version)
    }
  }

  /// The state of a live record after some of its fields got new values.
  private func changing(
    _ old: SpaceRecord?, _ columns: Columns, _ fields: Record, by change: SyncChange,
    base: Int, as version: Int
  ) -> SpaceRecord {
    guard var old, let live = old.fields else {
      preconditionFailure("a change of a record that does not live is a conflict")
    }
    if !columns.indexes.isEmpty {
      old.claims = columns.claims(of: old, after: change, base: base)
    }
    var new = old
    new.fieldVersions = new.fieldVersions.filter { $0.value > horizon }
    for (name, value) in zip(fields.layout.names, fields.values)
    where !live[name].hasSameStorage(as: value) {
      new.fieldVersions[FieldName(name)] = version
      new.version = version
    }
    guard new.version == version else { return old }
    new.fields = record(columns, [live, fields])
    return new
  }

  /// The fields of several records, later ones first, in the order of the table's columns and without
  /// those that are null.
  private func record(_ columns: Columns, _ parts: [Record]) -> Record {
    var values: [FieldValue]
    var parts = parts[...]
    if let first = parts.first, first.layout.hasSameOrder(as: columns.layout) {
      values = first.values
      parts.removeFirst()
    } else {
      values = [FieldValue](repeating: .null, count: columns.table.columns.count)
    }
    for part in parts {
      for (offset, value) in zip(columns.offsets(of: part.layout), part.values) {
        if let offset { values[offset] = value }
      }
    }
    guard values.contains(where: \.isNull) else {
      return Record(uncheckedLayout: columns.layout, values: values)
    }
    let present = values.indices.filter { !values[$0].isNull }
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: present.map { columns.table.columns[$0] }),
      values: present.map { values[$0] })
  }
}

extension SyncChange {
  /// The record of the change; `nil` for a deletion.
  var fields: Record? {
    switch verb {
    case .insert(let fields), .update(let fields), .add(let fields): fields
    case .delete: nil
    }
  }

  /// True if the change may change the value of a live record in an index.
  fileprivate func touches(_ index: SpaceIndex) -> Bool {
    switch verb {
    case .insert: true
    case .update(let fields), .add(let fields): index.depends(on: fields.layout.names)
    case .delete: false
    }
  }
}

extension FieldValue {
  fileprivate var isInteger: Bool {
    if case .integer = self { true } else { false }
  }

  /// The sum of two integers; `nil` if one is no integer, or the sum is out of range.
  fileprivate func adding(_ addend: FieldValue) -> FieldValue? {
    guard case .integer(let first) = self, case .integer(let second) = addend else { return nil }
    let (sum, overflow) = first.addingReportingOverflow(second)
    return overflow ? nil : .integer(sum)
  }
}
