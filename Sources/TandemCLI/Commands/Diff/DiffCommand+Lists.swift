import Tandem

extension DiffCommand {
  /// Compares two lists by the types of their format; returns true if they differ.
  static func compareLists(
    _ old: ListText, _ new: ListText, _ arguments: ParsedArguments
  ) throws -> Bool {
    let key = arguments[Option.key] ?? ["id"]
    // A file that was added or deleted has no columns of its own to report.
    let isWhole = old.columns.isEmpty || new.columns.isEmpty
    let columns =
      isWhole ? ColumnDifference() : ColumnDifference(from: old.columns, to: new.columns)
    var (old, new) = (old, new)
    // A column that only one list has is empty in the other.
    old.addColumns(of: new)
    new.addColumns(of: old)
    old.lift(key)
    new.lift(key)
    let keyed = try zip([old, new], arguments.operands).map { list, name in
      do throws(RecordError) {
        return try KeyedListText(list, by: key)
      } catch {
        throw SourceError(source: RecordSource(name), error: error.advisingKey(arguments))
      }
    }
    if arguments[Option.list] {
      let difference = ListDifference(from: old, to: new, key: key)
      let isChanged = try write(difference, to: new.records, key: key, arguments)
      return isChanged || !columns.isEmpty
    }
    let difference = SetDifference(from: keyed[0], to: keyed[1])
    return try write(key: key, columns: columns, arguments) { try difference.forEachChange($0) }
  }

  /// Compares two lists as bags of records; returns true if they differ.
  static func compareBags(_ lists: [ListText], _ arguments: ParsedArguments) throws -> Bool {
    guard lists[0].format.isCSV == lists[1].format.isCSV else {
      let records = try zip(lists, arguments.operands).map {
        try Self.records(of: .list($0), $1, [:], key: [])
      }
      let difference = SetDifference(fromBag: records[0], to: records[1])
      return try write(key: [], arguments) { try difference.forEachChange($0) }
    }
    let isWhole = lists[0].columns.isEmpty || lists[1].columns.isEmpty
    let columns =
      isWhole
      ? ColumnDifference() : ColumnDifference(from: lists[0].columns, to: lists[1].columns)
    var (old, new) = (lists[0], lists[1])
    old.addColumns(of: new)
    new.addColumns(of: old)
    let difference = SetDifference(fromBag: old, to: new)
    return try write(key: [], columns: columns, arguments) { try difference.forEachChange($0) }
  }

  /// Compares two texts by lines; returns true if they differ. Of files that are no texts in UTF-8, it
  /// says only that they differ.
  static func compareTexts(_ arguments: ParsedArguments) throws -> Bool {
    let others: [any CommandOption] = [
      Option.json, Option.list, Option.key, Option.noKey, Option.table, Option.format,
    ]
    for option in others + ListRequest.options + CSVOption.all where arguments.has(option) {
      throw arguments.error("--text does not combine with --\(option.name)")
    }
    let names = arguments.operands
    try arguments.checkFiles(names, of: Option.text)
    let labels = labels(arguments)
    let files = try names.map { try FileText.bytes(of: $0) }
    let texts = files.compactMap { String(validating: $0, as: UTF8.self) }
    let output: String
    if texts.count == files.count {
      output =
        UnifiedDiff(from: texts[0], to: texts[1], oldName: labels[0], newName: labels[1])
        .description
    } else if files[0] != files[1] {
      let shown = labels.map { $0.escapingControls() }
      output = "Binary files \(shown[0]) and \(shown[1]) differ\n"
    } else {
      output = ""
    }
    if !arguments[Option.quiet] {
      let stream = OutputStream(descriptor: STDOUT_FILENO)
      try stream.write(output)
      try stream.flush()
    }
    return !output.isEmpty
  }
}
