/// The bounds of messages.
package struct SyncLimits: Hashable, Sendable {
  /// The maximum number of synchronized columns of a table: SQLite's 2,000, less those that a shadow
  /// adds.
  package static let maxColumnCount = 1_990
  /// The maximum number of tables of a space.
  package static let maxTableCount = 1_000
  /// The maximum number of constraints of a table.
  package static let maxConstraintCount = 1_000
  /// The maximum number of pages of one pull. Full pages have at least 300 GB of messages, or a billion changes.
  package static let maxPullPageCount = 100_000
  /// The maximum number of spaces in one list.
  package static let maxListedSpaceCount = 100_000
  /// The maximum length of a key in bytes: the ``RecordEncoding`` of its values, and the name of its
  /// table. The position of a page contains a key.
  package static let maxKeyByteCount = 1_024
  /// The maximum length of the declaration of all tables of a space, in bytes. Each request of the
  /// space reads it. The definitions of all columns may have as many bytes again.
  package static let maxDeclarationByteCount = 1 << 20
  /// The maximum number of objections in the outcome of a commit. The space stores the outcome, and
  /// the replica's pulls repeat it.
  package static let maxObjectionCount = 1_000
  /// The length of the objections' keys and messages in bytes after which an outcome has no more objections.
  package static let maxObjectionByteCount = 256 << 10

  /// The maximum length of the message of a rule in an objection, in bytes.
  package static let maxRuleMessageByteCount = 1_000

  /// The maximum number of parts of a commit.
  package static let maxPartCount = 1_000

  /// The maximum length of an event of a space, in bytes. Of longer commits, an event has only the
  /// head.
  package static let maxEventByteCount = 256 << 10

  /// The maximum length of a record's message, in bytes.
  package var maxRecordByteCount: Int
  /// The maximum length of a commit's message, or of the message of one of its parts, in bytes.
  package var maxCommitByteCount: Int
  /// The maximum number of changes of such a message, and separately of the versions that the commit overruled.
  package var maxCommitChangeCount: Int
  /// The maximum length of the messages of all parts of a commit, in bytes.
  package var maxPartsByteCount: Int
  /// The maximum number of changes of all parts of a commit, and separately of the versions that it overruled.
  package var maxPartsChangeCount: Int
  /// The length in bytes at which a page ends: a page is longer only by its last record.
  package var maxPageByteCount: Int
  /// The maximum number of changes of a page.
  package var maxPageChangeCount: Int
  /// The maximum number of bytes that wait for one slow reader of an event stream.
  package var maxStreamBacklogByteCount: Int

  /// The maximum number of live records of a space; `nil` for any number.
  package var maxSpaceRecordCount: Int?
  /// The maximum number of bytes of the live records of a space; `nil` for any number.
  package var maxSpaceByteCount: Int?

  /// The usual limits, unless specified otherwise.
  package init(
    maxRecordByteCount: Int = 4 << 20, maxCommitByteCount: Int = 16 << 20,
    maxCommitChangeCount: Int = 10_000, maxPartsByteCount: Int = 256 << 20,
    maxPartsChangeCount: Int = 200_000, maxPageByteCount: Int = 4 << 20,
    maxPageChangeCount: Int = 10_000, maxStreamBacklogByteCount: Int = 1 << 20
  ) {
    self.maxRecordByteCount = maxRecordByteCount
    self.maxCommitByteCount = maxCommitByteCount
    self.maxCommitChangeCount = maxCommitChangeCount
    self.maxPartsByteCount = maxPartsByteCount
    self.maxPartsChangeCount = maxPartsChangeCount
    self.maxPageByteCount = maxPageByteCount
    self.maxPageChangeCount = maxPageChangeCount
    self.maxStreamBacklogByteCount = maxStreamBacklogByteCount
  }

  /// The maximum length of the answer to a commit: it names each change once, with a reason that is
  /// shorter than the change.
  package var maxAnswerByteCount: Int { 2 * maxCommitByteCount }
  /// The maximum length of the message of a page: its records, and the last outcome of the replica.
  package var maxPageMessageByteCount: Int {
    maxPageByteCount + maxRecordByteCount + maxAnswerByteCount
  }
}
