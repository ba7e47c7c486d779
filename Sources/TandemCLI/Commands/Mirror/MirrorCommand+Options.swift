import Tandem

extension MirrorCommand {
  /// The options of the command, checked.
  struct Options {
    var source: RecordSource
    var path: String
    var mirror: DatabaseMirror
    var list = RecordListOptions()
    var pause: Duration?
    var isUnconditional: Bool
    var isQuiet: Bool
    var isJSON: Bool
    var showsAll: Bool

    init(_ arguments: ParsedArguments) throws {
      let table = try arguments.required(Option.table, "the table to mirror into")
      let typed = RecordSource(arguments.operands[0])
      path = arguments.operands[1]
      let key: [String]
      let ofTable = try MirrorCommand.SourceTable(typed, into: table, arguments)
      if let ofTable {
        key = ofTable.key
      } else {
        key =
          try arguments[Option.noKey]
          ? []
          : arguments.required(Option.key, "the fields that identify a record, or --no-key")
      }
      let ofKeys: [any CommandOption] = [Option.key, Option.content, Option.preview]
      for option in ofKeys where arguments[Option.noKey] && arguments.has(option) {
        throw arguments.error("--no-key does not combine with --\(option.name)")
      }
      isUnconditional = arguments[Option.unconditional]
      isQuiet = arguments[Flag.quiet]
      isJSON = arguments[Option.json]
      try arguments.checkQuietJSON(Flag.quiet, Option.json)
      showsAll = arguments[Option.all]
      let request = try ListRequest(arguments, format: arguments[Option.format])
      list = request.list
      list.csv = try arguments.csvOptions()
      if let format = list.format { try arguments.checkCSVOptions(for: [format]) }
      list.key = key
      let contents = try Self.contents(arguments)
      let sources = try request.sources(
        [arguments.operands[0]], fetchesContents: !contents.isEmpty)
      source = ofTable?.source ?? sources[0]
      let directory =
        contents.isEmpty
        ? nil : try arguments.required(Option.into, "the directory for the files")
      mirror = DatabaseMirror(
        table: table, key: key, contents: contents,
        directory: directory,
        mirrorGuard: MirrorGuard(
          deletionLimit: arguments[Option.maxDeletes],
          allowsEmptySource: arguments[Option.allowEmpty]),
        isDryRun: arguments[Option.dryRun])
      mirror.retry = ListRequest.retry(arguments)
      mirror.clientOptions = request.client
      mirror.widensColumns = arguments[Option.widen]
      for argument in arguments.all(Option.type) {
        guard mirror.columnTypes.updateValue(argument.type, forKey: argument.column) == nil else {
          throw arguments.error("--type names the column \(argument.column) twice")
        }
      }
      mirror.revalidatesContents = arguments[Option.revalidate]
      mirror.concurrency = arguments[Option.concurrency] ?? 0
      pause = arguments[Option.every]
      if pause != nil, case .standardInput = source {
        throw arguments.error("--every needs a list that can be read again")
      }
      try Self.check(source, arguments)
      if !isQuiet, !isJSON { list.onLastPage = list.paging.singlePageNote }
    }
  }
}

extension MirrorCommand.Options {
  private typealias Option = MirrorCommand.Option

  /// The contents that the options name; none for a table alone.
  private static func contents(
    _ arguments: ParsedArguments
  ) throws(UsageError) -> [MirroredContent] {
    var contents: [MirroredContent] = []
    let goesOn = arguments[Option.continueOnError]
    if let field = arguments[Option.preview] {
      contents.append(MirroredContent(.preview, field: field, isRequired: !goesOn))
    }
    if let field = arguments[Option.content] {
      contents.append(
        MirroredContent(
          field: field, digestField: arguments[Option.sha256],
          byteCountField: arguments[Option.length]))
    }
    // Previews are not verified.
    if !arguments.has(Option.content) {
      try arguments.checkAbsent([Option.sha256, Option.length], "needs --content")
    }
    if contents.isEmpty {
      try arguments.checkAbsent(
        [Option.into, Option.revalidate, Option.concurrency, Option.continueOnError],
        "needs --content or --preview: the field with the address of each file")
    }
    if contents.count == 2, contents[0].field == contents[1].field {
      throw arguments.error("--preview and --content must name different fields")
    }
    for position in contents.indices {
      if let byteCount = arguments[ListRequest.Option.maxBytes] {
        contents[position].maxByteCount = byteCount
        contents[position].maxDecompressedByteCount = byteCount
      }
      contents[position].errorPolicy = goesOn ? .continue : .stop
      contents[position].timeout = arguments[ListRequest.Option.timeout]
    }
    return contents
  }

  /// Rejects a source that cannot be mirrored, and options that would have no effect on it.
  private static func check(
    _ source: RecordSource, _ arguments: ParsedArguments
  ) throws(UsageError) {
    if case .url = source { return }
    let fetchesContents = arguments.has(Option.content) || arguments.has(Option.preview)
    if !fetchesContents {
      try arguments.checkAbsent(
        [Option.unconditional], "is for a list from a URL, or for --content")
    }
  }
}

/// A value of `--type`.
struct ColumnTypeArgument {
  let column: String
  let type: ColumnType

  init?(_ text: String) {
    guard let equals = text.lastIndex(of: "="), equals > text.startIndex else { return nil }
    let word = text[text.index(after: equals)...].uppercased()
    let types: [ColumnType] = [.integer, .real, .text, .any]
    guard let type = types.first(where: { $0.name == word }) else { return nil }
    column = String(text[..<equals])
    self.type = type
  }
}

extension RecordPaging {
  /// Reports that a list in pages has only one; `nil` if no field names the next page.
  ///
  /// One page may be the whole list. But if the name of the field is misspelt or has changed, nothing else
  /// shows that the rows of all other pages are deleted.
  var singlePageNote: (@Sendable (_ pageCount: Int) -> Void)? {
    guard let place = placeOfNext else { return nil }
    return { pageCount in
      guard pageCount == 1 else { return }
      // Removes the progress bar from the line of the note.
      if Terminal.error.isTerminal {
        try? OutputStream.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
      }
      TandemCLI.report(
        "note: the list has only one page: it names no next page \(place)")
    }
  }

  /// The place in which a page names the next one.
  private var placeOfNext: String? {
    switch self {
    case .link: "in a Link field with rel=next"
    case .header(let name, _): "in the field \(name) of the response"
    case .cursor(let field, _): "in the field \(field)"
    case .none, .first, .last, .offset, .number: nil
    }
  }
}
