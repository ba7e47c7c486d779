/// The state of a synchronization, for people and programs.
public enum SyncStatus: Hashable, Sendable {
  /// The reasons why a synchronization does not proceed without help.
  public enum Block: Hashable, Sendable {
    /// The space refuses the requests.
    case refused(SyncRequestError)
    /// The space has another history, and the application has not decided what to keep.
    case undecided
    /// The file has rows that no commit can contain.
    case unsendable
    /// After a repair, the rows still differ from those of the space.
    case differentDigests
  }

  /// Nothing is known of the space yet.
  case connecting
  /// A commit is being sent. It is reported for each commit.
  case pushing(changeCount: Int)
  /// The changes of the space are fetched and applied.
  case pulling
  /// The base is compared with the space.
  case verifying
  /// The file has exactly the records that the space had at the revision, and no changes wait.
  case upToDate(SpaceRevision)
  /// The space cannot be reached, or the disk of the file is full. The next attempt follows by itself.
  case offline
  /// The synchronization needs help. It is attempted again from time to time.
  case blocked(Block)
}
