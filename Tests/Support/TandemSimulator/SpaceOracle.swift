import TandemSync

/// A second, naive form of the rules by which a space answers. It knows the commits of the present
/// history, the last answer to each replica, and all states of the records.
///
/// Most wrong answers are repaired later, by digests and merges, so that no record shows them at the
/// end.
struct SpaceOracle {
  /// The revisions of the present history.
  private var revisions: [SpaceRevision]
  /// The version below which the space has forgotten the changes.
  private var horizon: Int
  /// The revisions that commits made.
  private var fates: [SyncToken: SpaceRevision] = [:]
  /// The revision before each one, in all histories that there have ever been.
  private var parents: [SpaceRevision: SpaceRevision] = [:]
  /// The last commit of each replica, and its outcome.
  private var standings: [SyncToken: ReplicaStanding] = [:]
  /// The parts of a commit of each replica that the space has.
  private var parts: [SyncToken: [Int: SyncCommit]] = [:]
  /// The records.
  private var model: SpaceModel
  /// True if the space asks ``SimulatedRules``.
  private let hasRules: Bool

  /// A space at its first revision.
  init(
    head: SpaceRevision, _ tables: [SpaceTable], _ limits: SyncLimits, hasRules: Bool = false
  ) {
    self.hasRules = hasRules
    revisions = [head]
    horizon = head.version
    model = SpaceModel(tables, limits)
  }

  /// Checks the answer to a commit or a part of one, and takes note of it.
  ///
  /// - Parameters:
  ///   - outcome: The outcome; `nil` if the space has refused the commit because of its quota.
  ///   - made: The revision that the commit itself made, if amendments may follow it.
  /// - Returns: The commit as far as the space has it.
  @discardableResult
  mutating func check(
    _ commit: SyncCommit, _ outcome: SyncOutcome?, made: SpaceRevision? = nil
  ) throws(SimulationViolation) -> SyncCommit {
    let last = standings[commit.replica]
    if let last, last.sequence == commit.sequence, last.commit == commit.id {
      try require(outcome == last.outcome, "a repeated commit", outcome)
      return commit
    }
    guard commit.sequence == (last?.sequence ?? 0) + 1 else {
      try require(
        outcome == .sequence(last: last?.sequence ?? 0, fate: fates[commit.id]),
        "a commit out of sequence", outcome)
      return commit
    }
    if let gone = gone(commit.base) {
      try require(outcome == .gone(gone), "a commit whose base is gone", outcome)
      return commit
    }
    var commit = commit
    if commit.of > 1 {
      parts[commit.replica] = (parts[commit.replica] ?? [:]).filter { $1.id == commit.id }
      parts[commit.replica]?[commit.part] = commit
      let kept = parts[commit.replica] ?? [:]
      let missing = (1...commit.of).filter { kept[$0] == nil }
      guard missing.isEmpty else {
        try require(outcome == .parts(missing: missing), "a part", outcome)
        return commit
      }
      let all = kept.sorted { $0.key < $1.key }.map(\.value)
      commit = SyncCommit(
        replica: commit.replica, sequence: commit.sequence, id: commit.id, base: commit.base,
        changes: all.flatMap(\.changes), overruled: all.flatMap(\.overruled))
    }
    parts[commit.replica] = nil
    let verdict = model.verdict(on: commit, hasRules: hasRules)
    switch outcome {
    case .accepted(let revision, let digest):
      let made = made ?? revision
      let amendments = hasRules ? model.amendments(of: commit) : []
      model.apply(commit, as: made.version)
      var steps = [made]
      if !amendments.isEmpty {
        let amendment = SyncCommit(
          replica: .ofSpace, sequence: 0, id: .ofSpace, base: made, changes: amendments)
        try require(model.verdict(on: amendment) == .accepted, "an amended commit", outcome)
        model.apply(amendment, as: made.version + 1)
        steps.append(revision)
      }
      try require(
        verdict == .accepted && digest == model.digest && steps.last == revision, "a commit",
        outcome)
      for step in steps {
        try require(
          step.epoch == revisions.last?.epoch
            && step.version == (revisions.last?.version ?? 0) + 1, "a commit", outcome)
        parents[step] = revisions.last
        revisions.append(step)
      }
      fates[commit.id] = made
    case .conflict(let objections):
      try require(verdict == .conflict(objections), "a commit", outcome)
    case .refused(let objections):
      try require(verdict == .refused(objections), "a commit", outcome)
    case nil: try require(verdict == .overQuota, "a commit", "overQuota")
    case .sequence, .gone, .parts: try require(false, "a commit that continues", outcome)
    }
    // A commit beyond the quota has used its sequence: a copy of it must have no effect when there is room.
    standings[commit.replica] = ReplicaStanding(
      sequence: commit.sequence, commit: commit.id, outcome: outcome ?? .refused([]))
    return commit
  }

  /// Takes note that the sequence of a commit is consumed, because its account may not send it.
  ///
  /// - Returns: False if it does not continue those of a known replica, so that nothing is consumed.
  mutating func refuse(_ commit: SyncCommitIdentity) -> Bool {
    guard let last = standings[commit.replica], commit.sequence == last.sequence + 1 else {
      return false
    }
    parts[commit.replica] = nil
    standings[commit.replica] = ReplicaStanding(
      sequence: commit.sequence, commit: commit.id, outcome: .refused([]))
    return true
  }

  /// Checks the answer to a pull.
  mutating func check(
    _ pull: SyncPull, _ answer: SyncPullAnswer
  ) throws(SimulationViolation) {
    switch answer {
    case .gone(let reason):
      // The start of a pull of everything is known to its cursor only.
      guard let since = pull.since else { return }
      try require(gone(since) == reason, "a pull", answer)
    case .page(let page):
      try require(pull.since.flatMap(gone) == nil, "a pull since a revision that is gone", answer)
      let known = pull.known.flatMap(gone)
      try require(known == nil || known == .horizon, "a pull that knows a lost revision", answer)
      try require(page.revision == revisions.last, "a pull", answer)
      try require(page.replica == pull.replica.flatMap { standings[$0] }, "a pull", answer)
      try require(model.isRight(page, for: pull), "a pull", answer)
    }
  }

  /// True if revisions are of one history, and none is older than the one before it.
  func areSuccessive(_ states: [SpaceRevision]) -> Bool {
    var states = states
    var revision = states.popLast()
    while let state = states.last {
      if state == revision {
        states.removeLast()
      } else {
        revision = revision.flatMap { parents[$0] }
      }
      if revision == nil { return false }
    }
    return true
  }

  /// Takes note that the space went back to a backup. The knowledge of histories stays.
  mutating func restore(_ backup: SpaceOracle) {
    let (parents, model) = (parents, model)
    self = backup
    quota = model.quota
    self.parents.merge(parents) { known, _ in known }
    self.model.addPositions(of: model)
  }

  /// Takes note that a replica has declared its tables.
  mutating func declare(_ tables: [SpaceTable]) { model.declare(tables) }

  /// Checks the rules that the space says that it has.
  func check(_ tables: [SpaceTable]) throws(SimulationViolation) {
    func rules(_ list: (SpaceTable) -> [SpaceConstraint]) -> Set<TableConstraint> {
      Set(
        tables.flatMap { table in
          list(table).map { TableConstraint(table: table.name, constraint: $0) }
        })
    }
    let holding = rules { $0.constraints ?? [] }
    let pending = rules { $0.pending.map(\.constraint) }
    try require(holding == model.constraints, "which rules hold", holding)
    try require(pending == model.pending, "which rules are pending", pending)
  }

  /// The most records that the space may have; `nil` for any number.
  var quota: Int? {
    get { model.quota }
    set { model.quota = newValue }
  }

  /// Takes note that the space forgot the history before a version.
  mutating func forget(before version: Int) {
    horizon = max(horizon, min(version, revisions.last?.version ?? 0))
  }

  /// Takes note that the space gave its history a new epoch.
  mutating func startNewHistory(at head: SpaceRevision) {
    fates = fates.mapValues { fate in
      fate == revisions.last
        ? head : SpaceRevision(epoch: head.epoch, version: fate.version, mark: fate.mark)
    }
    revisions = [head]
    horizon = head.version
  }

  /// The reason why the space cannot continue from a revision; `nil` if it can.
  private func gone(_ revision: SpaceRevision) -> SyncGone? {
    guard let first = revisions.first, revision.epoch == first.epoch else { return .epoch }
    if revision.version >= first.version, !revisions.contains(revision) { return .history }
    return revision.version < horizon ? .horizon : nil
  }

  private func require(
    _ isRight: Bool, _ request: String, _ answer: some Any
  ) throws(SimulationViolation) {
    if !isRight { throw SimulationViolation("the space answered \(request) with \(answer)") }
  }
}
