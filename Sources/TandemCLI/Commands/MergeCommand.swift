import Tandem

/// `tandem merge`: merges two versions of a list.
enum MergeCommand: Command {
  static let failureStatus: Int32 = 2

  static let specification = CommandSpecification(
    name: "merge",
    summary: "Merge two versions of a list over their common base.",
    discussion: """
      Merges lists of records by key. A change by only one side is taken. Two different changes of
      one record are a conflict. Prints the merged list in the format of LOCAL, and a report on
      standard error. If a conflict stays unresolved, the list keeps the local version.

      With --by field, a record that both sides edited is merged field by field. With --text, the
      edits of both sides to a text are merged by lines and words. --prefer resolves the remaining
      conflicts: in favour of a side, or of an edit over a deletion.

      --json prints an object with "merged", "conflicts" (each with key, kind, base, local, remote
      and resolution), "toLocal" and "toRemote", the differences to the merged list.

      It can be used as a git merge driver:
        git config merge.tandem.driver \\
          'tandem merge --base %O --local %A --remote %B --path %P --key id -o %A'
        echo '*.json merge=tandem' >> .gitattributes

      Exit status: 0 merged, 1 unresolved conflicts, 2 errors.
      """,
    operands: [],
    options: [
      .init(name: "base", value: "FILE", help: "The version that both sides started from."),
      .init(name: "unknown-base", help: "There is no such version: keep what either side has."),
      .init(
        name: "local", value: "FILE",
        help:
          "One version: a file with a JSON array, NDJSON or CSV,\nor - for standard input. Required."
      ),
      .init(name: "remote", value: "FILE", help: "The other version. Required."),
      .init(
        name: "key", value: "FIELD[,FIELD]", help: "The fields that identify a record. Required."),
      .init(
        name: "by", value: "HOW",
        help:
          "record: a record is one thing (default). field: edits of\ndifferent fields go together."),
      .init(
        name: "text", value: "FIELD[,FIELD]", isRepeatable: true,
        help: "Merge the edits of this text, which some record has.\nMay be repeated."),
      .init(
        name: "prefer", value: "WHICH",
        help: "Resolve conflicts: local, remote, or edits, by which an\nedit beats a deletion."),
      .init(name: "format", value: "FORMAT", help: "json, ndjson or csv, if names do not tell."),
      .init(
        name: "path", value: "PATH",
        help: "What the list is called, if the files have other names."),
      .init(name: "json", help: "Print one JSON object instead of the list."),
      .init(
        name: "output", value: "OUT", letter: "o",
        help: "Write the list to this file, whole or not at all;\n- is standard output."),
      .init(name: "quiet", letter: "q", help: "Say nothing on standard error but errors."),
    ],
    examples: [
      "tandem merge --base base.json --local mine.json --remote theirs.json --key id",
      "tandem merge --unknown-base --local a.csv --remote b.csv --key id --prefer remote -o c.csv",
      "tandem merge --base b.json --local l.json --remote r.json --key id --by field --text body",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = try Options(arguments)
    let versions = try options.versions()
    let merge = try options.merge(versions)
    if let path = options.output {
      try AtomicFile.write(options.listText(merge, versions), to: path)
    }
    let output = OutputStream(descriptor: STDOUT_FILENO)
    if options.printsJSON {
      try output.write { merge.appendJSON(to: &$0) }
    } else if options.output == nil {
      let text = options.listText(merge, versions)
      try output.write { $0 += text }
    }
    try output.flush()
    if !options.isQuiet { options.report(merge) }
    return merge.unresolved.isEmpty ? 0 : 1
  }
}
