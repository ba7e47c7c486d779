import TandemRecords
import TandemSync
import Testing

@testable import TandemSimulator

@Suite("Oracle of a space")
struct SpaceOracleTests {
  private let key = SyncKey(table: "t", id: [.text("k")])
  private let epoch = SyncToken(bits: 1)

  private func revision(_ version: Int) -> SpaceRevision {
    SpaceRevision(epoch: epoch, version: version, mark: UInt64(version))
  }

  private func commit(
    _ sequence: Int, base: Int, _ verb: SyncChange.Verb, of replica: UInt128 = 1
  ) -> SyncCommit {
    SyncCommit(
      replica: SyncToken(bits: replica), sequence: sequence,
      id: SyncToken(bits: replica << 64 | UInt128(sequence)), base: revision(base),
      changes: [SyncChange(key: key, verb: verb)])
  }

  private func digest(_ fields: Record) -> RecordDigest {
    var digest = RecordDigest.empty
    digest.add(key, fields)
    return digest
  }

  /// The oracle of a space that has one record, `{a: 1, b: 1}`, at version 1.
  private func oracle(
    _ granularity: ConflictGranularity = .field
  ) throws -> SpaceOracle {
    let table = SpaceTable(
      name: "t", columns: ["a", "b"], keyColumns: ["id"], granularity: granularity)
    var oracle = SpaceOracle(head: revision(0), [table], SyncLimits())
    let fields: Record = ["a": 1, "b": 1]
    try oracle.check(
      commit(1, base: 0, .insert(fields)), .accepted(revision(1), digest(fields)))
    return oracle
  }

  @Test("A space must not overwrite a field that changed after the base")
  func changed() throws {
    var oracle = try oracle()
    let fields: Record = ["a": 2, "b": 1]
    try oracle.check(
      commit(2, base: 1, .update(["a": 2])), .accepted(revision(2), digest(fields)))
    let late = commit(1, base: 1, .update(["a": 3]), of: 2)
    var other = oracle
    #expect(throws: SimulationViolation.self) {
      try other.check(late, .accepted(revision(3), digest(["a": 3, "b": 1])))
    }
    try oracle.check(late, .conflict([SyncObjection(key: key, reason: .changed)]))
    try oracle.check(
      commit(2, base: 1, .update(["b": 3]), of: 2),
      .accepted(revision(3), digest(["a": 2, "b": 3])))
  }

  @Test(
    "An edit of an earlier incarnation conflicts, and so does each one of a record that is whole")
  func incarnations() throws {
    var oracle = try oracle()
    try oracle.check(commit(2, base: 1, .delete), .accepted(revision(2), .empty))
    let fields: Record = ["a": 1]
    try oracle.check(
      commit(3, base: 2, .insert(fields)), .accepted(revision(3), digest(fields)))
    try oracle.check(
      commit(1, base: 1, .update(["a": 1]), of: 2),
      .conflict([SyncObjection(key: key, reason: .recreated)]))
    var whole = try self.oracle(.record)
    try whole.check(
      commit(2, base: 1, .update(["a": 2])), .accepted(revision(2), digest(["a": 2, "b": 1])))
    try whole.check(
      commit(1, base: 1, .update(["b": 3]), of: 2),
      .conflict([SyncObjection(key: key, reason: .changed)]))
  }

  @Test("A page has all records that come next, and nothing else")
  func pages() throws {
    let oracle = try oracle()
    let fields: Record = ["a": 1, "b": 1]
    func answer(_ changes: [SyncRecordState]) -> SyncPullAnswer {
      .page(
        SyncPage(
          revision: revision(1), digest: digest(fields), replica: nil, changes: changes, next: nil))
    }
    let pull = SyncPull(replica: nil, since: revision(0))
    let state = SyncRecordState(key: key, version: 1, fields: fields)
    var right = oracle
    try right.check(pull, answer([state]))
    for wrong in [[], [state, state], [SyncRecordState(key: key, version: 1, fields: nil)]] {
      var oracle = oracle
      #expect(throws: SimulationViolation.self) { try oracle.check(pull, answer(wrong)) }
    }
  }
}
