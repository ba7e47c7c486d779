public import TandemDifferences
public import TandemRecords
package import TandemSync

/// A conflict that a merge resolved or left open, with every version.
public struct ReplicaConflict: Hashable, Sendable, Identifiable {
  /// The outcome of the merge.
  public enum Resolution: String, Hashable, Sendable, CaseIterable {
    /// The row has the version of this file.
    case local
    /// The row has the version of the space.
    case remote
    /// The row has the version that both sides started from, because somebody chose it.
    case base
    /// The row has the version that a policy or the merge of fields made of both.
    case merged
    /// The row has another version that somebody chose.
    case chosen
    /// The row has the remote version, and the conflict is open.
    case unresolved
  }

  /// The number of the conflict in its file.
  public let id: Int64
  /// The identity of the record.
  package let key: SyncKey
  /// The kind of conflict.
  public let kind: MergeConflict<Record>.Kind
  /// The fields in conflict; `nil` if it is the record as a whole.
  public let fields: [String]?
  /// The version that both sides started from.
  public let base: Record?
  /// The version of this file.
  public let local: Record?
  /// The version of the space.
  public let remote: Record?
  /// The outcome.
  public let resolution: Resolution

  /// The name of the table.
  public var table: String { key.table }
  /// The values of the record's primary key.
  public var primaryKey: [FieldValue] { key.id }
}

/// A change that could not be synchronized: the space refused it, a constraint forbids it, or no
/// message can hold it.
public struct ReplicaRejection: Hashable, Sendable, Identifiable {
  /// The place of the change.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A change of this file that was taken out of its row: ``ReplicaRejection/content`` has it.
    case edit
    /// A change of this file that is still in its row and cannot be sent. The note goes away when the
    /// row is corrected.
    case row
    /// A version of the space that the table of this file does not accept. The row stays as it was, or
    /// there is none, and nothing of this is sent. The version is tried again at each synchronization;
    /// the note goes away when the row has it. ``ReplicaRejection/content`` has the record, or the
    /// fields that the row lacks; it is `nil` if the space has deleted the record, and rows of this
    /// file still refer to it.
    case record
  }

  /// The number of the rejection in its file.
  public let id: Int64
  /// The identity of the record.
  package let key: SyncKey
  /// The place of the change.
  public let kind: Kind
  /// The reason.
  public let reason: String
  /// The version that the change was made from; `nil` if there was none.
  public let base: Record?
  /// The record with the change, or the fields that a row lacks; `nil` if the change is a deletion, or is
  /// still in its row.
  public let content: Record?
  /// The values that the row had in columns that are not synchronized.
  let others: Record?

  /// The name of the table.
  public var table: String { key.table }
  /// The values of the record's primary key.
  public var primaryKey: [FieldValue] { key.id }
}

/// The version of a record that resolves an open conflict.
public enum ConflictChoice: Hashable, Sendable {
  /// The version that both sides started from.
  case base
  /// The version of this file.
  case local
  /// The version of the space.
  case remote
  /// Another version; `nil` to delete the record.
  case record(Record?)
  /// The row as it is now with these fields changed. If the row was deleted, it is revived from its
  /// last version.
  case fields(Record)
}
