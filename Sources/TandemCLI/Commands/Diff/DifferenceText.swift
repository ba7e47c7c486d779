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
  /// True if the records are rows of tables: SQLite ignores the case of ASCII letters in their columns' names.
  var isOfTables = false

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
    let fields = fields(from: old, to: new)
    var changed = fields.filter { $0.old != $0.new }
    // 1 and 1.0 are equal, but a mirror replaces one by the other in a column without a type.
    if changed.isEmpty { changed = fields.filter { $0.old?.description != $0.new?.description } }
    let absent = "(absent)"
    let texts = changed.map {
      "\($0.name): \($0.old?.description ?? absent) → \($0.new?.description ?? absent)"
    }
    return ([keyText(of: new)] + texts).joined(separator: "  ")
  }

  /// The fields of two versions with both values.
  private func fields<Shown: ShownRecord>(
    from old: Shown, to new: Shown
  ) -> [(name: String, old: Shown.Value?, new: Shown.Value?)] {
    let (oldNames, newNames) = (old.layout.names, new.layout.names)
    if old.layout.hasSameOrder(as: new.layout) {
      return oldNames.indices.map { (oldNames[$0], old.values[$0], new.values[$0]) }
    }
    var newOffsets: [FieldName: Int] = [:]
    for (offset, name) in newNames.enumerated() { newOffsets[comparable(name)] = offset }
    var fields: [(name: String, old: Shown.Value?, new: Shown.Value?)] = []
    for (name, value) in zip(oldNames, old.values) {
      let match = newOffsets.removeValue(forKey: comparable(name))
      fields.append(
        (match.map { newNames[$0] } ?? name, value, match.map { new.values[$0] } ?? Shown.absent))
    }
    for offset in newOffsets.values.sorted() {
      fields.append((newNames[offset], Shown.absent, new.values[offset]))
    }
    return fields
  }

  /// A name that equals each name of the same field.
  private func comparable(_ name: String) -> FieldName {
    guard isOfTables else { return FieldName(name) }
    return FieldName(String(decoding: name.utf8.map(\.asciiLowercased), as: UTF8.self))
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
