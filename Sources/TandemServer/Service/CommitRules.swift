public import TandemRecords
internal import TandemSpace
internal import TandemSync

/// The rules of an application: they accept a commit, refuse changes of it, or set fields that the server owns.
///
/// A rule is asked before the commit is made, with all records that it changes, as they are and as they would be. The
/// space makes the commit only if these records have not changed since. Otherwise the rules are asked again. So a decision
/// about the records of the commit holds in the order of the space. What a rule reads elsewhere has no such guarantee: it
/// may have changed before the commit is made.
///
/// <!-- Snippets/ServerRules.swift rules -->
/// ```swift
/// // Only its author changes a note, and nobody forges an author.
/// let service = try SyncService(
///   spacesIn: "\(folder)/spaces",
///   rules: { commit in
///     let account = commit.account.map { FieldValue.text($0) } ?? .null
///     var decision = CommitDecision()
///     for change in commit.changes where change.table == "note" {
///       if let old = change.old, old["author"] != account {
///         decision.refuse(change, "only the author may change a note")
///       } else {
///         decision.amend(change, ["author": account])
///       }
///     }
///     return decision
///   })
/// ```
///
/// - **Refused changes.** Nothing of the commit is made, and the outcome is stored: the same commit gets it again. The
///   replica takes the refused changes out of its rows and keeps them, with the message, as rejected edits (`tandem
///   rejected`). It sends the other changes in a new commit.
/// - **Amended fields.** They become a commit of the space itself, directly after the commit and in the same transaction,
///   so that nobody reads the state between. All replicas receive it. If the space cannot store an amended record, as
///   because of a unique value, the change is refused with a message that says so: a field that the server owns never has
///   the value of a client.
/// - **Several times.** Rules may be asked more than once about one commit: if its records have changed meanwhile, if the
///   server ends between the decision and the commit, and if the commit then conflicts with others, after which the
///   replica sends it merged. So a decision must have no effects. They are not asked about a commit that is repeated after its answer was lost.
/// - **Trouble.** If the rules throw, or take longer than 5 seconds, the commit is answered with 503 and nothing is
///   written. The replica sends it again. A rule that is late is cancelled.
/// - **Time.** Of requests beyond 1 MiB, only a few are in memory at a time. While a rule decides on one of them, others
///   of that size wait, so be quick.
///
/// Rules run concurrently, in no particular order, on any executor. Deletions, and commits that arrive in parts, are
/// subject to them; commits by programs that open the file of a space themselves are not.
public typealias CommitRules = @Sendable (ProposedCommit) async throws -> CommitDecision

/// A commit before it is made, for ``CommitRules``.
public struct ProposedCommit: Sendable {
  /// The name of the space.
  public let space: String
  /// The account of the client; `nil` where there are no access tokens.
  public let account: String?
  /// The records that the commit changes, each once, in the order of the commit.
  public let changes: [ProposedChange]

  /// A commit, as for a test of rules.
  public init(space: String, account: String?, changes: [ProposedChange]) {
    self.space = space
    self.account = account
    self.changes = changes
  }
}

/// A record before and after a commit.
public struct ProposedChange: Hashable, Sendable {
  /// The name of the table.
  public let table: String
  /// The values of the primary key.
  public let primaryKey: [FieldValue]
  /// The fields beside the key, as the space has them; `nil` if the record does not exist. A field that is absent is
  /// null.
  public let old: Record?
  /// The fields after the commit; `nil` if it deletes the record. Additions to counters are made.
  public let new: Record?

  /// A change, as for a test of rules.
  public init(table: String, primaryKey: [FieldValue], old: Record?, new: Record?) {
    self.table = table
    self.primaryKey = primaryKey
    self.old = old
    self.new = new
  }

  fileprivate var key: SyncKey { SyncKey(table: table, id: primaryKey) }
}

/// The decision of ``CommitRules`` on a commit.
public struct CommitDecision: Sendable {
  var refusals: [SyncKey: String] = [:]
  var amendments: [SyncKey: Record] = [:]

  /// Accepts all changes, unless some are refused or amended afterwards.
  public init() {}

  /// Refuses a change, and with it the commit.
  ///
  /// - Parameters:
  ///   - change: The change.
  ///   - message: A sentence for the user, such as `the list is closed`. It is cut after 1,000 bytes.
  public mutating func refuse(_ change: ProposedChange, _ message: String) {
    refusals[change.key] = message
  }

  /// Sets fields of a changed record, whatever the commit sets them to. A deletion has none, and stays one. Another call
  /// for the same record sets these fields in addition.
  ///
  /// - Parameters:
  ///   - change: The change of the record.
  ///   - fields: Synchronized columns that are not part of the key, and their values.
  public mutating func amend(_ change: ProposedChange, _ fields: Record) {
    let former = amendments[change.key] ?? [:]
    let others = zip(former.layout.names, former.values).filter { name, _ in
      fields.layout.offset(of: name) == nil
    }
    let names = others.map(\.0) + fields.layout.names
    amendments[change.key] = Record(
      uncheckedLayout: RecordLayout(uniqueNames: names), values: others.map(\.1) + fields.values)
  }

  /// The decision as a store takes it.
  func ruling(on edits: [SpaceLedger.Edit]) -> SpaceRuling {
    SpaceRuling(on: edits, refusals: refusals, amendments: amendments)
  }
}
