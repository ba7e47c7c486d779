import TandemSync

/// Knows every edit that a scenario made, and what became of it.
///
/// Each edit writes a value that no other edit writes. So a value that is neither in the space at the
/// end, nor in a conflict record, nor overwritten by an edit that had seen it, is lost.
struct EditLedger {
  /// A place of a value.
  struct Cell: Hashable {
    let key: SyncKey
    let column: String
  }

  /// The number of an edit.
  typealias Edit = Int

  private enum Kind: Equatable {
    case value
    /// The deletion of a record.
    case deletion
  }

  private struct Entry {
    let kind: Kind
    let key: SyncKey
    /// The file that made the edit, and the step.
    let file: Int
    let step: Int
    /// True if the statement wrote its value: it may have found no row, or broken a constraint.
    var isWritten = false
    /// True if a later edit wrote the value again, in this record or another.
    var isMoved = false
    /// The edits that had seen this one and replaced it.
    var overwriters: [Edit] = []
    /// True if the space accepted a commit with the value, or with the deletion.
    var isAccepted = false
    /// True if the edit may be lost: the only file that had it was replaced by a backup.
    var isExcused = false
  }

  private var entries: [Entry] = []
  /// The edits whose values stand in a conflict record or a rejection.
  private var recorded: Set<Edit> = []
  /// The records that a conflict record or a rejection names, with the last step.
  private var recordedKeys: [SyncKey: Int] = [:]
  /// The last step at which the space lost commits.
  private var spaceLossStep = -1
  /// The number of edits that count, for each table.
  private(set) var countedEdits: [String: Int] = [:]
  /// True if effects may be lost or doubled lawfully: a file with edits that the space does not know
  /// was copied or replaced by a backup, or the space refused changes.
  private(set) var hasInexactCounts = false

  /// The tables whose keys SQLite chooses. The key of a deletion may be that of another record later.
  var numberedTables: Set<String> = []

  /// The number of edits.
  var count: Int { entries.count }

  /// The text of an edit's value.
  static func text(_ edit: Edit) -> String { "e\(edit)." }

  /// The edits whose values occur in a text.
  static func edits(in text: String) -> [Edit] {
    var found: [Edit] = []
    var number: Int?
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "e"): number = 0
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number.map { $0 * 10 + Int(byte - 48) }
      case UInt8(ascii: "."):
        if let number { found.append(number) }
        number = nil
      default: number = nil
      }
    }
    return found
  }
}

// MARK: - During the run

extension EditLedger {
  /// Begins an edit that writes a value into a record.
  mutating func beginEdit(of key: SyncKey, in file: Int, at step: Int) -> Edit {
    entries.append(Entry(kind: .value, key: key, file: file, step: step))
    return entries.count - 1
  }

  /// Takes note of the values before and after one statement.
  mutating func statementRan(
    in file: Int, at step: Int, before: [(Cell, Edit)], after: [(Cell, Edit)]
  ) {
    let values = Dictionary(after, uniquingKeysWith: { _, last in last })
    let keys = Set(after.map(\.0.key))
    let formerKeys = Set(before.map(\.0.key))
    let formerValues = Dictionary(before, uniquingKeysWith: { _, last in last })
    for (cell, edit) in after where formerValues[cell] != edit {
      if entries[edit].isWritten { entries[edit].isMoved = true }
      entries[edit].isWritten = true
    }
    for (cell, new) in after where !formerKeys.contains(cell.key) {
      // A record that is inserted again replaces its deletion.
      if let deletion = lastDeletion(of: cell.key, in: file) {
        entries[deletion].overwriters.append(new)
      }
    }
    var deletions: [SyncKey: Edit] = [:]
    for (cell, old) in before {
      if let new = values[cell] {
        if new != old { entries[old].overwriters.append(new) }
        continue
      }
      guard !keys.contains(cell.key) else {
        // Another row has taken the place of the one that had the value.
        if let new = after.first(where: { $0.0.key == cell.key })?.1 {
          entries[old].overwriters.append(new)
        }
        continue
      }
      if deletions[cell.key] == nil {
        entries.append(Entry(kind: .deletion, key: cell.key, file: file, step: step))
        deletions[cell.key] = entries.count - 1
      }
      if let deletion = deletions[cell.key] { entries[old].overwriters.append(deletion) }
    }
  }

  /// Takes note of an edit that adds one.
  mutating func counted(in table: String) { countedEdits[table, default: 0] += 1 }

  /// Takes note of a text in a conflict record or a rejection of a record.
  mutating func record(_ text: String, of key: SyncKey, at step: Int) {
    for edit in EditLedger.edits(in: text) where edit < entries.count { recorded.insert(edit) }
    recordedKeys[key] = step
  }

  /// Takes note that the space accepted a value.
  mutating func accepted(_ edit: Edit) {
    if edit < entries.count { entries[edit].isAccepted = true }
  }

  /// Takes note that the space accepted a deletion that was frozen at a step.
  mutating func acceptedDeletion(of key: SyncKey, from file: Int, frozenAt step: Int) {
    if let deletion = lastDeletion(of: key, in: file, until: step) {
      entries[deletion].isAccepted = true
    }
  }

  /// The last deletion of a record in a file. If files were copied, another one may have made it.
  private func lastDeletion(of key: SyncKey, in file: Int, until step: Int = .max) -> Edit? {
    func last(_ isIncluded: (Entry) -> Bool) -> Edit? {
      entries.lastIndex {
        $0.kind == .deletion && $0.step <= step && isIncluded($0) && $0.key == key
      }
    }
    return last { $0.file == file } ?? (hasInexactCounts ? last { _ in true } : nil)
  }

  /// Takes note that a file becomes an older version of itself.
  ///
  /// - Parameter known: The edits whose values the space has.
  mutating func restored(_ file: Int, from step: Int, known: Set<Edit>) {
    for edit in entries.indices where entries[edit].file == file && entries[edit].step > step {
      if !known.contains(edit), !entries[edit].isAccepted { entries[edit].isExcused = true }
    }
    hasInexactCounts = true
  }

  /// Takes note that a file was copied.
  mutating func copied() { hasInexactCounts = true }

  /// Takes note that additions may be lost: the space refused changes, or a person chose a version with others.
  mutating func mayLoseAdditions() { hasInexactCounts = true }

  /// Takes note that the space lost commits.
  ///
  /// - Parameters:
  ///   - known: The edits whose values are still in the space.
  ///   - held: The edits whose values are in a file or still in the space.
  mutating func spaceLost(at step: Int, known: Set<Edit>, held: Set<Edit>) {
    for edit in entries.indices where !held.contains(edit) { entries[edit].isExcused = true }
    // The space accepts them again only if a file still has them.
    for edit in entries.indices where !known.contains(edit) { entries[edit].isAccepted = false }
    spaceLossStep = step
    hasInexactCounts = true
  }
}

// MARK: - At the end

extension EditLedger {
  /// The edits that were lost, and the deletions that were undone, given the values at the end.
  func violations(final: [(Cell, Edit)]) -> [String] {
    let kept = keptEdits(final)
    var violations: [String] = []
    for (edit, entry) in entries.enumerated()
    where entry.isWritten && !kept[edit] && !entry.isExcused {
      violations.append(
        "the edit \(EditLedger.text(edit)) of \(entry.key) in file \(entry.file) at step "
          + "\(entry.step) is lost; overwritten by \(entry.overwriters)")
    }
    guard !hasInexactCounts else { return violations }
    for (cell, edit) in final where !entries[edit].isMoved {
      for deletion in entries[edit].overwriters
      where entries[deletion].kind == .deletion && entries[deletion].isAccepted
        && recordedKeys[cell.key] == nil && entries[deletion].key == cell.key
      {
        violations.append(
          "\(cell.key) has come back with \(EditLedger.text(edit)), which was deleted at step "
            + "\(entries[deletion].step)")
      }
    }
    return violations
  }

  /// The edits that are final, recorded, or overwritten by one that is kept.
  private func keptEdits(_ final: [(Cell, Edit)]) -> [Bool] {
    let present = Set(final.map(\.1))
    let keys = Set(final.map(\.0.key))
    var kept = entries.enumerated().map { edit, entry in
      switch entry.kind {
      case .value:
        // A value that the space never had and that its own file deleted is of no concern to others.
        present.contains(edit) || recorded.contains(edit)
          || !entry.isAccepted && entry.overwriters.contains { entries[$0].kind == .deletion }
      case .deletion:
        numberedTables.contains(entry.key.table)
          || entry.isAccepted || !keys.contains(entry.key) || entry.step <= spaceLossStep
          || (recordedKeys[entry.key] ?? -1) >= entry.step
      }
    }
    // Overwriters are mostly later edits, so that few rounds suffice. A resolved conflict writes an
    // older value again.
    var isStable = false
    while !isStable {
      isStable = true
      for edit in entries.indices.reversed()
      where !kept[edit] && entries[edit].overwriters.contains(where: { kept[$0] }) {
        kept[edit] = true
        isStable = false
      }
    }
    return kept
  }
}
