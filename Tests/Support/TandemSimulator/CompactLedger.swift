import TandemRecords

/// What became of each edit, in few bytes: an ``EditLedger`` for one record. The number of an edit is
/// its position in its file, so that it does not depend on what happened elsewhere.
struct CompactLedger: Hashable {
  /// The number of edits of one file.
  static let maxEditCount = 8

  /// The edits that had seen an edit and replaced it, as bits.
  private var overwriters = SIMD16<UInt16>()
  private var values: UInt16 = 0
  private var deletions: UInt16 = 0
  private var accepted: UInt16 = 0
  private var additionCount = 0
  /// True if additions may be lost with a deleted record, or with the version that a person did not
  /// choose.
  private var hasInexactCount = false

  mutating func note(
    _ operation: Exhaustion.Operation, _ edit: Int, file: Int, before: Int?, after: Int?
  ) {
    switch operation {
    case .insert:
      if let deletion = lastDeletion(in: file, before: CompactLedger.maxEditCount) {
        overwriters[deletion] |= 1 << UInt16(edit)
      }
      hasInexactCount = hasInexactCount || values != 0
      values |= 1 << UInt16(edit)
    case .set: values |= 1 << UInt16(edit)
    case .add: additionCount += 1
    case .resolve: hasInexactCount = true
    case .delete:
      deletions |= 1 << UInt16(edit)
      hasInexactCount = true
      if let before { overwriters[before] |= 1 << UInt16(edit) }
    case .addFirst, .addSecond, .change, .exchange, .addChild, .moveChild, .deleteFirst,
      .deleteChild:
      preconditionFailure("rows with rules have no ledger")
    }
    if let before, let after, before != after { overwriters[before] |= 1 << UInt16(after) }
  }

  private func lastDeletion(in file: Int, before count: Int) -> Int? {
    (0..<count).map { file * CompactLedger.maxEditCount + $0 }.last {
      deletions & 1 << UInt16($0) != 0
    }
  }

  mutating func accept(_ edit: Int) { accepted |= 1 << UInt16(edit) }

  mutating func acceptDeletion(in file: Int, before count: Int) {
    if let deletion = lastDeletion(in: file, before: count) { accept(deletion) }
  }

  /// Throws ``SimulationViolation`` if an edit is lost or counted twice.
  func check(
    final: Int?, hasRow: Bool, count: FieldValue, recorded: Set<Int>, hasRecords: Bool
  ) throws {
    var kept: UInt16 = 0
    for edit in 0..<16 {
      let bit: UInt16 = 1 << UInt16(edit)
      let isAccepted = accepted & bit != 0
      if values & bit != 0 {
        if edit == final || recorded.contains(edit)
          || !isAccepted && overwriters[edit] & deletions != 0
        {
          kept |= bit
        }
      } else if deletions & bit != 0,
        isAccepted || !hasRow || hasRecords || isOfNoConcern(bit)
      {
        kept |= bit
      }
    }
    var before: UInt16 = 0
    while before != kept {
      before = kept
      for edit in 0..<16 where overwriters[edit] & kept != 0 { kept |= 1 << UInt16(edit) }
    }
    guard (values | deletions) & ~kept == 0 else {
      throw SimulationViolation("edits are lost: \(names((values | deletions) & ~kept))")
    }
    if let final, !hasRecords, overwriters[final] & deletions & accepted != 0 {
      throw SimulationViolation("the deleted value \(EditLedger.text(final)) has come back")
    }
    guard hasInexactCount || !hasRow || count == .integer(Int64(additionCount)) else {
      throw SimulationViolation("\(additionCount) additions were made, but \(count) counted")
    }
  }

  /// True if another deletion that the space accepted has deleted all values that the space had and
  /// that this one has deleted.
  private func isOfNoConcern(_ deletion: UInt16) -> Bool {
    var others: UInt16 = 0
    for edit in 0..<16 {
      let bit: UInt16 = 1 << UInt16(edit)
      if bit != deletion, deletions & accepted & bit != 0 { others |= values(replacedBy: bit) }
    }
    return values(replacedBy: deletion) & accepted & ~others == 0
  }

  /// The values that a deletion has replaced, directly or by other edits before it, deletions included:
  /// of a deletion, an insertion and a deletion in one commit, the space accepts the last one.
  private func values(replacedBy deletion: UInt16) -> UInt16 {
    var replaced = deletion
    var before: UInt16 = 0
    while before != replaced {
      before = replaced
      for edit in 0..<16 where overwriters[edit] & replaced != 0 { replaced |= 1 << UInt16(edit) }
    }
    return replaced & values
  }

  private func names(_ edits: UInt16) -> String {
    (0..<16).filter { edits & 1 << UInt16($0) != 0 }.map { EditLedger.text($0) }
      .joined(separator: " ")
  }
}
