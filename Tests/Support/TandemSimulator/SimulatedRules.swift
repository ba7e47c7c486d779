import TandemRecords
import TandemSync

/// Rules of an application, which depend on the edits whose values stand in the column `a` of a record.
enum SimulatedRules {
  enum Verdict {
    case accept
    case refuse(String)
    case amend(Record)
  }

  /// The verdict on a change from one record to another.
  static func verdict(from old: Record?, to new: Record?) -> Verdict {
    guard let new else {
      return edits(in: old).contains { $0 % 11 == 3 } ? .refuse("it is protected") : .accept
    }
    if let edit = edits(in: new).first(where: { $0 % 13 == 7 }) { return .refuse("not \(edit)") }
    return amendedEdits(in: new).isEmpty
      ? .accept : .amend(["a": .text("s"), "extra": new["extra"]])
  }

  /// The edits of a record whose values the rules replace.
  static func amendedEdits(in record: Record) -> [EditLedger.Edit] {
    edits(in: record).filter { $0 % 5 == 2 }
  }

  private static func edits(in record: Record?) -> [EditLedger.Edit] {
    EditLedger.edits(in: record?["a"].textValue ?? "")
  }
}
