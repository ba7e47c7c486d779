/// The answer of a space to a commit.
///
/// The first three are stored with the commit and consume its sequence: the same commit gets the
/// same answer again. After the others, the replica has not used the sequence.
package enum SyncOutcome: Hashable, Sendable {
  /// All changes were made and are durable. The revision and digest are those after the commit.
  case accepted(SpaceRevision, RecordDigest)
  /// Other commits since the base changed the same things. Nothing was changed; the sequence is
  /// consumed. The replica pulls, merges and sends a new commit.
  case conflict([SyncObjection])
  /// The space can never accept these changes. Nothing was changed; the sequence is consumed. The
  /// replica sets them aside and sends the rest as a new commit.
  case refused([SyncObjection])
  /// The commit does not continue those of its replica: the replica's file was restored or copied.
  ///
  /// `last` is the replica's last sequence that the space knows. `fate` is the revision that this
  /// very commit made, if the history still contains it.
  case sequence(last: Int, fate: SpaceRevision?)
  /// The space cannot relate the base to its history.
  case gone(SyncGone)
  /// The space keeps the part that was sent, and judges the commit when it has these parts too: at least one, in
  /// ascending order.
  case parts(missing: [Int])
}

/// The reasons why a space cannot continue from a revision.
package enum SyncGone: String, Hashable, Sendable, CaseIterable {
  /// The revision belongs to a history that was created separately.
  case epoch
  /// The space went back to a state before the revision, and may have continued differently.
  case history
  /// The revision is below the horizon: the space has forgotten the deletions since.
  case horizon
}
