import TandemRecords
import TandemSync

/// The records of a space as its commits made them: a second, naive form of the rules for conflicts
/// and of the pages.
///
/// It keeps all states of each record. The versions of fields, the present incarnation of a record and
/// the order of pages follow from them by comparing and sorting.
struct SpaceModel {
  /// The judgement of a commit.
  enum Verdict: Equatable {
    case accepted
    case conflict([SyncObjection])
    case refused([SyncObjection])
    /// The space has no room for its records.
    case overQuota
  }

  struct State {
    let version: Int
    /// The fields that are not null; `nil` if the record was deleted.
    let fields: Record?
    /// The values in unique indexes that the last changes of their columns have stated, by their SQL.
    var claims: [String: [FieldValue]] = [:]
  }

  /// The place of a record in the order of pages, and where the request for them began.
  private struct Position {
    let anchor: SpaceRevision
    let version: Int
    let table: String
    let key: [UInt8]

    func precedes(_ other: Position) -> Bool {
      if version != other.version { return version < other.version }
      if table != other.table { return UTF8Order.precedes(table, other.table) }
      return key.lexicographicallyPrecedes(other.key)
    }
  }

  private let granularities: [String: ConflictGranularity]
  private var columns: [String: Set<String>] = [:]
  /// The tables whose keys SQLite chooses.
  private(set) var numberedTables: Set<String> = []
  private(set) var keyColumns: [String: [String]] = [:]
  private let limits: SyncLimits
  private(set) var states: [SyncKey: [State]] = [:]
  /// The most records that the space may have; `nil` for any number.
  var quota: Int?
  /// The constraints that hold, and those that records break.
  var constraints: Set<TableConstraint> = []
  var pending: Set<TableConstraint> = []
  /// The digest of the live records.
  private(set) var digest = RecordDigest.empty
  /// The positions that cursors stand for.
  private var positions: [String: Position] = [:]

  init(_ tables: [SpaceTable], _ limits: SyncLimits) {
    granularities = Dictionary(uniqueKeysWithValues: tables.map { ($0.name, $0.granularity) })
    self.limits = limits
    declare(tables)
  }

  /// Takes note that a replica has declared its tables.
  mutating func declare(_ tables: [SpaceTable]) {
    for table in tables {
      columns[table.name, default: []].formUnion(table.columns)
      keyColumns[table.name] = table.keyColumns
      if table.isNumbered { numberedTables.insert(table.name) }
    }
    declareConstraints(of: tables)
  }
}

// MARK: - Commits

extension SpaceModel {
  /// - Parameter hasRules: True if the space asks ``SimulatedRules``.
  func verdict(on commit: SyncCommit, hasRules: Bool = false) -> Verdict {
    let objections = commit.changes.compactMap { change in
      objection(to: change, commit.base.version).map { SyncObjection(key: change.key, reason: $0) }
    }
    let refusals = objections.filter {
      [.notAddable, .unknownColumn, .unclaimed].contains($0.reason)
    }
    if !refusals.isEmpty { return .refused(refusals) }
    if !objections.isEmpty { return .conflict(objections) }
    var next = self
    let tooLong = next.apply(commit, as: .max).filter {
      byteCount($0, next) > limits.maxRecordByteCount
    }
    guard tooLong.isEmpty else {
      return .refused(tooLong.map { SyncObjection(key: $0, reason: .tooLarge) })
    }
    var refused: [SyncObjection] = []
    for (key, verdict, _) in hasRules ? rulings(on: commit) : [] {
      guard case .refuse(let message) = verdict else { continue }
      refused.append(SyncObjection(key: key, reason: .rule(message)))
    }
    guard refused.isEmpty else { return .refused(refused) }
    let verdict = verdictOfConstraints(on: commit)
    guard verdict == .accepted, let quota else { return verdict }
    let counts = [self, next].map { $0.states.values.count { $0.last?.fields != nil } }
    return counts[1] > max(quota, counts[0]) ? .overQuota : .accepted
  }

  /// The changes by which the rules amend a commit.
  func amendments(of commit: SyncCommit) -> [SyncChange] {
    rulings(on: commit).compactMap { key, verdict, new in
      guard case .amend(let fields) = verdict, new?["a"] != fields["a"] else { return nil }
      return SyncChange(key: key, verb: .update(["a": fields["a"]]))
    }
  }

  /// What the rules say of each record that a commit changes.
  private func rulings(
    on commit: SyncCommit
  ) -> [(key: SyncKey, verdict: SimulatedRules.Verdict, new: Record?)] {
    var next = self
    return next.apply(commit, as: .max).compactMap { key in
      let (old, new) = (states[key]?.last?.fields, next.states[key]?.last?.fields)
      if let old, let new, old.hasSameStorage(as: new) { return nil }
      return (key, SimulatedRules.verdict(from: old, to: new), new)
    }
  }

  private func byteCount(_ key: SyncKey, _ model: SpaceModel) -> Int {
    guard let fields = model.states[key]?.last?.fields else { return 0 }
    var json = JSONWriter()
    json.write(SyncRecordState(key: key, version: SpaceRevision.maxVersion, fields: fields))
    return json.bytes.count
  }

  private func objection(to change: SyncChange, _ base: Int) -> SyncObjection.Reason? {
    guard isKnown(change) else { return .unknownColumn }
    let states = states[change.key] ?? []
    let seen = states.last { $0.version <= base }?.fields
    let later = states.filter { $0.version > base }.map(\.fields)
    let present = states.last?.fields
    if case .insert(let fields) = change.verb {
      if !change.revives, let last = numbers[FieldName(change.key.table)],
        change.key.number ?? .max <= last
      {
        return .taken
      }
      if let present { return present.hasSameStorage(as: fields) ? nil : .exists }
      return isUnclaimed(change) ? .unclaimed : nil
    }
    guard let present else { return .missing }
    guard seen != nil, later.allSatisfy({ $0 != nil }) else { return .recreated }
    if granularities[change.key.table] == .record, !later.isEmpty { return .changed }
    func isChanged(_ name: String) -> Bool {
      zip([seen] + later, later).contains { before, after in
        !(before?[name] ?? .null).hasSameStorage(as: after?[name] ?? .null)
      }
    }
    switch change.verb {
    case .insert: return nil
    case .delete: return later.isEmpty ? nil : .changed
    case .update(let fields):
      return fields.layout.names.contains {
        let unit = unit(of: $0, change.key.table)
        return unit.count > 1 && unit.contains(where: isChanged)
          || isChanged($0) && !present[$0].hasSameStorage(as: fields[$0])
      } ? .changed : isUnclaimed(change) ? .unclaimed : nil
    case .add(let addends):
      let names = addends.layout.names
      if names.contains(where: { unit(of: $0, change.key.table).contains(where: isChanged) }) {
        return .changed
      }
      guard let name = addends.layout.names.first(where: { sum(present, addends, $0) == nil })
      else { return isUnclaimed(change) ? .unclaimed : nil }
      return isChanged(name) ? .changed : .notAddable
    }
  }

  /// The highest number of any record that there has ever been.
  var numbers: [FieldName: Int64] {
    var numbers: [FieldName: Int64] = [:]
    for key in states.keys where numberedTables.contains(key.table) {
      let table = FieldName(key.table)
      numbers[table] = max(numbers[table] ?? .min, key.number ?? .min)
    }
    return numbers
  }

  /// True if the space has all columns that a change names.
  private func isKnown(_ change: SyncChange) -> Bool {
    switch change.verb {
    case .insert(let fields), .update(let fields), .add(let fields):
      fields.layout.names.allSatisfy { columns[change.key.table]?.contains($0) == true }
    case .delete: true
    }
  }

  private func sum(_ record: Record, _ addends: Record, _ name: String) -> FieldValue? {
    guard case .integer(let first) = record[name], case .integer(let second) = addends[name] else {
      return nil
    }
    let (sum, isTooGreat) = first.addingReportingOverflow(second)
    return isTooGreat ? nil : .integer(sum)
  }

  /// Makes the changes of a commit that was accepted; returns the records that changed.
  @discardableResult
  mutating func apply(_ commit: SyncCommit, as version: Int) -> [SyncKey] {
    var keys: [SyncKey] = []
    for change in commit.changes {
      let old = states[change.key]?.last?.fields
      var new = old ?? [:]
      switch change.verb {
      case .insert(let fields), .update(let fields):
        for name in fields.layout.names {
          new[field: FieldName(name)] = fields[name]
        }
      case .add(let addends):
        for name in addends.layout.names { new[field: FieldName(name)] = sum(new, addends, name) }
      case .delete: break
      }
      new = new.presentFields
      let isDeletion = change.verb == .delete
      let claims = isDeletion ? [:] : claims(after: change, base: commit.base.version)
      if let old, !isDeletion, old.hasSameStorage(as: new) {
        if case .insert = change.verb { continue }
        if let last = states[change.key]?.indices.last {
          states[change.key]?[last].claims = claims
        }
        if !keys.contains(change.key) { keys.append(change.key) }
        continue
      }
      if let old { digest.remove(change.key, old) }
      if !isDeletion { digest.add(change.key, new) }
      if states[change.key]?.last?.version == version { states[change.key]?.removeLast() }
      states[change.key, default: []].append(
        State(version: version, fields: isDeletion ? nil : new, claims: claims))
      if !keys.contains(change.key) { keys.append(change.key) }
    }
    tryPending()
    return keys
  }
}

// MARK: - Pages

extension SpaceModel {
  /// Learns the cursors of another history of the same space.
  mutating func addPositions(of other: SpaceModel) {
    positions.merge(other.positions) { known, _ in known }
  }

  /// True if a page has exactly the records that come next, as they are now.
  mutating func isRight(_ page: SyncPage, for pull: SyncPull) -> Bool {
    var start = Position(
      anchor: pull.since ?? page.revision, version: pull.since.map { $0.version + 1 } ?? 0,
      table: "", key: [])
    if let cursor = pull.cursor {
      guard let known = positions[cursor] else { return false }
      start = known
    }
    let firstDeletion = pull.since == nil ? start.anchor.version + 1 : 0
    let expected = states.compactMap { key, states -> (place: Position, state: SyncRecordState)? in
      guard let last = states.last, last.fields != nil || last.version >= firstDeletion else {
        return nil
      }
      let place = Position(
        anchor: start.anchor, version: last.version, table: key.table, key: key.bytes)
      let state = SyncRecordState(key: key, version: last.version, fields: last.fields)
      return start.precedes(place) ? (place, state) : nil
    }
    .sorted { $0.place.precedes($1.place) }
    let count = page.changes.count
    if let next = page.next {
      guard count > 0, count < expected.count else { return false }
      positions[next] = expected[count - 1].place
    } else if count != expected.count {
      return false
    }
    return page.digest == digest && page.numbers == (pull.asksForNumbers ? numbers : nil)
      && zip(page.changes, expected).allSatisfy { $0.isStored(as: $1.state) }
  }
}

extension Record {
  /// The fields that are not null.
  fileprivate var presentFields: Record {
    let names = fieldNames.map(\.text)
    return Record(
      uncheckedLayout: RecordLayout(uniqueNames: names), values: names.map { self[$0] })
  }
}

extension SyncKey {
  /// The bytes by which a space orders the keys of a table.
  fileprivate var bytes: [UInt8] {
    var bytes: [UInt8] = []
    RecordEncoding.append(id: id, to: &bytes)
    return bytes
  }
}

extension SyncRecordState {
  fileprivate func isStored(as other: SyncRecordState) -> Bool {
    guard key == other.key, version == other.version else { return false }
    guard let fields, let others = other.fields else { return fields == other.fields }
    return fields.hasSameStorage(as: others)
  }
}
