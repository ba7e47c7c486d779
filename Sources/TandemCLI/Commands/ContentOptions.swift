import Tandem

/// What `tandem mirror` was asked to do about contents.
struct ContentOptions {
  var directory: String
  var contents: [MirroredContent]
  var concurrency: Int
  var policy: MirrorErrorPolicy
  var timeout: Duration?

  /// The options; `nil` if there are no contents to mirror.
  init?(_ arguments: ParsedArguments, timeout: Duration?) throws(UsageError) {
    let command = MirrorCommand.specification
    let isContinuing = arguments.has("continue-on-error")
    var contents: [MirroredContent] = []
    let maxByteCount =
      try arguments.byteCount("max-bytes", command) ?? FileRequest.defaultMaxByteCount
    if let field = arguments["preview"] {
      contents.append(
        MirroredContent(
          .preview, field: field, isRequired: !isContinuing, maxByteCount: maxByteCount))
    }
    if let field = arguments["content"] {
      contents.append(
        MirroredContent(
          field: field, digestField: arguments["sha256"], byteCountField: arguments["length"],
          maxByteCount: maxByteCount))
    }
    // A preview is checked by nothing.
    let needy = contents.isEmpty ? ["into", "concurrency", "continue-on-error"] : []
    for name in needy + ["sha256", "length"] where arguments.has(name) && !arguments.has("content")
    {
      throw UsageError("--\(name) needs --content", command: command)
    }
    guard !contents.isEmpty else { return nil }
    if contents.count == 2, contents[0].field == contents[1].field {
      throw UsageError("--preview and --content name different fields", command: command)
    }
    guard let directory = arguments["into"], !directory.isEmpty else {
      throw UsageError("--into is missing: the directory for the files", command: command)
    }
    self.directory = directory
    self.contents = contents
    self.timeout = timeout
    policy = isContinuing ? .continue : .stop
    concurrency =
      try arguments.count("concurrency", in: 1...MirrorOptions.maxConcurrency, command) ?? 0
  }
}
