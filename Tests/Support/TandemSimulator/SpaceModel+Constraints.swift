import TandemRecords
import TandemSQLite
import TandemSync

/// A constraint and the table that declares it.
struct TableConstraint: Hashable {
  let table: String
  let constraint: SpaceConstraint

  fileprivate var isReference: Bool { if case .reference = constraint { true } else { false } }
}

/// The rules that span records, in a naive form: each compares all records with each other.
extension SpaceModel {
  /// The live records.
  typealias Records = [SyncKey: State]

  private var records: Records {
    states.compactMapValues(\.last).filter { $0.value.fields != nil }
  }

  /// Takes note of the constraints that a replica has declared.
  mutating func declareConstraints(of tables: [SpaceTable]) {
    for table in tables {
      for constraint in table.constraints ?? [] {
        let entry = TableConstraint(table: table.name, constraint: constraint)
        if !constraints.contains(entry) { pending.insert(entry) }
      }
    }
    tryPending()
  }

  /// Lets the pending constraints hold that the records satisfy.
  mutating func tryPending() {
    let records = records
    for entry in pending where isSatisfied(entry, by: records) {
      pending.remove(entry)
      constraints.insert(entry)
    }
  }

  private func isSatisfied(_ entry: TableConstraint, by records: Records) -> Bool {
    records.allSatisfy { key, state in
      if case .index(let index) = entry.constraint, key.table == entry.table,
        state.claims[index.sql] == nil
      {
        return false
      }
      let own = value(entry, key, records)
      guard own != nil else { return true }
      return switch entry.constraint {
      case .together: true
      case .unique, .index:
        !records.keys.contains { $0 != key && areEqual(value(entry, $0, records), own, entry) }
      case .reference:
        records.keys.contains { areEqual(offer(entry, $0, records), own, entry) }
      }
    }
  }

  // MARK: - Units

  /// The fields that conflict as one with a field; empty if it is in no unit.
  func unit(of name: String, _ table: String) -> Set<String> {
    let units = constraints.compactMap { entry -> Set<String>? in
      guard entry.table == table, case .together(let names) = entry.constraint else { return nil }
      return Set(names.map(\.text)).subtracting(keyColumns[table] ?? [])
    }
    guard units.contains(where: { $0.contains(name) }) else { return [] }
    var unit: Set<String> = [name]
    while let other = units.first(where: { !$0.isDisjoint(with: unit) && !$0.isSubset(of: unit) }) {
      unit.formUnion(other)
    }
    return unit
  }

  // MARK: - Values of indexes

  /// The unique indexes that a change may change the value of a record in, among those that hold or are pending.
  private func touched(
    by change: SyncChange, _ constraints: Set<TableConstraint>
  ) -> [SpaceIndex] {
    constraints.compactMap { entry -> SpaceIndex? in
      guard case .index(let index) = entry.constraint, entry.table == change.key.table else {
        return nil
      }
      return switch change.verb {
      case .insert: index
      case .update(let fields), .add(let fields):
        index.columns.contains { fields.layout.names.contains($0.name.text) } ? index : nil
      case .delete: nil
      }
    }
  }

  /// True if a change lacks the value of an index that it may change.
  func isUnclaimed(_ change: SyncChange) -> Bool {
    touched(by: change, constraints).contains { change.claims[$0.sql] == nil }
  }

  /// The values of a record in unique indexes after a change.
  func claims(after change: SyncChange, base: Int) -> [String: [FieldValue]] {
    var claims = states[change.key]?.last?.claims ?? [:]
    let later = states[change.key]?.filter { $0.version > base } ?? []
    // While an index is pending, any change may state its value.
    for case .index(let index) in pending.filter({ $0.table == change.key.table }).map(\.constraint)
    where change.verb != .delete && change.claims[index.sql] != nil {
      let seen = states[change.key]?.last { $0.version <= base }
      let isSeen = later.allSatisfy { state in
        index.columns.allSatisfy { column in
          (state.fields?[column.name.text] ?? .null).hasSameStorage(
            as: seen?.fields?[column.name.text] ?? .null)
        }
      }
      if isSeen { claims[index.sql] = change.claims[index.sql] }
    }
    if case .insert = change.verb { claims = [:] }
    for index in touched(by: change, constraints.union(pending)) {
      claims[index.sql] = change.claims[index.sql]
    }
    return claims
  }

  // MARK: - Commits

  private struct Violation {
    let key: SyncKey
    let reason: SyncObjection.Reason
    let isUnseen: Bool
  }

  /// The verdict of the constraints on a commit to which nothing else objects.
  func verdictOfConstraints(on commit: SyncCommit) -> Verdict {
    let base = commit.base.version
    var found = violations(of: commit.changes, base)
    let unseen = found.filter(\.isUnseen)
    guard unseen.isEmpty else { return .conflict(objections(unseen, commit)) }
    var all: [Violation] = []
    var rest = commit.changes
    var isLast = false
    while true {
      all += found
      rest.removeAll { change in found.contains { $0.key == change.key } }
      found = violations(of: rest, base).filter { !$0.isUnseen }
      if found.isEmpty, !isLast {
        isLast = true
        found = rivals(in: rest, base)
      }
      if found.isEmpty { break }
    }
    return all.isEmpty ? .accepted : .refused(objections(all, commit))
  }

  /// The changes that take a unique value that an earlier one takes.
  private func rivals(in changes: [SyncChange], _ base: Int) -> [Violation] {
    let (keys, next) = made(by: changes, base)
    let (old, new) = (records, next.records)
    return keys.indices.filter { place in
      constraints.contains { entry in
        guard !entry.isReference else { return false }
        let own = value(entry, keys[place], new)
        guard !areEqual(value(entry, keys[place], old), own, entry) else { return false }
        return keys[..<place].contains { areEqual(value(entry, $0, new), own, entry) }
      }
    }.map { Violation(key: keys[$0], reason: .taken, isUnseen: false) }
  }

  /// The records that changes make or remove, and the model afterwards.
  private func made(
    by changes: [SyncChange], _ base: Int
  ) -> (keys: [SyncKey], model: SpaceModel) {
    let commit = SyncCommit(
      replica: SyncToken(bits: 0), sequence: 1, id: SyncToken(bits: 0),
      base: SpaceRevision(epoch: SyncToken(bits: 0), version: base, mark: 0), changes: changes)
    var next = self
    return (next.apply(commit, as: .max), next)
  }

  private func objections(_ violations: [Violation], _ commit: SyncCommit) -> [SyncObjection] {
    var keys: [SyncKey] = []
    for change in commit.changes where !keys.contains(change.key) { keys.append(change.key) }
    return keys.compactMap { key in
      violations.first { $0.key == key }.map { SyncObjection(key: key, reason: $0.reason) }
    }
  }

  private func violations(of changes: [SyncChange], _ base: Int) -> [Violation] {
    let (keys, next) = made(by: changes, base)
    let (old, new) = (records, next.records)
    var violations: [SyncObjection.Reason: [Violation]] = [:]
    func isNew(_ key: SyncKey) -> Bool { states[key]?.last?.version ?? 0 > base }
    func note(_ key: SyncKey, _ reason: SyncObjection.Reason, _ others: [SyncKey]) {
      violations[reason, default: []].append(
        Violation(key: key, reason: reason, isUnseen: isNew(key) || others.contains(where: isNew)))
    }
    for entry in constraints {
      for key in keys {
        let (before, after) = (value(entry, key, old), value(entry, key, new))
        /// The records with a value before and after the commit.
        func holders(_ wanted: [FieldValue]?) -> [SyncKey] {
          new.keys.filter {
            areEqual(value(entry, $0, new), wanted, entry)
              && areEqual(value(entry, $0, old), wanted, entry)
          }
        }
        func isOffered(_ wanted: [FieldValue]?) -> Bool {
          new.keys.contains { areEqual(offer(entry, $0, new), wanted, entry) }
        }
        let isFresh = after != nil && !areEqual(before, after, entry)
        switch entry.constraint {
        case .together: break
        case .unique, .index:
          let others = new.keys.filter {
            $0 != key && areEqual(value(entry, $0, new), after, entry)
          }
          let stored = holders(after)
          // Without a holder, only a record that the replica has not seen is named here.
          if isFresh, !others.isEmpty, !stored.isEmpty || isNew(key) {
            note(key, .taken, stored)
          }
        case .reference(let children, to: let table, _):
          let parents = isFresh ? parents(entry, children, after, table.text) : []
          let isUnknown =
            numberedTables.contains(table.text) && parents.count == 1
            && parents.allSatisfy { old[$0] != nil && wasMade($0, after: base) }
          if isFresh, isUnknown || !isOffered(after) { note(key, .missingParent, parents) }
          let (past, present) = (offer(entry, key, old), offer(entry, key, new))
          if past != nil, !areEqual(past, present, entry), !isOffered(past),
            new.keys.contains(where: { areEqual(value(entry, $0, new), past, entry) })
          {
            note(key, .needed, holders(past))
          }
        }
      }
    }
    return [.taken, .missingParent, .needed].flatMap { violations[$0] ?? [] }
  }

  /// True if a live record did not live at a version, or was deleted since.
  private func wasMade(_ key: SyncKey, after base: Int) -> Bool {
    let states = states[key] ?? []
    let later = states.filter { $0.version > base }
    return states.last { $0.version <= base }?.fields == nil
      || later.contains { $0.fields == nil }
  }

  /// The records that may have had a value that a child needs: the one with this key, or all of the table.
  private func parents(
    _ entry: TableConstraint, _ children: [FieldName], _ value: [FieldValue]?, _ table: String
  ) -> [SyncKey] {
    guard case .reference(_, _, let columns) = entry.constraint, let value else { return [] }
    let key = keyColumns[table] ?? []
    let isKey =
      columns.count == key.count && Set(columns.map(\.name.text)) == Set(key)
      && columns.allSatisfy { $0.collation == .binary }
    guard isKey else { return states.keys.filter { $0.table == table } }
    let id = key.compactMap { name in
      columns.firstIndex { $0.name.text == name }.map { value[$0] }
    }
    return [SyncKey(table: table, id: id)]
  }

  // MARK: - Values

  /// The values of a record in the columns of a constraint; those of a child as its parent would have them.
  private func value(
    _ entry: TableConstraint, _ key: SyncKey, _ records: Records
  ) -> [FieldValue]? {
    switch entry.constraint {
    case .together: nil
    case .index(let index):
      key.table == entry.table
        ? records[key]?.claims[index.sql].flatMap {
          $0.isEmpty || $0.contains(where: \.isNull) ? nil : $0
        } : nil
    case .unique(let columns): values(columns.map(\.name), of: key, in: entry.table, records)
    case .reference(let names, _, let columns):
      values(names, of: key, in: entry.table, records).map { values in
        zip(values, columns).map { $1.affinity.columnAffinity.altered($0) }
      }
    }
  }

  /// The values of a record that children may refer to.
  private func offer(
    _ entry: TableConstraint, _ key: SyncKey, _ records: Records
  ) -> [FieldValue]? {
    guard case .reference(_, to: let table, let columns) = entry.constraint else { return nil }
    return values(columns.map(\.name), of: key, in: table.text, records)
  }

  private func values(
    _ names: [FieldName], of key: SyncKey, in table: String, _ records: Records
  ) -> [FieldValue]? {
    guard key.table == table, let fields = records[key]?.fields else { return nil }
    let values = names.map { name in
      keyColumns[table]?.firstIndex(of: name.text).map { key.id[$0] } ?? fields[name.text]
    }
    return values.contains(where: \.isNull) ? nil : values
  }

  private func areEqual(
    _ first: [FieldValue]?, _ second: [FieldValue]?, _ entry: TableConstraint
  ) -> Bool {
    guard let first, let second else { return false }
    if case .index = entry.constraint { return first == second }
    let columns: [ComparedColumn] =
      switch entry.constraint {
      case .together, .index: []
      case .unique(let columns), .reference(_, _, let columns): columns
      }
    return zip(zip(first, second), columns).allSatisfy { values, column in
      switch (values.0, values.1, column.collation) {
      case (.text(let a), .text(let b), .nocase):
        a.utf8.count == b.utf8.count && folded(a).elementsEqual(folded(b))
      case (.text(let a), .text(let b), .rtrim): trimmed(a).elementsEqual(trimmed(b))
      default: values.0 == values.1
      }
    }
  }

  private func folded(_ text: String) -> [UInt8] {
    text.utf8.prefix { $0 != 0 }.map { (65...90).contains($0) ? $0 + 32 : $0 }
  }

  private func trimmed(_ text: String) -> [UInt8] {
    Array(text.utf8.reversed().drop { $0 == 32 }.reversed())
  }
}

extension ComparedColumn.Affinity {
  fileprivate var columnAffinity: ColumnAffinity {
    switch self {
    case .text: .text
    case .numeric, .integer, .real: .numeric
    case .blob: .none
    }
  }
}
