import Tandem

/// Writes changes as lines for people: `+` inserted, `~` updated, `-` deleted, `>` moved.
struct DifferenceText {
  /// The fields that come first in a line, and identify it.
  var key: [String]
  var terminal: Terminal

  /// The line for one change, with its line feed.
  func line(_ change: SetChange<Record>) -> String {
    switch change {
    case .inserted(let record): return line("+", fields(of: record), .green)
    case .updated(let old, let new): return line("~", changes(from: old, to: new), .yellow)
    case .deleted(let record): return line("-", fields(of: record), .red)
    }
  }

  /// The line for a move within a list, with its line feed.
  func line(moved record: Record, from: Int, to: Int) -> String {
    line(">", "\(keyText(of: record))  \(from) → \(to)", .yellow)
  }

  private func line(_ mark: String, _ text: String, _ color: Terminal.Color) -> String {
    terminal.colored("\(mark) \(text.escapingControls())", color) + "\n"
  }

  private func fields(of record: Record) -> String {
    let others = record.layout.names.indices.filter {
      !isKey(record.layout.names[$0]) && !record.values[$0].isNull
    }
    return
      ([keyText(of: record)] + others.map { "\(record.layout.names[$0])=\(record.values[$0])" })
      .joined(separator: "  ")
  }

  private func changes(from old: Record, to new: Record) -> String {
    var newOffsets: [FieldName: Int] = [:]
    if old.layout !== new.layout {
      for (offset, name) in new.layout.names.enumerated() { newOffsets[FieldName(name)] = offset }
    }
    var texts = [keyText(of: new)]
    func add(_ name: String, _ before: FieldValue, _ after: FieldValue) {
      if before != after { texts.append("\(name): \(before) → \(after)") }
    }
    for (offset, name) in old.layout.names.enumerated() {
      let match =
        old.layout === new.layout ? offset : newOffsets.removeValue(forKey: FieldName(name))
      add(name, old.values[offset], match.map { new.values[$0] } ?? .null)
    }
    for offset in newOffsets.values.sorted() {
      add(new.layout.names[offset], .null, new.values[offset])
    }
    return texts.joined(separator: "  ")
  }

  private func keyText(of record: Record) -> String {
    zip(record.layout.names, record.values)
      .filter { isKey($0.0) }
      .map { "\($0.0)=\($0.1)" }.joined(separator: " ")
  }

  private func isKey(_ name: String) -> Bool { key.contains(where: name.isSameSQLName) }
}

extension SetDifference<Record> {
  /// The number of changes of each kind: `3 inserted, 1 updated, 2 deleted`.
  var summary: String {
    "\(inserted.count) inserted, \(updated.count) updated, \(deleted.count) deleted"
  }
}
