import Tandem

/// The columns of CSV that only one of two lists has.
struct ColumnDifference {
  var removed: [String] = []
  var added: [String] = []

  init() {}

  init(from old: [String], to new: [String]) {
    let (oldNames, newNames) = (Set(old.map { FieldName($0) }), Set(new.map { FieldName($0) }))
    removed = old.filter { !newNames.contains(FieldName($0)) }
    added = new.filter { !oldNames.contains(FieldName($0)) }
  }

  var isEmpty: Bool { removed.isEmpty && added.isEmpty }
}

extension DiffCommand {
  /// Writes the changes of records; returns true if there are any, or the columns differ.
  static func write<Shown: ShownRecord>(
    key: [String], columns: ColumnDifference = ColumnDifference(), isOfTables: Bool = false,
    _ arguments: ParsedArguments,
    _ forEachChange: ((SetChange<Shown>) throws -> Void) throws -> Void
  ) throws -> Bool {
    let output = DifferenceOutput(arguments)
    if output.isJSON {
      try output.write { $0 += Array("{".utf8) }
      try output.writeFields(forEachChange)
      try output.write { bytes in
        if !columns.isEmpty {
          bytes += Array(#","columns":"#.utf8)
          bytes.appendJSON { columns.write(to: &$0) }
        }
        bytes += Array("}\n".utf8)
      }
    } else {
      let text = DifferenceText(key: key, terminal: .output, isOfTables: isOfTables)
      for name in columns.removed { try output.write(text.line("-", "column \(name)", .red)) }
      for name in columns.added { try output.write(text.line("+", "column \(name)", .green)) }
      try forEachChange { try output.write(text.line($0)) }
    }
    try output.flush()
    return output.hasDifferences || !columns.isEmpty
  }

  /// Writes the changes of a list, with moves; returns true if there are any.
  static func write<Shown: ShownRecord>(
    _ difference: ListDifference<Shown>, to new: [Shown], key: [String],
    _ arguments: ParsedArguments
  ) throws -> Bool {
    let output = DifferenceOutput(arguments)
    if output.isJSON {
      try output.write { difference.appendJSON(to: &$0) }
    } else {
      let text = DifferenceText(key: key, terminal: .output)
      for line in difference.lines(text, in: new) { try output.write(line) }
    }
    try output.flush()
    return !difference.isEmpty
  }
}

extension ColumnDifference {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("removed", removed)
      json.field("added", added)
    }
  }
}

extension ListDifference where Element: ShownRecord {
  /// A line for each change: first the deletions, then the other changes in the order of the new list.
  fileprivate func lines(_ text: DifferenceText, in new: [Element]) -> [String] {
    var placed = insertions.map { ($0.offset, 0, text.line(.inserted($0.element))) }
    placed += moves.map { ($0.to, 1, text.line(moved: new[$0.to], from: $0.from, to: $0.to)) }
    placed += updates.map { ($0.newOffset, 2, text.line(.updated(old: $0.old, new: $0.new))) }
    placed.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    return deletions.map { text.line(.deleted($0.element)) } + placed.map(\.2)
  }
}
