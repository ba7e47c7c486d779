public import TandemHTTP
public import TandemRecords

/// The source of a list of records.
public enum RecordSource: Hashable, Sendable {
  /// A file, by its path.
  case file(String)
  /// Standard input.
  case standardInput
  /// An http or https address.
  case url(String)
  /// A table or view of a SQLite file, by its name and the path of the file.
  case table(String, ofFileAt: String)

  /// Reads an argument as people type it: `-` is standard input, anything with a scheme a URL, all
  /// else a path.
  public init(_ argument: String) {
    if argument == "-" {
      self = .standardInput
    } else if argument.contains("://") {
      self = .url(argument)
    } else {
      self = .file(argument)
    }
  }
}

extension RecordSource: CustomStringConvertible {
  /// The source as people type it, without credentials.
  public var description: String {
    switch self {
    case .file(let path): return path
    case .standardInput: return "standard input"
    case .url(let url): return HTTPURL.withoutCredentials(url)
    case .table(let name, let path): return "table \(name) of \(path)"
    }
  }
}

/// The answer of a source.
public enum RecordList: Sendable {
  /// The records; the validators of the server, if there is one; and the addresses that relative addresses in the
  /// records are relative to.
  case records(PackedRecords, RecordListValidators, bases: RecordBases)
  /// The list has not changed since the server sent the validators of the request.
  case notModified
}

extension RecordSource {
  /// The default for the longest list, in decoded bytes: 2 GiB.
  public static let defaultMaxByteCount = 2 << 30

  /// Reads the whole list, in as many pages as it has.
  ///
  /// A list that changes while its pages are read is read from the start up to three times more, and is
  /// an error if it changes each time. A change shows by a record that two pages have, if the key is
  /// known, and by a page that has other records at the end, when all of several are asked for again.
  /// If the key is known, and pages have the same keys and only other values, the list is read again up to
  /// twice for that reason; then it is taken, and its values may be of different moments.
  ///
  /// A list of a URL is taken only if it is known to be whole. JSON ends with a bracket. CSV and
  /// NDJSON may end after any line: they have to come with a declared end
  /// (``/TandemHTTP/HTTPResponseHead/declaresEnd``), uncompressed or in gzip that the client verifies
  /// (``/TandemHTTP/HTTPResponseHead/verifiesEncoding``); if need be, they are asked for once more
  /// uncompressed. Otherwise the error is ``/TandemHTTP/TransportError/Code/uncertainEnd``.
  ///
  /// A gzip file, which has no encoding of the response, is decompressed, and so is a local one.
  ///
  /// - Parameters:
  ///   - options: The options of the list. Files and standard input have one page.
  ///   - client: The client for the requests to a URL; by default, a new one.
  ///   - progress: Called as bytes arrive from a URL, with their number, and the total if it is known.
  /// - Throws: ``/TandemHTTP/TransportError`` if the list cannot be had whole;
  ///   ``/TandemRecords/RecordError`` if it cannot be read as records; ``/TandemSQLite/DatabaseError`` if it is a
  ///   table that cannot be read; `CancellationError`.
  public func list(
    _ options: RecordListOptions = RecordListOptions(), client: (any HTTPClient)? = nil,
    progress: (_ received: Int, _ total: Int?) -> Void = { _, _ in }
  ) async throws -> RecordList {
    switch self {
    case .file, .standardInput:
      let (body, format) = try localBody(options, keepsText: false)
      let records: PackedRecords
      if body.isRead {
        records = body.records
      } else if let field = options.itemsField {
        records = try RecordReader.envelope(in: body.bytes, items: field).records
      } else {
        do {
          records = try RecordReader.packedRecords(
            in: body.bytes, format: format, csv: options.csv)
        } catch {
          throw body.advising(error)
        }
      }
      try options.requireList(records, format)
      return .records(
        records.lifting(options.key), RecordListValidators(), bases: RecordBases())
    case .table(let name, let path):
      let records = try await SourceTable(name: name, path: path)
        .records(maxByteCount: options.maxByteCount)
      return .records(records, RecordListValidators(), bases: RecordBases())
    case .url(let url):
      let client = try client ?? SystemHTTPClient()
      return try await withoutActuallyEscaping(progress) { progress in
        try await RecordListReading(
          url: url, options: options, client: client, progress: progress
        ).list()
      }
    }
  }

  /// Reads the whole list with its text and the types of its format, as ``list(_:client:progress:)``
  /// reads it. Pages of JSON become one array.
  ///
  /// - Precondition: The options have no validators.
  /// - Throws: as ``list(_:client:progress:)``.
  public func text(
    _ options: RecordListOptions, client: (any HTTPClient)? = nil
  ) async throws -> ListText {
    precondition(options.validators == nil, "The text of an unchanged list is not read")
    switch self {
    case .file, .standardInput:
      let (body, format) = try localBody(options, keepsText: true)
      if let field = options.itemsField { return try ListText(envelope: body.bytes, items: field) }
      do {
        return try ListText(body.bytes, format: format, csv: options.csv)
      } catch {
        throw body.advising(error)
      }
    case .table(let name, let path):
      var bytes: [UInt8] = []
      let records = try await SourceTable(name: name, path: path)
        .records(maxByteCount: options.maxByteCount)
      RecordWriter.appendJSON(Array(records), to: &bytes)
      return try ListText(bytes, format: .json)
    case .url(let url):
      return try await RecordListReading(
        url: url, options: options, client: try client ?? SystemHTTPClient(), progress: { _, _ in }
      ).text()
    }
  }

  /// The first bytes of a SQLite database.
  private static let databaseMagic = Array("SQLite format 3\0".utf8)

  /// The text and the format of a file or of standard input.
  ///
  /// - Parameter keepsText: False to read the records as the text arrives, if its format allows it.
  private func localBody(
    _ options: RecordListOptions, keepsText: Bool
  ) throws -> (body: ListBody, format: RecordFormat) {
    var named: RecordFormat?
    if case .file(let path) = self { named = RecordFormat(listName: path) }
    named = options.format ?? named
    var format = named
    var body = ListBody()
    func append(_ chunk: UnsafeRawBufferPointer) throws {
      try body.append(chunk) { head in
        guard !keepsText, options.itemsField == nil, !GzipDecoder.isGzip(head),
          !head.starts(with: Self.databaseMagic)
        else { return nil }
        format = named ?? .sniffed(from: head)
        return format?.isCSV == false ? format : nil
      }
    }
    if case .file(let path) = self {
      try FileBytes.forEachChunk(
        ofFileAt: path, maxByteCount: options.maxByteCount, append)
    } else {
      try FileBytes.forEachChunkOfStandardInput(maxByteCount: options.maxByteCount, append)
    }
    let limit = min(options.maxByteCount, options.maxDecompressedByteCount)
    try body.finish { try FileBytes.plain($0, of: description, maxByteCount: limit) }
    guard !body.bytes.starts(with: Self.databaseMagic) else {
      throw RecordError(
        .malformed,
        "this is a SQLite database, not a list; Tandem reads it only from its file, not from a pipe"
      )
    }
    return (body, format ?? .sniffed(from: body.bytes))
  }
}

extension RecordFormat {
  /// The format of a file by its name, which may end with `.gz` after that of its content.
  init?(listName: String) {
    let isPacked = listName.lowercased().hasSuffix(".gz")
    self.init(fileName: isPacked ? String(listName.dropLast(3)) : listName)
  }
}

extension RecordListOptions {
  /// Throws if the only record is an object around the list, which nobody said to be NDJSON.
  func requireList(
    _ records: PackedRecords, _ format: RecordFormat
  ) throws(RecordError) {
    guard format == .ndjson, self.format == nil, itemsField == nil, !key.isEmpty,
      records.count == 1, let record = records.first,
      PageCollection.keys(of: [record], fields: key).isEmpty
    else { return }
    let lists = zip(record.layout.names, record.values).flatMap { name, value in
      Array((value.textValue ?? "").utf8)
        .withUnsafeBytes { JSONCursor.listPaths(in: $0, at: name) }
    }
    if lists.isEmpty { return }
    throw RecordError(
      .missingKey,
      "the list is one object without \(key.joined(separator: ", ")), and with a list inside it: "
        + JSONCursor.advice(forListsAt: lists))
  }
}
