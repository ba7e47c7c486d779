import TandemRecords
import TandemSpace
import TandemSync
import Testing

/// The rules for conflicts, compared with a naive reading of them on a full history, for every short
/// history, every change and every base.
@Suite struct SpaceLedgerTests {
  @Test(
    "Every change of every short history gets the verdict and the effect of the rules [whole] [created]",
    arguments: [
      Rules(), Rules(granularity: .record), Rules(together: [["a", "b"]]),
      Rules(together: [["id", "a"]]), Rules(together: [["b", "c"], ["c", "a"]]),
    ])
  fileprivate func exhaustive(rules: Rules) {
    var count = 0
    explore(History(), depth: 3, rules, &count)
    // 1 + the histories of one, two and three steps.
    #expect(count > 10_000)
  }

  private func explore(
    _ history: History, depth: Int, _ rules: Rules, _ count: inout Int
  ) {
    for verb in verbs {
      for base in 0...history.head {
        count += 1
        expectVerdict(history, verb, base: base, rules)
      }
    }
    guard depth > 0 else { return }
    for verb in verbs {
      if let longer = history.appending(verb) {
        explore(longer, depth: depth - 1, rules, &count)
      }
    }
  }

  private func expectVerdict(
    _ history: History, _ verb: SyncChange.Verb, base: Int, _ rules: Rules
  ) {
    let ledger = ledger(rules)
    let verdict = ledger.verdict(
      on: commit([SyncChange(key: key, verb: verb)], base: base), as: history.head + 1
    ) { _ in history.record(ledger) }
    let expected = history.objection(to: verb, base: base, rules)
    switch verdict {
    case .conflict(let objections):
      if expected != .conflict(objections[0].reason) {
        Issue.record("\(history.steps), \(verb) on \(base): \(objections), not \(expected)")
      }
    case .refused(let objections):
      if expected != .refusal(objections[0].reason) {
        Issue.record("\(history.steps), \(verb) on \(base): \(objections), not \(expected)")
      }
    case .accepted(let edits):
      let after = history.applying(verb)
      let isUnchanged = isSame(after, history.states[history.head])
      let isRight =
        expected == .none && edits.isEmpty == isUnchanged
        && edits.allSatisfy {
          $0.new.version == history.head + 1 && isSame($0.new.fields, after)
        }
      if !isRight {
        Issue.record("\(history.steps), \(verb) on \(base): \(edits), not \(expected)")
      }
    }
  }

  private let verbs: [SyncChange.Verb] = [
    .insert(["a": 0, "b": 0]), .insert(["a": 1]), .insert(["a": 0, "b": "x"]),
    .update(["a": 0]), .update(["a": 1]), .update(["a": 1.0]), .update(["b": "x"]),
    .update(["a": 1, "b": "x"]), .update(["b": .null]), .add(["a": 1]), .add(["b": 1]), .delete,
  ]

  // MARK: - Validation

  @Test("A change that no space of these tables can accept is refused with its reason")
  func validation() {
    let long = FieldValue.text(String(repeating: "k", count: 2_000))
    let flaws: [(SyncChange, SyncObjection.Reason)] = [
      (SyncChange(key: SyncKey(table: "other", id: [1]), verb: .delete), .unknownTable),
      (SyncChange(key: SyncKey(table: "T", id: [1]), verb: .delete), .unknownTable),
      (SyncChange(key: SyncKey(table: "t", id: []), verb: .delete), .invalidKey),
      (SyncChange(key: SyncKey(table: "t", id: [1, 2]), verb: .delete), .invalidKey),
      (SyncChange(key: SyncKey(table: "t", id: [.null]), verb: .delete), .invalidKey),
      (SyncChange(key: SyncKey(table: "t", id: [.real(.nan)]), verb: .delete), .invalidKey),
      (SyncChange(key: SyncKey(table: "t", id: [long]), verb: .delete), .invalidKey),
      (SyncChange(key: key, verb: .insert(["d": 1])), .unknownColumn),
      (SyncChange(key: key, verb: .update(["A": 1])), .unknownColumn),
      (SyncChange(key: key, verb: .insert(["id": 1])), .unknownColumn),
      (SyncChange(key: key, verb: .add(["a": 1.0])), .notAddable),
    ]
    for (change, reason) in flaws {
      let good = SyncChange(key: SyncKey(table: "t", id: [7]), verb: .insert(["a": 1]))
      #expect(
        refusals(of: [good, change]) == [SyncObjection(key: change.key, reason: reason)],
        "\(change)")
    }
  }

  @Test("A commit may change a record once, or by an update and an add of different fields")
  func repetition() {
    let update = SyncChange(key: key, verb: .update(["b": "y"]))
    let add = SyncChange(key: key, verb: .add(["a": 2]))
    let sameFieldAdd = SyncChange(key: key, verb: .add(["b": 2]))
    let equalKey = SyncChange(key: SyncKey(table: "t", id: [1.0]), verb: .delete)
    #expect(refusals(of: [update, add]) == [])
    #expect(refusals(of: [add, update]) == [])
    for pair in [[update, update], [add, add], [update, sameFieldAdd], [update, equalKey]] {
      #expect(refusals(of: pair).map(\.reason) == [.repeated])
    }
    #expect(refusals(of: [update, add, update]).map(\.reason) == [.repeated])
    let verdict = ledger(Rules()).verdict(on: commit([update, add], base: 1), as: 2) { _ in stored }
    guard case .accepted(let edits) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(edits.map(\.new.fields) == [["a": 3, "b": "y"]])
    #expect(edits[0].new.fieldVersions == ["a": 2, "b": 2])
  }

  @Test("A commit is refused or conflicts as a whole, with all objections of the stronger kind")
  func wholeCommit() {
    let conflict = SyncChange(key: key, verb: .insert(["a": 9]))
    let other = SyncChange(key: SyncKey(table: "t", id: [2]), verb: .delete)
    let refused = SyncChange(key: SyncKey(table: "t", id: [3]), verb: .insert(["d": 1]))
    let record = { (key: SyncKey) in key.id == [1] ? stored : nil }
    guard
      case .conflict(let conflicts) = ledger(Rules()).verdict(
        on: commit([conflict, other], base: 1), as: 2, record: record),
      case .refused(let refusals) = ledger(Rules()).verdict(
        on: commit([conflict, refused, other], base: 1), as: 2, record: record)
    else {
      Issue.record("neither a conflict nor a refusal")
      return
    }
    #expect(conflicts.map(\.reason) == [.exists, .missing])
    #expect(refusals == [SyncObjection(key: refused.key, reason: .unknownColumn)])
  }

  @Test("A record that updates make too large is refused")
  func size() {
    let half = FieldValue.text(String(repeating: "x", count: 60))
    let ledger = SpaceLedger(
      tables: [table(Rules())], horizon: 0, limits: SyncLimits(maxRecordByteCount: 100))
    let stored = SpaceRecord(fields: ["a": half], version: 1, createdVersion: 1)
    let verdict = ledger.verdict(
      on: commit([SyncChange(key: key, verb: .update(["b": half]))], base: 1), as: 2
    ) { _ in stored }
    guard case .refused(let objections) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(objections.map(\.reason) == [.tooLarge])
  }

  @Test("A record is accepted if every page that may have it can be read")
  func sizeInPages() throws {
    let limits = SyncLimits(maxRecordByteCount: 200)
    let ledger = SpaceLedger(tables: [table(Rules())], horizon: 0, limits: limits)
    var counts = [true: 0, false: 0]
    for length in 60..<200 {
      let fields: Record = ["a": .text(String(repeating: "x", count: length))]
      let verdict = ledger.verdict(
        on: commit([SyncChange(key: key, verb: .insert(fields))], base: 1), as: 2
      ) { _ in nil }
      var isAccepted = false
      if case .accepted = verdict { isAccepted = true }
      let epoch = try #require(SyncToken(String(repeating: "0a", count: 16)))
      let state = SyncRecordState(key: key, version: SpaceRevision.maxVersion, fields: fields)
      let page = SyncPage(
        revision: SpaceRevision(epoch: epoch, version: 2, mark: 0), digest: .empty, replica: nil,
        changes: [state], next: nil)
      let read = try? SyncMessageReader(limits: limits).page(SyncMessageWriter.bytes(page))
      #expect((read != nil) == isAccepted, "\(length)")
      counts[isAccepted]? += 1
    }
    #expect(counts.values.allSatisfy { $0 > 20 })
  }

  @Test("A change forgets the versions of fields up to the horizon")
  func horizon() {
    let ledger = SpaceLedger(tables: [table(Rules())], horizon: 5, limits: SyncLimits())
    let stored = SpaceRecord(
      fields: ["a": 1], version: 6, createdVersion: 1, fieldVersions: ["a": 5, "b": 6])
    let verdict = ledger.verdict(
      on: commit([SyncChange(key: key, verb: .update(["a": 2]))], base: 6), as: 7
    ) { _ in stored }
    guard case .accepted(let edits) = verdict else {
      Issue.record("\(verdict)")
      return
    }
    #expect(edits[0].new.fieldVersions == ["a": 7, "b": 6])
    let update = SyncChange(key: key, verb: .update(["b": 2]))
    let untouched = ledger.verdict(on: commit([update], base: 6), as: 7) { _ in stored }
    guard case .accepted(let others) = untouched else {
      Issue.record("\(untouched)")
      return
    }
    #expect(others[0].new.fieldVersions == ["b": 7])
  }

  // MARK: - Parts

  private let key = SyncKey(table: "t", id: [1])
  private let stored = SpaceRecord(fields: ["a": 1, "b": "x"], version: 1, createdVersion: 1)

  private func refusals(of changes: [SyncChange]) -> [SyncObjection] {
    let verdict = ledger(Rules()).verdict(on: commit(changes, base: 1), as: 2) { key in
      key.id == [1] ? stored : nil
    }
    if case .refused(let objections) = verdict { return objections }
    return []
  }
}

/// What distinguishes the tables of these tests.
private struct Rules: CustomTestStringConvertible {
  var granularity: ConflictGranularity = .field
  var together: [[FieldName]] = []

  /// The fields that share a unit with one, itself included; empty if it is in no unit.
  func unit(of name: FieldName) -> [FieldName] {
    var unit = [name]
    for _ in together {
      for names in together where names.contains(where: unit.contains) { unit += names }
    }
    return unit.count == 1 ? [] : Set(unit).subtracting(["id"]).sorted { $0.text < $1.text }
  }

  var testDescription: String { "\(granularity) \(together)" }
}

private func table(_ rules: Rules) -> SpaceTable {
  SpaceTable(
    name: "t", columns: ["a", "b", "c"], keyColumns: ["id"], granularity: rules.granularity,
    constraints: rules.together.map { .together($0) })
}

private func ledger(_ rules: Rules) -> SpaceLedger {
  SpaceLedger(tables: [table(rules)], horizon: 0, limits: SyncLimits())
}

private func commit(_ changes: [SyncChange], base: Int) -> SyncCommit {
  let token = SyncToken(bits: 1)
  return SyncCommit(
    replica: token, sequence: 1, id: token,
    base: SpaceRevision(epoch: token, version: base, mark: 0), changes: changes)
}

/// True if two records are stored identically, or neither lives.
private func isSame(_ first: Record?, _ second: Record?) -> Bool {
  guard let first, let second else { return first == nil && second == nil }
  return first.hasSameStorage(as: second)
}

/// Every state that one record has had, by version, and the rules as a reader would apply them to
/// that list.
private struct History {
  enum Objection: Equatable {
    case none
    case conflict(SyncObjection.Reason)
    case refusal(SyncObjection.Reason)
  }

  /// The fields after each version; version 0 has no record.
  private(set) var states: [Record?] = [nil]
  private(set) var steps: [SyncChange.Verb] = []

  var head: Int { states.count - 1 }
  private var live: Record? { states[head] }

  /// The history with one more version, unless the change is impossible on the newest state.
  func appending(_ verb: SyncChange.Verb) -> History? {
    guard objection(to: verb, base: head, Rules()) == .none else { return nil }
    var longer = self
    longer.states.append(applying(verb))
    longer.steps.append(verb)
    return longer
  }

  func applying(_ verb: SyncChange.Verb) -> Record? {
    var fields = live.map { [$0["a"], $0["b"]] } ?? [.null, .null]
    switch verb {
    case .delete: return nil
    case .insert(let new): fields = [new["a"], new["b"]]
    case .update(let new):
      for (place, name) in ["a", "b"].enumerated() where new.layout.offset(of: name) != nil {
        fields[place] = new[name]
      }
    case .add(let addends):
      let place = addends.layout.names == ["a"] ? 0 : 1
      guard case .integer(let number) = fields[place] else { return live }
      fields[place] = .integer(number + 1)
    }
    return ["a": fields[0], "b": fields[1]]
  }

  func objection(
    to verb: SyncChange.Verb, base: Int, _ rules: Rules
  ) -> Objection {
    if case .insert(let fields) = verb {
      return live.map { !isSame($0, fields) } ?? false ? .conflict(.exists) : .none
    }
    guard let live else { return .conflict(.missing) }
    // A record that did not live at some version after the base was created after it.
    guard states[base...].allSatisfy({ $0 != nil }) else { return .conflict(.recreated) }
    let changed = ["a", "b"].filter { name in
      (base..<head).contains { version in
        !(states[version]?[name] ?? .null).hasSameStorage(as: states[version + 1]?[name] ?? .null)
      }
    }
    if rules.granularity == .record, !changed.isEmpty { return .conflict(.changed) }
    switch verb {
    case .insert: return .none
    case .delete: return changed.isEmpty ? .none : .conflict(.changed)
    case .update(let fields):
      let isConflict = fields.layout.names.contains { name in
        let unit = rules.unit(of: FieldName(name))
        return unit.count > 1 && unit.contains { changed.contains($0.text) }
          || changed.contains(name) && !live[name].hasSameStorage(as: fields[name])
      }
      return isConflict ? .conflict(.changed) : .none
    case .add(let fields):
      let name = fields.layout.names[0]
      if rules.unit(of: FieldName(name)).contains(where: { changed.contains($0.text) }) {
        return .conflict(.changed)
      }
      if case .integer = live[name] { return .none }
      return changed.contains(name) ? .conflict(.changed) : .refusal(.notAddable)
    }
  }

  /// The record as the ledger has it after the steps.
  func record(_ ledger: SpaceLedger) -> SpaceRecord? {
    var record: SpaceRecord?
    for (index, verb) in steps.enumerated() {
      let change = SyncChange(key: SyncKey(table: "t", id: [1]), verb: verb)
      let verdict = ledger.verdict(on: commit([change], base: index), as: index + 1) { _ in record }
      guard case .accepted(let edits) = verdict else {
        Issue.record("the history \(steps) is impossible: \(verdict)")
        return nil
      }
      if let edit = edits.first { record = edit.new }
    }
    return record
  }
}
