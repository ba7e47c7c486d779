import Tandem

extension DiffCommand {
  /// The comparison of two databases as wholes; `nil` if the options or the databases select one table.
  static func databases(
    _ sides: [Side], _ arguments: ParsedArguments
  ) throws -> DatabaseComparison? {
    guard !arguments.has(Option.table) else { return nil }
    let comparison = DatabaseComparison(from: sides[0].database, to: sides[1].database)
    let names = try sides.compactMap(\.database).map { database in
      try database.read { try $0.tableNames() }
    }
    if names.count == sides.count, names.allSatisfy({ $0.count == 1 }) {
      // The only tables of two files may have different names.
      guard names[0][0].isSameSQLName(as: names[1][0]), !arguments.has(Option.key),
        try needsWholeComparison(comparison)
      else { return nil }
      return comparison
    }
    guard !arguments.has(Option.key) else {
      throw arguments.error("--key is for one table: choose it with --table")
    }
    return comparison
  }

  /// True if a comparison of rows by key would leave out a difference, or has no key.
  private static func needsWholeComparison(
    _ comparison: DatabaseComparison
  ) throws -> Bool {
    var isNeeded = false
    let objects = try comparison.forEachTable { table in
      let hasPrimaryKey = table.old?.primaryKey.isEmpty == false
      if try table.hasSchemaChange || table.hasNullKeys
        || !(hasPrimaryKey || table.identifiesRows("id"))
      {
        isNeeded = true
      }
    }
    return isNeeded || !objects.isEmpty
  }

  /// Compares two databases; returns true if they differ.
  static func compare(
    _ comparison: DatabaseComparison, _ arguments: ParsedArguments
  ) throws -> Bool {
    let output = DifferenceOutput(arguments)
    if output.isJSON { try output.write { $0 += Array(#"{"tables":["#.utf8) } }
    var isFirst = true
    let objects = try comparison.forEachTable { table in
      if output.isJSON {
        try writeJSON(table, after: isFirst ? "" : ",", to: output)
      } else {
        try writeLines(table, to: output)
      }
      isFirst = false
    }
    if output.isJSON {
      try output.write { bytes in
        bytes += Array(#"],"objects":"#.utf8)
        bytes.appendJSON { json in
          json.array(of: objects) { object, json in
            json.object { json in
              json.field("type", object.type)
              json.field("name", object.name)
              json.field("old", object.old)
              json.field("new", object.new)
            }
          }
        }
        bytes += Array("}\n".utf8)
      }
    } else {
      let text = DifferenceText(key: [], terminal: .output)
      for object in objects {
        let (mark, color) = Self.mark(isOld: object.old != nil, isNew: object.new != nil)
        try output.write(text.line(mark, "\(object.type) \(object.name)", color))
      }
    }
    try output.flush()
    return output.hasDifferences || !objects.isEmpty
  }

  private static func mark(isOld: Bool, isNew: Bool) -> (String, Terminal.Color) {
    isOld ? isNew ? ("~", .yellow) : ("-", .red) : ("+", .green)
  }

  private static func writeLines(
    _ table: DatabaseComparison.Table, to output: DifferenceOutput
  ) throws {
    let text = DifferenceText(key: table.key, terminal: .output, isOfTables: true)
    var hasTitle = false
    func write(_ line: String) throws {
      if !hasTitle { try output.write("table \(table.name.escapingControls())\n") }
      hasTitle = true
      try output.write(line)
    }
    if table.old == nil || table.new == nil {
      let (mark, color) = mark(isOld: table.old != nil, isNew: table.new != nil)
      try write(text.line(mark, "table \(table.old ?? table.new!)", color))
    }
    for change in table.columnChanges {
      let (mark, color) = mark(isOld: change.old != nil, isNew: change.new != nil)
      let types = [change.old, change.new].compactMap { $0 }
        .map { $0.isEmpty ? "without type" : $0 }
      try write(
        text.line(mark, "column \(change.name) \(types.joined(separator: " → "))", color))
    }
    if let (old, new) = table.keyChange {
      try write(
        text.line(
          "~", "key \(old.joined(separator: ", ")) → \(new.joined(separator: ", "))", .yellow))
    }
    if table.declarationChange != nil { try write(text.line("~", "declaration", .yellow)) }
    try table.forEachChange { try write(text.line($0)) }
  }

  private static func writeJSON(
    _ table: DatabaseComparison.Table, after separator: String, to output: DifferenceOutput
  ) throws {
    try output.write { bytes in
      bytes += Array(separator.utf8)
      bytes += Array(#"{"table":"#.utf8)
      bytes.appendJSON { $0.write(table.name) }
      bytes += Array(#","old":"#.utf8)
      bytes.appendJSON { $0.write(table.old != nil) }
      bytes += Array(#","new":"#.utf8)
      bytes.appendJSON { $0.write(table.new != nil) }
      bytes += Array(#","columns":"#.utf8)
      bytes.appendJSON { json in
        json.array(of: table.columnChanges) { change, json in
          json.object { json in
            json.field("name", change.name)
            json.field("old", change.old)
            json.field("new", change.new)
          }
        }
      }
      bytes += Array(#","declaration":"#.utf8)
      bytes.appendJSON { json in
        guard let (old, new) = table.declarationChange else { return json.writeNull() }
        json.object { json in
          json.field("old", old)
          json.field("new", new)
        }
      }
      bytes += Array(",".utf8)
    }
    if table.hasSchemaChange { output.noteDifference() }
    try output.writeFields { try table.forEachChange($0) }
    try output.write { $0 += Array("}".utf8) }
  }
}
