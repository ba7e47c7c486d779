public import TandemRecords
package import TandemSync

/// An edit that is not both in its row and in the space: it lost against the edit of another copy, was refused, or has
/// no room in a table. The file keeps it with its versions until somebody decides.
public struct KeptEdit: Hashable, Sendable, Identifiable {
  /// What became of the edit.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A conflict: both sides changed the record.
    case editEdit = "edit/edit"
    /// A conflict: both sides added the record, with different values.
    case addAdd = "add/add"
    /// A conflict: this file changed the record, and the space deleted it.
    case editDelete = "edit/delete"
    /// A conflict: this file deleted the record, and the space changed it.
    case deleteEdit = "delete/edit"
    /// An edit of this file that was taken out of its row, because the space or the table refuses it.
    case edit
    /// An edit of this file that is still in its row and cannot be sent. The note goes away when the row is corrected.
    case row
    /// A version of the space that the table of this file does not accept. The row stays as it was, or there is none,
    /// and nothing of this is sent. The version is tried again at each synchronization; the note goes away when the
    /// row has it.
    case record

    /// True if both sides changed the record.
    public var isConflict: Bool {
      switch self {
      case .editEdit, .addAdd, .editDelete, .deleteEdit: true
      case .edit, .row, .record: false
      }
    }
  }

  /// The outcome.
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
    /// Nobody has decided. If there is a row, it got the version of the space, unless the edit is still in it.
    case unresolved
  }

  /// Some of the edits that a file keeps.
  public enum Selection: Hashable, Sendable {
    /// Those that both sides made.
    case conflicts
    /// Those that could not be synchronized.
    case rejected
    /// All of them.
    case all
    /// The one with a number.
    case one(KeptEdit.ID)
  }

  /// The version of a record that resolves an edit.
  public enum Choice: Hashable, Sendable {
    /// The version that both sides started from.
    case base
    /// The version of this file.
    case local
    /// The version of the space.
    case remote
    /// For a row that was added here, and whose unique values another row has: both are one record, made twice. The
    /// other row stays. Its fields that are null are filled, those that differ are kept as a resolved conflict.
    /// Rejected changes of this file that refer to the row refer to the other one, and are made again.
    case same
    /// Another version; `nil` to delete the record.
    case record(Record?)
    /// The row as it is now with these fields changed. If the row was deleted, it is revived from its last version.
    case fields(Record)
  }

  /// The number of the edit in its file. No other edit ever gets it.
  public let id: Int64
  /// The identity of the record.
  package let key: SyncKey
  /// What became of the edit.
  public let kind: Kind
  /// Why it is kept, in a sentence for people.
  public let reason: String
  /// The fields in conflict; `nil` if it is the record as a whole.
  public let fields: [String]?
  /// The version that the edit was made from; `nil` if there was none.
  public let base: Record?
  /// The version of this file; `nil` if it deleted the record, and if the edit is still in its row.
  public let local: Record?
  /// The version of the space when the edit was kept; `nil` if it had none. Of an edit that was taken out of its row, it
  /// is the version that the edit was made from. Of a record that the table does not accept, it may have only the fields
  /// that the row lacks.
  public let remote: Record?
  /// The values that the row had in columns that are not synchronized.
  let others: Record?
  /// The outcome.
  public let resolution: Resolution

  /// The name of the table.
  public var table: String { key.table }
  /// The values of the record's primary key.
  public var primaryKey: [FieldValue] { key.id }
}
