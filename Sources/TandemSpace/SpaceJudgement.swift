internal import TandemRecords
internal import TandemSync

/// Judges a commit by the rules that span records, on the state after the whole commit. It only reads what is stored.
///
/// The records satisfy all rules before the commit. So a rule can break only for a value that the commit adds or
/// takes away somewhere, and each of these values is looked at once:
///
/// | broken if | objections |
/// |---|---|
/// | two records hold a unique value, one of them as it is stored | each change that takes the value (`taken`) |
/// | two changes take a unique value | all but the first one of the commit (`taken`) |
/// | records need a value that none offers | each change that needs it anew (`missingParent`), and each that took it away (`needed`) |
/// | a change needs a number that SQLite chose, and another replica made that record after the base | the change (`missingParent`): it cannot mean this record |
///
/// An objection is a conflict if the record itself, or the other record that is in its way, changed after the base:
/// the replica has not seen that. If there is none of these, all objections together refuse the commit, and so do
/// those to changes that cannot stand without the refused ones. Changes that take one value are looked at last, so that
/// the first one of those that stand is the first.
///
/// - Complexity: O(*n*) lookups in the number of claims that the commit adds or takes away. Only a commit with an
///   objection reads all records that need a value.
struct SpaceJudgement {
  private struct Violation {
    let edit: Int
    let reason: SyncObjection.Reason
    let isUnseen: Bool
  }

  private let edits: [SpaceLedger.Edit]
  private let changes: [ClaimChange]
  private let base: Int
  private let claims: SpaceClaims
  private let rules: [Int: SpaceClaims.Rule]
  private let stored: StoredSpaceClaims
  /// The edits that add each claim, and those that take it away.
  private var makers: [SpaceClaim: [Int]] = [:]
  private var takers: [SpaceClaim: [Int]] = [:]
  private var isRefused: [Bool]
  /// Whether a stored record still makes the claim after the commit.
  private var remains: [SpaceClaim: Bool] = [:]

  /// The judgement of edits whose base is a version.
  init(
    _ edits: [SpaceLedger.Edit], _ changes: [ClaimChange], base: Int, _ claims: SpaceClaims,
    _ stored: StoredSpaceClaims
  ) {
    self.edits = edits
    self.changes = changes
    self.base = base
    self.claims = claims
    rules = claims.rules.filter(\.value.holds)
    self.stored = stored
    isRefused = [Bool](repeating: false, count: edits.count)
    for (edit, change) in changes.enumerated() {
      for claim in change.added { makers[claim, default: []].append(edit) }
      for claim in change.released { takers[claim, default: []].append(edit) }
    }
  }

  /// The objections to the commit; `nil` if there are none.
  mutating func verdict() throws -> SpaceLedger.Verdict? {
    let found = try violations(changes.indices)
    let unseen = found.filter(\.isUnseen)
    guard unseen.isEmpty else { return .conflict(objections(unseen)) }
    var all = try refuse(found)
    all += try refuse(rivals())
    return all.isEmpty ? nil : .refused(objections(all))
  }

  /// Refuses edits, and then those that cannot stand without them.
  ///
  /// - Returns: The violations of all of them.
  private mutating func refuse(_ violations: [Violation]) throws -> [Violation] {
    var all: [Violation] = []
    var found = violations
    while !found.isEmpty {
      all += found
      let refused = Set(found.map(\.edit))
      for edit in refused { refuse(edit) }
      found = try self.violations(refused).filter { !$0.isUnseen }
    }
    return all
  }

  /// The edits that take a unique value that an earlier edit of the commit takes. No stored record keeps it: then none
  /// of them would stand.
  private func rivals() -> [Violation] {
    makers.lazy.filter { $0.value.count > 1 && isUnique($0.key) }.flatMap { claim, makers in
      standing(makers).dropFirst().map { Violation(edit: $0, reason: .taken, isUnseen: false) }
    }
  }

  /// True if at most one record may make a claim.
  private func isUnique(_ claim: SpaceClaim) -> Bool {
    switch rules[claim.rule]?.kind {
    case .unique: true
    case .index: !claim.value.isEmpty
    case .reference, .keyReference, nil: false
    }
  }

  /// One objection to each edit, in the order of the commit: the first one found.
  private func objections(_ violations: [Violation]) -> [SyncObjection] {
    var reasons: [Int: SyncObjection.Reason] = [:]
    for violation in violations where reasons[violation.edit] == nil {
      reasons[violation.edit] = violation.reason
    }
    return reasons.sorted { $0.key < $1.key }.map {
      SyncObjection(key: edits[$0.key].key, reason: $0.value)
    }
  }

  /// Leaves an edit out: its record stays as it is stored.
  private mutating func refuse(_ edit: Int) {
    isRefused[edit] = true
    for claim in changes[edit].released { remains[claim] = true }
  }

  /// The violations of the rules for the values that some edits change: first all `taken`, then `missingParent`,
  /// then `needed`.
  private mutating func violations(
    _ changed: some Sequence<Int>
  ) throws -> [Violation] {
    var seen: Set<SpaceClaim> = []
    var violations: (taken: [Violation], missing: [Violation], needed: [Violation]) = ([], [], [])
    for edit in changed {
      for claim in changes[edit].added + changes[edit].released {
        let own = claim.side == .stated ? claim : claim.on(.own)
        guard let rule = rules[claim.rule], seen.insert(own).inserted else { continue }
        switch rule.kind {
        case .unique, .index: if isUnique(own) { violations.taken += try doubles(of: own) }
        case .reference(let parent), .keyReference(let parent):
          let missing = try orphans(of: own, rule.kind, parent)
          violations.missing += missing.children
          violations.needed += missing.parents
        }
      }
    }
    return violations.taken + violations.missing + violations.needed
  }

  /// The edits that take a unique value that a stored record keeps; of several that take one from which its record has
  /// gone, those whose own record changed after the base.
  private mutating func doubles(of claim: SpaceClaim) throws -> [Violation] {
    let makers = standing(makers[claim])
    guard !makers.isEmpty else { return [] }
    guard try remains(claim) else {
      return makers.count == 1
        ? [] : makers.map { violation($0, .taken, false) }.filter(\.isUnseen)
    }
    let isNew = try hasNewHolder(claim)
    return makers.map { violation($0, .taken, isNew) }
  }

  /// The edits that need a value that no record offers any more, and those that took it away from records that need
  /// it.
  private mutating func orphans(
    of claim: SpaceClaim, _ kind: SpaceClaims.Kind, _ parent: FieldName
  ) throws -> (children: [Violation], parents: [Violation]) {
    let children = standing(makers[claim])
    let offer = claim.on(.offer)
    if try !children.isEmpty && isUnknown(offer, kind, parent) {
      return (children.map { Violation(edit: $0, reason: .missingParent, isUnseen: true) }, [])
    }
    let parents = standing(takers[offer])
    guard !children.isEmpty || !parents.isEmpty, standing(makers[offer]).isEmpty,
      try !remains(offer), try !children.isEmpty || remains(claim)
    else { return ([], []) }
    let isParentNew =
      if case .keyReference = kind {
        try !children.isEmpty && stored.versions(of: claim.value, in: parent)?.changed ?? 0 > base
      } else {
        // The space does not know which record had the value, so that it may be any that changed.
        try !children.isEmpty && stored.hasChanges(in: parent, after: base)
      }
    let isChildNew = try !parents.isEmpty && hasNewHolder(claim)
    return (
      children.map { violation($0, .missingParent, isParentNew) },
      parents.map { violation($0, .needed, isChildNew) }
    )
  }

  /// True if the record of a number that SQLite chose was made after the base, and not by this commit.
  private func isUnknown(
    _ offer: SpaceClaim, _ kind: SpaceClaims.Kind, _ parent: FieldName
  ) throws -> Bool {
    guard case .keyReference = kind, claims.numbered.contains(parent),
      standing(makers[offer]).isEmpty
    else { return false }
    return try stored.versions(of: offer.value, in: parent)?.created ?? 0 > base
  }

  private func violation(
    _ edit: Int, _ reason: SyncObjection.Reason, _ isOtherNew: Bool
  ) -> Violation {
    Violation(
      edit: edit, reason: reason, isUnseen: isOtherNew || edits[edit].old?.version ?? 0 > base)
  }

  /// The edits that have not been refused.
  private func standing(_ edits: [Int]?) -> [Int] { edits?.filter { !isRefused[$0] } ?? [] }

  /// True if a stored record makes a claim also after the commit.
  private mutating func remains(_ claim: SpaceClaim) throws -> Bool {
    if let known = remains[claim] { return known }
    var remains = false
    try forEachRemaining(claim) { _ in
      remains = true
      return false
    }
    self.remains[claim] = remains
    return remains
  }

  /// True if a record that changed after the base makes a claim before and after the commit.
  private func hasNewHolder(_ claim: SpaceClaim) throws -> Bool {
    var isNew = false
    try forEachRemaining(claim) { version in
      isNew = version > base
      return !isNew
    }
    return isNew
  }

  private func forEachRemaining(
    _ claim: SpaceClaim, _ body: (_ version: Int) -> Bool
  ) throws {
    let gone = Set(standing(takers[claim]).map { edits[$0].key.idBytes })
    try stored.forEachHolder(of: claim) { key, version in
      gone.contains(key) || body(version)
    }
  }
}

/// The claims that one edit adds and takes away.
struct ClaimChange {
  let added: [SpaceClaim]
  let released: [SpaceClaim]
}

extension ClaimChange {
  init(_ edit: SpaceLedger.Edit, _ claims: SpaceClaims) {
    func made(by record: SpaceRecord?) -> [SpaceClaim] {
      guard let record, let fields = record.fields else { return [] }
      return claims.claims(of: edit.key, fields, stated: record.claims)
    }
    let (old, new) = (made(by: edit.old), made(by: edit.new))
    added = new.filter { !old.contains($0) }
    released = old.filter { !new.contains($0) }
  }
}
