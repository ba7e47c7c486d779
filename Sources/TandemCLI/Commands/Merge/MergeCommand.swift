import Tandem

/// `tandem merge`: merges two versions of a list.
enum MergeCommand: Command {
  static let failureStatus = ExitStatus.failure

  /// The options, each declared once.
  enum Option {
    static let base = ValueOption<String>(
      "base", "FILE", help: "The version that both sides started from.")
    static let unknownBase = Flag(
      "unknown-base", help: "There is no such version: keep the records of both sides.")
    static let local = ValueOption<String>(
      "local", "FILE",
      help:
        "One version: a file with a JSON array, NDJSON or CSV, - for\nstandard input, or an http(s) URL. Required."
    )
    static let remote = ValueOption<String>("remote", "FILE", help: "The other version. Required.")
    static let key = ValueOption.key(help: "The fields that identify a record. Required.")
    static let by = ValueOption<Granularity>(
      "by", "HOW",
      help:
        "record: merge whole records (default). field: also merge\nedits of different fields of one record."
    )
    static let text = ValueOption<String>(
      "text", "FIELD[,FIELD]", isRepeatable: true,
      help:
        "Merge the edits of both sides to this text. Some record\nmust have the field. May be repeated."
    )
    static let prefer = ValueOption<Preference>(
      "prefer", "WHICH",
      help:
        "Resolve conflicts of records and columns: local or remote\nkeeps this version; edits keeps an edit in place of a\ndeletion."
    )
    static let format = ValueOption<RecordFormat>(
      "format", "FORMAT", help: "json, ndjson, csv or tsv, if the names do not show it.")
    static let path = ValueOption<String>(
      "path", "PATH",
      help:
        "The name of the list, if the files have other names.\nMessages name it, and a file that is no list is merged\nas text."
    )
    static let conflicts = ValueOption<ConflictForm>(
      "conflicts", "FORM",
      help:
        "An unresolved conflict in the merged list: markers:\nboth versions, between lines with <<<<<<<, ======= and\n>>>>>>> (default with --path); local: the local version\n(default without); file: the local version, and both in\nthe file PATH.conflicts.json."
    )
    static let json = Flag("json", help: "Print one JSON object instead of the list.")
    static let output = ValueOption<String>(
      "output", "OUT", letter: "o",
      help: "Replace this file atomically by the list;\n- is standard output.")
  }

  static let specification = CommandSpecification(
    name: "merge",
    summary: "Merge two versions of a list over their common base.",
    discussion: """
      Merges lists of records by key. A change by one side is applied. Different changes of one
      record by both sides are a conflict. Prints the merged list in the format of LOCAL, and a report on
      standard error, with both versions of each record in conflict.

      The order of the records is that of the side that changed it. If both sides changed it in
      different ways, it is that of REMOTE, and the report has a note. With --comment, the comment
      lines of CSV belong to the record below them, and merge in the same way. If both sides changed
      those of one record, the list has those of LOCAL. If one side changed those of a record that the
      other side deleted, the list lacks them. In both cases, the report has a note.

      The values of JSON have the types of JSON: a change of 1 to 1.0, true or "1" is a change. The
      order of fields, white space and escapes do not count. The cells of CSV are texts. A column of
      CSV that one side removed or renamed is removed or renamed in the merged list. It is a conflict
      if the other side changed a cell of a removed column, or renamed it too.

      With --path, as a git merge driver, a file that is no list of records, or whose records lack the
      key, is merged by lines, as git would merge it. Its conflicts have the form of git's setting
      merge.conflictStyle.

      With --by field, a record that both sides edited is merged field by field. With --text, the
      edits of both sides to a text are merged by lines and words. --prefer resolves the remaining
      conflicts of records and columns, but does not decide on their order, nor on comments.

      --json prints an object with "merged" (with the local version of each unresolved conflict),
      "conflicts" (each with key, kind, base, local, remote and resolution), "columns" (conflicts of
      columns, with the same fields), "notes" (those of the report, as texts), "toLocal" and "toRemote",
      the differences to the merged list:
      \(setDifferenceShape)

      It can be used as a git merge driver:
        git config merge.tandem.driver \\
          'tandem merge --base %O --local %A --remote %B --path %P --key id -o %A'
        echo '*.json merge=tandem' >> .gitattributes
      """,
    exitStatus: "0 merged, 1 unresolved conflicts, 2 errors.",
    operands: [],
    options: [
      Option.base, Option.unknownBase, Option.local, Option.remote, Option.key, Option.by,
      Option.text, Option.prefer, Option.conflicts, Option.format, Option.path, Option.json,
      Option.output, Flag.quiet,
    ] + ListRequest.options + CSVOption.ofMerge,
    examples: [
      "tandem merge --base base.json --local mine.json --remote theirs.json --key id",
      "tandem merge --unknown-base --local a.csv --remote b.csv --key id --prefer remote -o c.csv",
      "tandem merge --base b.json --local l.json --remote r.json --key id --by field --text body",
      "tandem merge --base b.json --local l.json --remote https://example.org/l --key id --header @token",
      "tandem merge --base b.csv --local l.csv --remote r.csv --key id --conflicts markers -o l.csv",
    ])

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = try Options(arguments)
    let versions = try await options.versions()
    let result = try options.merge(versions)
    try options.write(result, of: versions)
    if !options.isQuiet { options.report(result) }
    return result.isResolved ? 0 : 1
  }
}
