import Tandem

/// The options of these commands, each declared once.
enum KeptEditOption {
  static let take = ValueOption<KeptEdit.Choice>(
    "take", "VERSION",
    takes: "local, remote, base, null, or a JSON object of fields such as '{\"title\":\"new\"}', "
      + "with 1 and 0 for true and false",
    help: """
      The version that resolves it: local (of this file), remote
      (of the space: leaves the row as it is), base (before
      both), or a JSON object with new values of some fields;
      null deletes the row.
      """,
    offer: .words(["local", "remote", "base", "null"])
  ) { choice($0) }
  static let same = Flag(
    "same",
    help: """
      With resolve: a row that was added here and the row that
      has its unique values are one record, made twice. The
      other row stays and gets what it lacks; what refers to
      the one of this file refers to it.
      """)
  static let json = Flag(
    "json",
    help: """
      Print an array; of conflicts also the resolved ones:
      {"id":N,"table":T,"key":KEY,"kind":"edit/edit|add/add|
      edit/delete|delete/edit|edit|row|record","reason":TEXT,
      "base":ROW,"local":ROW,"remote":ROW,
      "resolution":"local|remote|base|merged|chosen|unresolved"}
      merged: by a policy; chosen: other fields, by --take.
      \(keyShape)
      The ROW of a version that is deleted is null.
      """)

  private static func choice(_ text: String) -> KeptEdit.Choice? {
    switch text {
    case "local": return .local
    case "remote": return .remote
    case "base": return .base
    case "null": return .record(nil)
    default:
      guard let fields = try? SyncMessageReader().fields(Array(text.utf8)),
        !fields.values.isEmpty
      else { return nil }
      return .fields(fields)
    }
  }
}
