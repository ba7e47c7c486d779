/// What a reader of records accepts at most. Beyond it, it reports `limitExceeded`.
///
/// The number of fields is limited too, by ``RecordLayout/maxFieldCount``.
public struct RecordLimits: Hashable, Sendable {
  /// The most bytes that the text of one record may have. Unless told otherwise, the most that
  /// SQLite takes in one row.
  public var maxRecordByteCount: Int
  /// How deep arrays and objects may nest inside a field of a record: `[[]]` nests 2 deep.
  public var maxNestingDepth: Int

  /// Limits that suit a table of SQLite unless told otherwise.
  public init(maxRecordByteCount: Int = 1_000_000_000, maxNestingDepth: Int = 512) {
    self.maxRecordByteCount = maxRecordByteCount
    self.maxNestingDepth = maxNestingDepth
  }
}
