import Tandem

/// Prints differences as they come, each at once, and keeps count of those that were printed to the end.
final class WatchOutput {
  private let text: DifferenceText
  private let isJSON: Bool
  private let output = OutputStream(descriptor: STDOUT_FILENO, endsWhenCancelled: true)
  private(set) var differenceCount = 0
  private var insertedCount = 0
  private var updatedCount = 0
  private var deletedCount = 0

  init(key: [String], isJSON: Bool) {
    text = DifferenceText(key: key, terminal: .output)
    self.isJSON = isJSON
  }

  /// The summary where nothing was printed.
  static var emptySummary: String { WatchOutput(key: [], isJSON: false).summary }

  /// How much there was, in words.
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

  func write(_ difference: ListDifference<Record>) throws {
    if isJSON {
      try output.write { $0.appendJSON(difference) }
    } else {
      try writeLines(difference)
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

  private func writeLines(_ difference: ListDifference<Record>) throws(OutputError) {
    for deletion in difference.deletions {
      try output.write("[\(deletion.offset)] \(text.line(.deleted(deletion.element)))")
    }
    for move in difference.moves { try output.write("[\(move.from)] → [\(move.to)]\n") }
    for update in difference.updates {
      try output.write(
        "[\(update.newOffset)] \(text.line(.updated(old: update.old, new: update.new)))")
    }
    for insertion in difference.insertions {
      try output.write("[\(insertion.offset)] \(text.line(.inserted(insertion.element)))")
    }
  }
}

extension [UInt8] {
  /// Appends a list difference as one line: offsets of what is deleted and of `from` count in the old
  /// list, all others in the new one.
  fileprivate mutating func appendJSON(_ difference: ListDifference<Record>) {
    append(contentsOf: #"{"inserted":["#.utf8)
    appendElements(difference.insertions) { $0.appendPlacement($1) }
    append(contentsOf: #"],"updated":["#.utf8)
    appendElements(difference.updates) { bytes, update in
      bytes.append(
        contentsOf: #"{"from":\#(update.oldOffset),"to":\#(update.newOffset),"old":"#.utf8)
      RecordWriter.appendJSON(update.old, to: &bytes)
      bytes.append(contentsOf: #","new":"#.utf8)
      RecordWriter.appendJSON(update.new, to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    append(contentsOf: #"],"moved":["#.utf8)
    appendElements(difference.moves) { bytes, move in
      bytes.append(contentsOf: #"{"from":\#(move.from),"to":\#(move.to)}"#.utf8)
    }
    append(contentsOf: #"],"deleted":["#.utf8)
    appendElements(difference.deletions) { $0.appendPlacement($1) }
    append(contentsOf: "]}\n".utf8)
  }

  private mutating func appendPlacement(_ placement: ListPlacement<Int, Record>) {
    append(contentsOf: #"{"offset":\#(placement.offset),"row":"#.utf8)
    RecordWriter.appendJSON(placement.element, to: &self)
    append(UInt8(ascii: "}"))
  }

  private mutating func appendElements<Change>(
    _ elements: [Change], _ appendElement: (inout [UInt8], Change) -> Void
  ) {
    for (offset, element) in elements.enumerated() {
      if offset > 0 { append(UInt8(ascii: ",")) }
      appendElement(&self, element)
    }
  }
}
