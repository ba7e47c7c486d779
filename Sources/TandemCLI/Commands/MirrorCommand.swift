import Tandem

/// `tandem mirror`: makes a table equal to a list.
enum MirrorCommand: Command {
  /// The options, each declared once.
  enum Option {
    static let table = ValueOption<String>("table", "T", help: "The table. Required.")
    static let key = ValueOption.key(help: "The fields that identify a record. Required.")
    static let format = ValueOption<RecordFormat>(
      "format", "FORMAT", help: "json, ndjson or csv, if neither name nor content tells.")
    static let maxDeletes = ValueOption<MirrorDeletionLimit>(
      "max-deletes", "N|P%",
      takes: "a count such as 10 or a percentage such as 50%",
      help: "Refuse to delete more rows than this (default 50%,\nfor tables of more than "
        + "\(MirrorDeletionLimit.maxUnguardedCount) rows)."
    ) { MirrorDeletionLimit($0) }
    static let allowEmpty = Flag(
      "allow-empty", help: "Take an empty list at its word: delete all rows.")
    static let unconditional = Flag(
      "unconditional", help: "Ask a URL for the whole list even if it did not change.")
    static let dryRun = Flag(
      "dry-run", letter: "n", help: "Write nothing; show what would be done.")
    static let all = Flag("all", help: "Show every change, not just the first \(maxLineCount).")
    static let json = Flag(
      "json", help: "Print the whole difference as one JSON object; with\n--content, events.")
    static let quiet = Flag("quiet", letter: "q", help: "Print nothing but errors.")
    static let items = ValueOption<String>(
      "items", "FIELD", help: "The list is in this field of a JSON object.")
    static let page = ValueOption<RecordPaging>(
      "page", "HOW",
      takes: "link, cursor=FIELD[,PARAM], offset=PARAM or number=PARAM",
      help: "The list comes in pages. link: a Link field with rel=next\nleads on. cursor=FIELD: "
        + "the next address is in a field\nbeside the list (meta.next for one inside another);\n"
        + "cursor=FIELD,PARAM: it is the value for that parameter.\nA page without that field is "
        + "the last one. offset=PARAM:\nrecords to leave out. number=PARAM: pages are counted."
    ) { RecordPaging($0) }
    static let header = ValueOption.header(
      help: "Send this with each request to the list's server.\nMay be repeated.")
    static let retries = ValueOption(
      "retries", in: 0...1_000,
      help: "Repeat a request that failed for a passing reason up to so\nmany times (default "
        + "\(defaultRetryCount)). Waits as long as the server asks, up to 5 min.")
    static let timeout = ValueOption.seconds(
      "timeout", help: "Give up on a request, or a content, after this long.")
    static let maxBytes = ValueOption.byteCount(
      "max-bytes",
      help: "Refuse a list, or a content, of more bytes (default\n"
        + "\(RecordSource.defaultMaxByteCount >> 30) GiB for a list, "
        + "\(RecordListOptions.defaultMaxDecompressedByteCount >> 20) MiB for one that comes\n"
        + "compressed, \(FileRequest.defaultMaxByteCount >> 30) GiB for a content), counted as "
        + "decompressed.\nA list is held in memory.")
    static let watch = ValueOption.seconds(
      "watch", help: "Mirror again after each such interval, until Ctrl-C.")
    static let content = ValueOption<String>(
      "content", "FIELD", help: "Fetch the content at the address in this field.")
    static let preview = ValueOption<String>(
      "preview", "FIELD", help: "Fetch previews too, all of them first.")
    static let into = ValueOption<String>(
      "into", "DIR",
      help: "The directory for files: a new or empty one, or this mirror's\nown, and not inside of "
        + "another mirror's.")
    static let sha256 = ValueOption<String>(
      "sha256", "FIELD", help: "Check contents by the SHA-256 in this field (null: any).")
    static let length = ValueOption<String>(
      "length", "FIELD", help: "Check contents by the number of bytes in this field\n(null: any).")
    static let concurrency = ValueOption(
      "concurrency", in: 1...MirrorOptions.maxConcurrency,
      help: "Fetch so many at a time (default \(MirrorOptions.automaticConcurrency)); fewer where "
        + "not as\nmany files may be open (ulimit -n).")
    static let continueOnError = Flag(
      "continue-on-error", help: "Continue if the content of a record cannot be fetched.")
  }

  static let specification = CommandSpecification(
    name: "mirror",
    summary: "Make a table of a SQLite database equal to a list.",
    discussion: """
      Reads a list of records and makes a table equal to it, in one transaction: readers see
      the old list or the new one. Only what differs is written. The table is created if it is
      missing, and columns are added as fields appear; columns that the list never had are
      left alone. Shows what was inserted (+), updated (~) and deleted (-).

      A list that cannot be read completely changes nothing. CSV and NDJSON may end after any
      line: they are accepted from a URL only if the server declares where they end. The command
      refuses an empty list, and a list that would delete more than half of a table of more than
      \(MirrorDeletionLimit.maxUnguardedCount) rows.
      A request to a URL is conditional: the server sends the list only if it changed since the
      last run. It is unconditional if the table was changed. Each page of a list in pages has
      a conditional request of its own. The whole list is read if any page changed or has no
      validators, or if there are more than \(RecordListValidators.maxPageCount) pages. At the end, all pages are
      requested again; if a page then has other records, the whole list is read again.

      The state for the next run is kept in the tables tandem_mirror and, for files,
      tandem_mirror_directory. The database is set to write-ahead logging, so that readers and the
      writer do not wait for each other.

      With --content, each record's content is fetched from the address in that field and put
      into DIR/content; the row gets a column FIELD_file with the path in DIR. With --preview,
      likewise into DIR/preview. A file is complete or does not exist. If the server declares no
      length, or compresses the content without a request, the content is accepted only with
      --length or --sha256. Interrupted downloads resume. Rows are written once all files are
      there; files that no row points to are removed last. DIR belongs to the mirror. A run that
      fails leaves the table as it was.
      A record that no longer names a content counts as a deletion for --max-deletes; a list
      in which no record has one of the fields is refused. Once rows have files, a run must
      name the same --content and --preview.
      With --continue-on-error, an item that failed keeps its row, or gets none; nothing is
      deleted, and the exit status is 1.

      With --content, --json prints events, one object per line, each with a field "event":
      "phase" (phase), "progress" (stage, done, failed, total, bytes, remaining_seconds),
      "failed" (step, stage, key, attempts, error), and at the end "end" (ok, inserted,
      updated, deleted, transferred, skipped, failed, bytes). With --dry-run too, "would_fetch"
      (stage, key, url, file) and "would_remove" (file) say what a run would do.

      Exit status: 0 done, 1 failed or refused, 2 wrong usage; after --watch, 0.
      """,
    operands: [
      .init(
        name: "SOURCE",
        help: "A JSON array, NDJSON or CSV: a file, - for standard input,\nor an http(s) URL."),
      .init(name: "DATABASE", help: "A SQLite file; created if it is missing."),
    ],
    options: [
      Option.table, Option.key, Option.format, Option.maxDeletes, Option.allowEmpty,
      Option.unconditional, Option.dryRun, Option.all, Option.json, Option.quiet, Option.items,
      Option.page, Option.header, Option.retries, Option.timeout, Option.maxBytes, Option.watch,
      Option.content, Option.preview, Option.into, Option.sha256, Option.length, Option.concurrency,
      Option.continueOnError,
    ],
    examples: [
      "tandem mirror places.json places.db --table place --key id",
      "tandem mirror https://example.org/feed places.db --table place --key country,code --json",
      "zcat places.csv.gz | tandem mirror - places.db --table place --key id --dry-run",
      "tandem mirror https://example.org/api a.db --table a --key id --page link",
      "tandem mirror https://example.org/api a.db --table a --key id --items data --page cursor=next",
      "tandem mirror https://example.org/api a.db --table a --key id --page cursor=meta.next,after",
      "tandem mirror https://example.org/api a.db --table a --key id --page offset=skip",
      "tandem mirror https://example.org/api a.db --table a --key id --page number=page",
      "tandem mirror https://example.org/photos p.db --table photo --key id --content url --into p",
      "tandem mirror https://example.org/feed f.db --table f --key id --watch 60 "
        + "--header 'X-Api-Key: …'",
    ])

  /// The default number of further attempts.
  static let defaultRetryCount = 3

  /// The number of changes that are shown without `--all`.
  static let maxLineCount = 100

  static func run(_ arguments: ParsedArguments) async throws -> Int32 {
    let options = try Options(arguments)
    guard let interval = options.watchInterval else { return try await options.run() }
    return try await options.watch(every: interval)
  }
}
