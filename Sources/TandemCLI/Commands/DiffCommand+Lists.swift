import Tandem

extension DiffCommand {
  /// Compares two lists with their order, prints the differences, and returns the exit status.
  static func compareOrder(
    _ old: RecordCollection, _ new: RecordCollection, key: [String], _ arguments: ParsedArguments
  ) throws -> Int32 {
    guard case .list(let old) = old, case .list(let new) = new else {
      throw UsageError("--list compares lists; a table has no order", command: specification)
    }
    for list in [old, new] { _ = try KeyedRecords(list, key: key) }
    let difference = ListDifference(
      from: old, to: new, identifiedBy: { record in RecordKey(key.map { record[$0] }) })
    if !arguments[Option.quiet] {
      try print(difference, to: new, key: key, isJSON: arguments[Option.json])
    }
    return difference.isEmpty ? 0 : 1
  }

  private static func print(
    _ difference: ListDifference<Record>, to new: [Record], key: [String], isJSON: Bool
  ) throws {
    let output = OutputStream(descriptor: STDOUT_FILENO)
    if isJSON {
      try output.write { difference.appendJSON(to: &$0) }
    } else {
      let text = DifferenceText(key: key, terminal: .output)
      for line in difference.lines(text, in: new) { try output.write(line) }
    }
    try output.flush()
  }

  /// Compares two texts by lines, prints a unified diff, and returns the exit status.
  static func compareTexts(_ arguments: ParsedArguments) throws -> Int32 {
    let others: [any CommandOption] = [
      Option.json, Option.list, Option.key, Option.table, Option.format,
    ]
    for option in others where arguments.has(option) {
      throw arguments.error("--text does not combine with --\(option.name)")
    }
    let names = arguments.operands
    try arguments.checkFiles(names, of: Option.text)
    let diff = UnifiedDiff(
      from: try text(of: names[0]), to: try text(of: names[1]), oldName: names[0],
      newName: names[1])
    if !arguments[Option.quiet] {
      let output = OutputStream(descriptor: STDOUT_FILENO)
      try output.write(diff.description)
      try output.flush()
    }
    return diff.isEmpty ? 0 : 1
  }

  private static func text(of name: String) throws -> String {
    guard let text = String(validating: try FileText.bytes(of: name), as: UTF8.self) else {
      throw FileError(path: name, action: "read", reason: "these bytes are not UTF-8")
    }
    return text
  }
}

extension ListDifference<Record> {
  /// A line for each change: first the deletions, then the other changes in the order of the new list.
  fileprivate func lines(_ text: DifferenceText, in new: [Record]) -> [String] {
    var placed = insertions.map { ($0.offset, 0, text.line(.inserted($0.element))) }
    placed += moves.map { ($0.to, 1, text.line(moved: new[$0.to], from: $0.from, to: $0.to)) }
    placed += updates.map { ($0.newOffset, 2, text.line(.updated(old: $0.old, new: $0.new))) }
    placed.sort { ($0.0, $0.1) < ($1.0, $1.1) }
    return deletions.map { text.line(.deleted($0.element)) } + placed.map(\.2)
  }

  /// Appends the object that `--list --json` prints, with its line feed.
  fileprivate func appendJSON(to bytes: inout [UInt8]) {
    bytes.appendJSON { json in
      json.object { json in
        json.field("deletions") { $0.array(of: deletions) { $0.write(to: &$1) } }
        json.field("insertions") { $0.array(of: insertions) { $0.write(to: &$1) } }
        json.field("moves") { json in
          json.array(of: moves) { move, json in
            json.object { json in
              json.field("from", move.from)
              json.field("to", move.to)
            }
          }
        }
        json.field("updates") { json in
          json.array(of: updates) { update, json in
            json.object { json in
              json.field("oldOffset", update.oldOffset)
              json.field("newOffset", update.newOffset)
              json.field("old", update.old)
              json.field("new", update.new)
            }
          }
        }
      }
    }
    bytes.append(UInt8(ascii: "\n"))
  }
}

extension ListPlacement<Int, Record> {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.field("offset", offset)
      json.field("element", element)
    }
  }
}
