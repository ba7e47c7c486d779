internal import TandemDifferences

/// The merge of the columns of three versions of a CSV list.
///
/// A column that one side removed is removed, and a column that one side renamed is renamed, in all
/// versions. A side renamed a column if it has a new column with the same cells. If one side removed
/// a column and the other side changed a cell of it, or both sides gave it different names, that is a
/// conflict. After the merge, all versions have the same columns in the same order.
struct ColumnMerge {
  private(set) var base: ListText
  private(set) var local: ListText
  private(set) var remote: ListText
  /// The conflicts; each is identified by the column's name in the base.
  private(set) var conflicts: [ConflictReport<String, String>] = []

  private let policy: MergePolicy<String>
  /// The name of each column of the base in the result; `nil` for one that is removed.
  private var outcomes: [FieldName: FieldName?] = [:]

  init(
    base: ListText, local: ListText, remote: ListText, key: [String],
    policy: MergePolicy<String>
  ) {
    self.base = base
    self.local = local
    self.remote = remote
    self.policy = policy
    let ours = ColumnChanges(from: base, to: local, key: key)
    let theirs = ColumnChanges(from: base, to: remote, key: key)
    for column in base.columnNames {
      outcomes[column] = .some(outcome(of: column, ours, theirs))
    }
    settleNames(ours, theirs)
    guard conflicts.allSatisfy({ !$0.resolution.isUnresolved }) else { return }
    apply(ours, theirs, key: key)
  }

  /// The name of a column of the base in the result; `nil` if it is removed.
  private mutating func outcome(
    of column: FieldName, _ ours: ColumnChanges, _ theirs: ColumnChanges
  ) -> FieldName? {
    let local = ours.name(of: column)
    let remote = theirs.name(of: column)
    let isEditedLocally = ours.edited.contains(column)
    let isEditedRemotely = theirs.edited.contains(column)
    switch (local, remote) {
    case (nil, nil): return nil
    case (nil, let remote?):
      guard isEditedRemotely || remote != column else { return nil }
      return resolved(.deleteEdit(base: column.text, remote: remote.text))
    case (let local?, nil):
      guard isEditedLocally || local != column else { return nil }
      return resolved(.editDelete(base: column.text, local: local.text))
    case (let local?, let remote?):
      if local == remote || remote == column { return local }
      if local == column { return remote }
      return resolved(
        .editEdit(base: column.text, local: local.text, remote: remote.text))
    }
  }

  private mutating func resolved(_ conflict: MergeConflict<String>) -> FieldName? {
    let resolution = policy.resolution(of: conflict)
    conflicts.append(
      ConflictReport(id: conflict.base ?? "", conflict: conflict, resolution: resolution))
    switch resolution {
    case .local, .unresolved: return conflict.local.map { FieldName($0) }
    case .remote: return conflict.remote.map { FieldName($0) }
    case .merged(let name): return FieldName(name)
    case .deleted: return nil
    }
  }

  /// Two columns with one name are a conflict that no policy resolves: one side gave a column a name
  /// that the other side gave to a new column.
  private mutating func settleNames(_ ours: ColumnChanges, _ theirs: ColumnChanges) {
    var seen = Set(ours.added + theirs.added)
    for case let name?? in base.columnNames.map({ outcomes[$0] })
    where !seen.insert(name).inserted {
      conflicts.append(
        ConflictReport(
          id: name.text, conflict: .addAdd(local: name.text, remote: name.text),
          resolution: .unresolved))
    }
  }

  // MARK: - Applying

  private mutating func apply(_ ours: ColumnChanges, _ theirs: ColumnChanges, key: [String]) {
    let names = names(ours, theirs)
    let baseRecords = Dictionary(
      base.records.map { (base.key(of: $0, key), $0) }, uniquingKeysWith: { first, _ in first })
    let version = base
    func rearrange(_ list: inout ListText, _ changes: ColumnChanges?) {
      let own = names.map { name in
        guard let origin = name.base else { return Optional(name.result) }
        return changes.map { $0.name(of: origin) } ?? origin
      }
      let columns = list.columnNames
      list.setColumns(
        names.map(\.result.text), from: own.map { $0.flatMap(columns.firstIndex) },
        value: { offset, record in
          // A column that this side removed, and that is kept, has the cells of the base.
          guard let column = names[offset].base else { return .null }
          return baseRecords[version.key(of: record, key)]?[column.text] ?? .null
        })
    }
    rearrange(&self.base, nil)
    rearrange(&local, ours)
    rearrange(&remote, theirs)
  }

  /// The columns of the result, in order: those of the remote side if only it changed them, otherwise
  /// those of the local side and then those that only the remote side has.
  private func names(
    _ ours: ColumnChanges, _ theirs: ColumnChanges
  ) -> [(base: FieldName?, result: FieldName)] {
    let sides = local.columnNames == base.columnNames ? [theirs, ours] : [ours, theirs]
    var names: [(base: FieldName?, result: FieldName)] = []
    func add(_ column: FieldName?, _ result: FieldName) {
      if !names.contains(where: { $0.result == result }) { names.append((column, result)) }
    }
    for side in sides {
      for column in side.columns {
        guard let origin = side.origin(of: column) else {
          add(nil, column)
          continue
        }
        if let result = outcomes[origin] ?? nil { add(origin, result) }
      }
    }
    return names
  }
}

extension ListText {
  var columnNames: [FieldName] { columns.map { FieldName($0) } }
}
