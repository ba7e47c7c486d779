import Tandem

/// A record whose changes are shown: of a table, or of a list with the types of its format.
protocol ShownRecord: JSONWritable {
  associatedtype Value: Equatable & CustomStringConvertible
  var layout: RecordLayout { get }
  var values: [Value] { get }
  /// The value that an absent field counts as, if there is one.
  static var absent: Value? { get }
  /// True for a value that is left out of a line.
  static func isEmpty(_ value: Value) -> Bool
}

extension Record: ShownRecord {
  static var absent: FieldValue? { .null }
  static func isEmpty(_ value: FieldValue) -> Bool { value.isNull }
}

extension ListRecord: ShownRecord {
  static var absent: ListValue? { nil }
  static func isEmpty(_ value: ListValue) -> Bool { value == .null }
}

/// Writes changes as lines for people: `+` inserted, `~` updated, `-` deleted, `>` moved.
struct DifferenceText {
  /// The fields that come first in a line, and identify it.
  var key: [String]
  var terminal: Terminal

  /// The line for one change, with its line feed.
  func line(_ change: SetChange<some ShownRecord>) -> String {
    switch change {
    case .inserted(let record): return line("+", fields(of: record), .green)
    case .updated(let old, let new): return line("~", changes(from: old, to: new), .yellow)
    case .deleted(let record): return line("-", fields(of: record), .red)
    }
  }

  /// The line for a move within a list, with its line feed.
  func line(moved record: some ShownRecord, from: Int, to: Int) -> String {
    line(">", "\(keyText(of: record))  \(from) → \(to)", .yellow)
  }

  /// A line of its own with a mark, and its line feed.
  func line(_ mark: String, _ text: String, _ color: Terminal.Color) -> String {
    terminal.colored("\(mark) \(text.escapingControls())", color) + "\n"
  }

  private func fields<Shown: ShownRecord>(of record: Shown) -> String {
    let others = record.layout.names.indices.filter {
      !isKey(record.layout.names[$0]) && !Shown.isEmpty(record.values[$0])
    }
    return
      ([keyText(of: record)] + others.map { "\(record.layout.names[$0])=\(record.values[$0])" })
      .filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// The fields of a version in which another version differs; a note if there is no such version.
  func fields<Shown: ShownRecord>(of record: Shown?, unlike other: Shown?) -> String {
    guard let record else { return "(deleted)" }
    return zip(record.layout.names, record.values).filter { name, value in
      guard let other, let offset = other.layout.offset(of: name) else { return true }
      return other.values[offset] != value
    }
    .map { "\($0)=\($1)" }.joined(separator: "  ").escapingControls()
  }

  private func changes<Shown: ShownRecord>(from old: Shown, to new: Shown) -> String {
    var newOffsets: [FieldName: Int] = [:]
    let isSameLayout = old.layout.hasSameOrder(as: new.layout)
    if !isSameLayout {
      for (offset, name) in new.layout.names.enumerated() { newOffsets[FieldName(name)] = offset }
    }
    var texts = [keyText(of: new)]
    func add(_ name: String, _ before: Shown.Value?, _ after: Shown.Value?) {
      let (before, after) = (before ?? Shown.absent, after ?? Shown.absent)
      guard before != after else { return }
      let absent = "(absent)"
      texts.append(
        "\(name): \(before?.description ?? absent) → \(after?.description ?? absent)")
    }
    for (offset, name) in old.layout.names.enumerated() {
      let match = isSameLayout ? offset : newOffsets.removeValue(forKey: FieldName(name))
      add(name, old.values[offset], match.map { new.values[$0] })
    }
    for offset in newOffsets.values.sorted() {
      add(new.layout.names[offset], nil, new.values[offset])
    }
    return texts.joined(separator: "  ")
  }

  private func keyText(of record: some ShownRecord) -> String {
    zip(record.layout.names, record.values)
      .filter { isKey($0.0) }
      .map { "\($0.0)=\($0.1)" }.joined(separator: " ")
  }

  private func isKey(_ name: String) -> Bool {
    key.contains { UTF8Order.areEqual($0, name) || $0.isSameSQLName(as: name) }
  }
}

extension SetDifference {
  /// The number of changes of each kind: `3 inserted, 1 updated, 2 deleted`.
  var summary: String {
    "\(inserted.count) inserted, \(updated.count) updated, \(deleted.count) deleted"
  }
}
