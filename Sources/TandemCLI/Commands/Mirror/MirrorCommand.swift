import Tandem

/// `tandem mirror`: makes a table equal to a list.
enum MirrorCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let table = ValueOption<String>("table", "T", help: "The table. Required.")
    static let fromTable = ValueOption<String>(
      "from-table", "T",
      help: "The table of SOURCE, if it is a SQLite file (default: that\nof --table).")
    static let key = ValueOption.key(
      help:
        "The fields that identify a record. Required, unless SOURCE\nis a table with a primary key."
    )
    static let noKey = Flag(
      "no-key",
      help:
        "Make the table equal to the list without a key: each row\noccurs as often as its record. For tables "
        + "without a primary\nkey.")
    static let format = ValueOption<RecordFormat>(
      "format", "FORMAT",
      help: "json, ndjson, csv or tsv, if neither name nor content\nshows it.")
    static let type = ValueOption<ColumnTypeArgument>(
      "type", "COLUMN=TYPE", isRepeatable: true,
      takes: "a column and INTEGER, REAL, TEXT or ANY, as in code=TEXT",
      help:
        "Create this column with this type: INTEGER, REAL, TEXT or\nANY (default: the narrowest type "
        + "for its values). May be\nrepeated."
    ) { ColumnTypeArgument($0) }
    static let maxDeletes = ValueOption<MirrorDeletionLimit>(
      "max-deletes", "N|P%",
      takes: "a count such as 10 or a percentage such as 50%",
      help: "Refuse to delete more rows than this (default: 50%,\nfor tables of more than "
        + "\(MirrorDeletionLimit.maxUnguardedCount) rows)."
    ) { MirrorDeletionLimit($0) }
    static let allowEmpty = Flag(
      "allow-empty", help: "Allow an empty list, which deletes all rows.")
    static let widen = Flag(
      "widen",
      help: "Remove the type of a column that a value does not fit\n(007 in INTEGER). Rebuilds the "
        + "table; rows, indexes,\ntriggers, tracking and views stay.")
    static let unconditional = Flag(
      "unconditional",
      help: "Request the whole list, and each content, even if it did\nnot change.")
    static let revalidate = Flag(
      "revalidate",
      help:
        "Ask for each content again, though its record did not\nchange; one that did not change "
        + "is not sent again.")
    static let dryRun = Flag(
      "dry-run", letter: "n", help: "Write nothing; show the changes.")
    static let all = Flag("all", help: "Show every change, not just the first \(maxLineCount).")
    static let json = Flag(
      "json",
      help: """
        Print the whole difference as one JSON object:
        \(setDifferenceShape)
        With --content, print events (see above).
        """)
    static let every = ValueOption.seconds(
      "every",
      help:
        "Repeat the run after this pause, until Ctrl-C. After\nfailures the pause grows, up to "
        + "\(DatabaseMirror.Runs.maxFailureInterval.components.seconds / 60) min.")
    static let content = ValueOption<String>(
      "content", "FIELD", help: "Fetch the content at the address in this field.")
    static let preview = ValueOption<String>(
      "preview", "FIELD", help: "Fetch previews from this field, before all contents.")
    static let into = ValueOption<String>(
      "into", "DIR",
      help:
        "The directory for files: a new or empty one, or the one\nthat this mirror used before; "
        + "not inside another\nmirror's directory.")
    static let sha256 = ValueOption<String>(
      "sha256", "FIELD", help: "Check contents by the SHA-256 in this field (null: no check).")
    static let length = ValueOption<String>(
      "length", "FIELD",
      help: "Check contents by the number of bytes in this field\n(null: no check).")
    static let concurrency = ValueOption(
      "concurrency", in: 1...MirrorOptions.maxConcurrency,
      help: "Fetch at most N files at a time (default: \(MirrorOptions.automaticConcurrency)); "
        + "fewer if the\nlimit of open files is lower (ulimit -n).")
    static let continueOnError = Flag(
      "continue-on-error", help: "Continue if the content of a record cannot be fetched.")
  }

  static let specification = CommandSpecification(
    name: "mirror",
    summary: "Make a table of a SQLite database equal to a list.",
    discussion: """
      Reads a list of records and makes a table equal to it, in one transaction: readers see
      the old list or the new one. Only differences are written. A missing table is created, and
      a column is added for each new field. Columns for which the list never had a field are not
      changed. Shows the rows that were inserted (+), updated (~) and deleted (-).

      A value that its column would change, or reject, is an error: 007 in a column of type
      INTEGER, or abc in one of a STRICT table. With --widen, the column loses its type, and keeps
      every value from then on. These are no errors: 1.0 and "1" in a column of type INTEGER, which
      stores both as 1, and a number in a column of type TEXT, which stores its digits; the cells of
      CSV stay as they are there.

      The cells of CSV have no types. A new column becomes INTEGER or REAL if all cells are numbers
      from which no digit is lost, else TEXT; the output names the types. 01234, +49 and 1e5 are
      texts. If quotes surround all cells of the list, they are left out of account. --type sets
      another type. The types of a table decide how its cells are read later, and a row keeps its
      key: 17 in the list is 17 or "17" in a column without a type.

      SOURCE may also be a SQLite file. The table of the same name, or of --from-table, is then
      the list: all its columns and values, in their types. The primary key is the key.

      An incomplete list changes nothing. CSV and NDJSON may end after any line, so they are
      accepted from a URL only if the server declares their end. A file, or standard input, counts
      as complete at its end; a file that changes while it is read is an error. A response that
      names a next page is rejected without --page. Files and responses in gzip are decompressed
      and verified. A list is rejected if it is empty, or if it would delete more than half of the
      rows of a table of more than \(MirrorDeletionLimit.maxUnguardedCount).

      A URL is not read again if the server confirms that nothing changed (ETag, Last-Modified),
      unless the table, the schema or an option was changed. This holds for each page of a list in
      pages: at the first page that changed, the whole list is read. The whole list is always read if
      a page has no validators, or if there are more than \(RecordListValidators.maxPageCount) pages.
      At the end, the pages are checked once more. If one has other keys by then, all pages are read
      again, up to 3 times; then the run fails. If only values have changed, all pages are read again,
      up to twice; then the table may get values of different moments.

      The tables tandem_mirror and, for files, tandem_mirror_directory keep the state for the next
      run. The database is set to write-ahead logging, so that readers and the writer do not wait
      for each other.

      With --content, the content at the address in this field of each record is stored in
      DIR/content, and the row gets a column FIELD_file with the path in DIR. --preview does the
      same with DIR/preview. A file gets its name only when it is complete. A content is rejected
      if its end cannot be verified, because the server declares no length; --length or --sha256
      then verify it. A content is asked for when its record changed; with --revalidate, in each
      run. Interrupted downloads resume. The rows are written when all files are
      complete, and files without a row are removed last. DIR belongs to the mirror. A run that
      fails does not change the table.
      A record that no longer names a content counts as a deletion for --max-deletes. A list is
      rejected if none of its records has one of the fields. Once rows have files, each run must
      name the same --content and --preview.
      With --continue-on-error, a record whose content failed keeps its old row, or gets none;
      nothing is deleted, and the exit status is 1.

      With --content, --json prints events, one object per line, each with a field "event":
      "phase" (phase), "progress" (stage, done, failed, total, bytes, remainingSeconds),
      "failed" (step, stage, key, attempts, error), and at the end "end" (ok, inserted,
      updated, deleted, transferred, removed, skipped, failed, bytes): removed is the number of
      files. With --dry-run, "wouldFetch" (stage, key, url, file) and "wouldRemove" (file) list the
      files of a run, and "end" has dryRun, wouldFetch and wouldRemove in place of transferred,
      removed, failed and bytes.
      """,
    exitStatus: "0 success, 1 failure, 2 wrong usage. With --every, 0 after Ctrl-C.",
    operands: [
      .init(
        name: "SOURCE",
        help:
          "A JSON array, NDJSON, CSV or TSV, also in gzip: a file, -\nfor standard input, or an http(s) "
          + "URL. Or a SQLite file,\nwith --table."),
      .init(name: "DATABASE", help: "A SQLite file; created if it is missing."),
    ],
    options: [
      Option.table, Option.fromTable, Option.key, Option.noKey, Option.format, Option.type,
      Option.maxDeletes, Option.allowEmpty, Option.widen, Option.unconditional, Option.dryRun,
      Option.all, Option.json, Flag.quiet,
    ] + ListRequest.options + [
      Option.every, Option.content, Option.preview, Option.into, Option.sha256, Option.length,
      Option.revalidate, Option.concurrency, Option.continueOnError,
    ] + CSVOption.all,
    examples: [
      "tandem mirror places.json places.db --table place --key id",
      "tandem mirror https://example.org/feed places.db --table place --key country,code --json",
      "tandem mirror export.csv p.db --table place --key id --delimiter ';' --encoding windows-1252",
      "tandem mirror places.csv.gz places.db --table place --key id --dry-run",
      "tandem mirror https://example.org/api a.db --table a --key id --page link",
      "tandem mirror https://example.org/api a.db --table a --key id --items data --page cursor=next",
      "tandem mirror https://example.org/api a.db --table a --key id --page cursor=meta.next,after",
      "tandem mirror https://example.org/api a.db --table a --key id --page offset=skip",
      "tandem mirror https://example.org/api a.db --table a --key id --page number=page",
      "tandem mirror https://example.org/api a.db --table a --key id --page header=Next-Page",
      "tandem mirror https://example.org/api a.db --table a --key id --page number=page,0 --header @token",
      "tandem mirror https://a.example/api a.db --table a --key id --items data --page last=id,after",
      "tandem mirror places.json places.db --table place --key id --widen",
      "tandem mirror places.csv places.db --table place --key id --type code=TEXT --type lon=REAL",
      "tandem mirror a.db --table place b.db",
      "tandem mirror a.db --from-table place b.db --table old_place --key id",
      "tandem mirror https://example.org/photos p.db --table photo --key id --content url --into p",
      "tandem mirror https://example.org/feed f.db --table f --key id --every 60 "
        + "--user @password",
    ],
    usesDatabases: true)

  /// The number of changes that are shown without `--all`.
  static let maxLineCount = 100

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = try Options(arguments)
    guard let pause = options.pause else { return try await options.run() }
    return try await options.repeatRuns(every: pause)
  }
}
