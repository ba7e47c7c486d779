import Tandem

extension MirrorCommand {
  /// The options of the command, checked.
  struct Options {
    var source: RecordSource
    var path: String
    var mirror: DatabaseMirror
    var list = RecordListOptions()
    var watchInterval: Duration?
    var isUnconditional: Bool
    var isQuiet: Bool
    var isJSON: Bool
    var showsAll: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
      let command = MirrorCommand.specification
      guard let table = arguments["table"], !table.isEmpty else {
        throw UsageError("--table is missing: the table to mirror into", command: command)
      }
      guard let key = try arguments.key(command) else {
        throw UsageError("--key is missing: the fields that identify a record", command: command)
      }
      source = RecordSource(arguments.operands[0])
      path = arguments.operands[1]
      isUnconditional = arguments.has("unconditional")
      isQuiet = arguments.has("quiet")
      isJSON = arguments.has("json")
      showsAll = arguments.has("all")
      let mirrorGuard = try arguments.mirrorGuard()
      let timeout = try arguments.seconds("timeout", command)
      let retryCount = try arguments.count("retries", in: 0...1_000, command)
      let retry = MirrorRetryPolicy(
        maxAttemptCount: 1 + (retryCount ?? MirrorCommand.defaultRetryCount))
      list.format = try arguments.format(command)
      list.itemsField = arguments["items"]
      if list.itemsField != nil, let format = list.format, format != .json {
        throw UsageError("--items is for JSON, not for \(format.rawValue)", command: command)
      }
      list.fields = try arguments.headers(command)
      list.paging = try arguments.paging(command)
      list.key = key
      list.timeouts = timeout.map { HTTPTimeouts(total: $0) }
      let maxByteCount = try arguments.byteCount("max-bytes", command)
      if let maxByteCount {
        (list.maxByteCount, list.maxDecompressedByteCount) = (maxByteCount, maxByteCount)
      }
      list.retry.maxAttemptCount = retry.maxAttemptCount
      (list.retry.firstDelay, list.retry.maxDelay) = (retry.firstDelay, retry.maxDelay)
      let contents = try arguments.mirroredContents(timeout: timeout, maxByteCount: maxByteCount)
      mirror = DatabaseMirror(
        table: table, key: key, contents: contents,
        directory: try arguments.directory(for: contents), mirrorGuard: mirrorGuard,
        isDryRun: arguments.has("dry-run"))
      mirror.retry = retry
      mirror.concurrency =
        try arguments.count("concurrency", in: 1...MirrorOptions.maxConcurrency, command) ?? 0
      watchInterval = try arguments.seconds("watch", command)
      if watchInterval != nil, case .standardInput = source {
        throw UsageError("--watch needs a list that can be read again", command: command)
      }
      try arguments.checkMirrorSource(source)
      if !isQuiet, !isJSON { list.onLastPage = list.paging.singlePageNote }
    }
  }
}

extension ParsedArguments {
  fileprivate func mirrorGuard() throws(UsageError) -> MirrorGuard {
    var mirrorGuard = MirrorGuard(allowsEmptySource: has("allow-empty"))
    guard let text = self["max-deletes"] else { return mirrorGuard }
    mirrorGuard.deletionLimit = MirrorDeletionLimit(text)
    guard mirrorGuard.deletionLimit != nil else {
      throw UsageError(
        "--max-deletes takes a count such as 10 or a percentage such as 50%, not '\(text)'",
        command: MirrorCommand.specification)
    }
    return mirrorGuard
  }

  /// The contents that the options name; none for a table alone.
  fileprivate func mirroredContents(
    timeout: Duration?, maxByteCount: Int?
  ) throws(UsageError) -> [MirroredContent] {
    let command = MirrorCommand.specification
    var contents: [MirroredContent] = []
    if let field = self["preview"] {
      contents.append(
        MirroredContent(.preview, field: field, isRequired: !has("continue-on-error")))
    }
    if let field = self["content"] {
      contents.append(
        MirroredContent(
          field: field, digestField: self["sha256"], byteCountField: self["length"]))
    }
    // A preview is checked by nothing.
    let needy = contents.isEmpty ? ["into", "concurrency", "continue-on-error"] : []
    for name in needy + ["sha256", "length"] where has(name) && !has("content") {
      throw UsageError("--\(name) needs --content", command: command)
    }
    if contents.count == 2, contents[0].field == contents[1].field {
      throw UsageError("--preview and --content name different fields", command: command)
    }
    for position in contents.indices {
      contents[position].maxByteCount = maxByteCount ?? FileRequest.defaultMaxByteCount
      contents[position].errorPolicy = has("continue-on-error") ? .continue : .stop
      contents[position].timeout = timeout
    }
    return contents
  }

  fileprivate func directory(for contents: [MirroredContent]) throws(UsageError) -> String? {
    guard !contents.isEmpty else { return nil }
    guard let directory = self["into"], !directory.isEmpty else {
      throw UsageError(
        "--into is missing: the directory for the files", command: MirrorCommand.specification)
    }
    return directory
  }
}

extension RecordPaging {
  /// Notes that a list in pages has only one; `nil` if its pages end without a field that could be missing.
  ///
  /// One page may be all there is. But nothing else shows that the field that leads on was misspelt, or has
  /// another name now, so that the rows of all other pages are deleted.
  fileprivate var singlePageNote: (@Sendable (_ pageCount: Int) -> Void)? {
    guard let place = placeOfNext else { return nil }
    return { pageCount in
      guard pageCount == 1 else { return }
      // The bar of a list that took long stands where the note goes.
      if Terminal.error.isTerminal {
        try? OutputStream.write(Array("\r\u{1B}[K".utf8), to: STDERR_FILENO)
      }
      TandemCLI.report(
        "note: the list has one page, which does not say where a next one is, \(place)")
    }
  }

  /// The place where a page names the next one.
  private var placeOfNext: String? {
    switch self {
    case .link: "in a Link field with rel=next"
    case .cursor(let field, _): "in the field \(field)"
    case .none, .offset, .number: nil
    }
  }
}
