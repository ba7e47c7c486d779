internal import TandemRecords
internal import TandemSQLite
public import TandemSync

/// A choice of what to synchronize: one table, and the columns of it.
public struct AttachedTable: Hashable, Sendable {
  /// The name of the table.
  public var name: String
  /// The columns to synchronize beside the primary key. If `nil`, all that can be written, and those
  /// that the table gets later.
  public var columns: [String]?
  /// The policies for columns that two replicas change at the same time, by the names of columns. The
  /// file keeps them for every program that synchronizes it. A conflict in another column stays
  /// open.
  public var policies: [String: FieldPolicy]
  /// The columns of unique constraints whose values mean one record, such as `[["name"]]` for categories. If two copies
  /// add a row of the same values under different keys, the row of the later one is joined with the record of the
  /// space: see ``KeptEdit/Choice/same``. The file keeps them.
  public var same: [[String]]
  /// The unit of conflicts: records for a table whose fields must fit each other. All replicas of a
  /// space must choose the same.
  public var granularity: ConflictGranularity
  /// True if SQLite chooses the keys, by INTEGER PRIMARY KEY AUTOINCREMENT. Two devices choose the same number for
  /// different rows. The one that synchronizes later gives its row a new number, and its references follow. All
  /// replicas of a space must choose the same.
  public var renumbers: Bool
  /// True if the application itself chooses integer keys that no two devices choose.
  public var allowsAssignedKeys: Bool
  /// True if changes that no trigger can foresee are accepted. They are found later, by comparing
  /// digests.
  public var allowsBlindSpots: Bool

  /// A table with all columns that can be written, and no allowances.
  public init(
    _ name: String, columns: [String]? = nil, policies: [String: FieldPolicy] = [:],
    same: [[String]] = [], granularity: ConflictGranularity = .field, renumbers: Bool = false,
    allowsAssignedKeys: Bool = false, allowsBlindSpots: Bool = false
  ) {
    self.name = name
    self.columns = columns
    self.policies = policies
    self.same = same
    self.granularity = granularity
    self.renumbers = renumbers
    self.allowsAssignedKeys = allowsAssignedKeys
    self.allowsBlindSpots = allowsBlindSpots
  }
}
