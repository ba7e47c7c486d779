import Tandem

/// Prints each difference as it arrives, and counts those that were printed completely.
final class WatchOutput {
  private var text: DifferenceText
  private let isJSON: Bool
  private let output = OutputStream(descriptor: STDOUT_FILENO, endsWhenCancelled: true)
  private(set) var differenceCount = 0
  private var insertedCount = 0
  private var updatedCount = 0
  private var deletedCount = 0

  init(isJSON: Bool) {
    text = DifferenceText(key: [], terminal: .output)
    self.isJSON = isJSON
  }

  /// True once a query has been watched.
  var isBegun: Bool { !key.isEmpty }

  /// The columns that identify a row, which begin its line.
  var key: [String] {
    get { text.key }
    set { text.key = newValue }
  }

  /// The number of differences and changes.
  var summary: String {
    "\(Quantity.count(differenceCount, "difference")): \(insertedCount) inserted, "
      + "\(updatedCount) updated, \(deletedCount) deleted"
  }

  func write(_ difference: SetDifference<Record>) throws {
    if isJSON {
      try output.write { bytes in
        RecordWriter.appendJSON(difference, to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
      }
    } else {
      try difference.forEachChange { try output.write(text.line($0)) }
    }
    try output.flush()
    count(difference.inserted.count, difference.updated.count, difference.deleted.count)
  }

  /// - Parameter rows: The rows from which the difference leads; unused in JSON.
  func write(_ difference: ListDifference<Record>, from rows: [Record]) throws {
    if isJSON {
      try output.write { difference.appendJSON(to: &$0) }
    } else {
      try writeLines(difference, from: rows)
    }
    try output.flush()
    count(difference.insertions.count, difference.updates.count, difference.deletions.count)
  }

  private func count(_ inserted: Int, _ updated: Int, _ deleted: Int) {
    differenceCount += 1
    insertedCount += inserted
    updatedCount += updated
    deletedCount += deleted
  }

  private func writeLines(
    _ difference: ListDifference<Record>, from rows: [Record]
  ) throws(OutputError) {
    for deletion in difference.deletions {
      try output.write("[\(deletion.offset)] \(text.line(.deleted(deletion.element)))")
    }
    for move in difference.moves {
      try output.write(
        "[\(move.to)] \(text.line(moved: rows[move.from], from: move.from, to: move.to))")
    }
    for update in difference.updates {
      try output.write(
        "[\(update.newOffset)] \(text.line(.updated(old: update.old, new: update.new)))")
    }
    for insertion in difference.insertions {
      try output.write("[\(insertion.offset)] \(text.line(.inserted(insertion.element)))")
    }
  }
}
