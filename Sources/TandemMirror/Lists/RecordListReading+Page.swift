internal import TandemHTTP
internal import TandemRecords

// MARK: - One page

/// A request for a page.
struct PageQuestion {
  var url: String
  /// The validators for a conditional request.
  var validators: HTTPValidators?
  /// True to ask for the page uncompressed.
  var isPlain = false
  /// The number of bytes of earlier pages.
  var receivedByteCount = 0
  /// True if the page was read before, and is only compared.
  var isRepeated = false
  /// True if the response has to show that no page follows. The request is not conditional then, because a 304
  /// need not repeat the field that names the next page.
  var showsEnd = false

  var isConditional: Bool { validators?.isEmpty == false }
}

/// The answers to a request for a page.
private enum PageAnswer {
  case page(RecordPage)
  /// The page is the one that the question's validators describe.
  case unchanged
  /// The page has lines and is compressed, so that Tandem could not detect that it was cut off; it has not been
  /// read.
  case compressedLines
}

extension RecordListReading {
  /// A page that is asked for without a condition.
  func newPage(_ question: PageQuestion) async throws -> RecordPage {
    precondition(!question.isConditional, "a page may be unchanged only on a condition")
    guard let page = try await page(question) else {
      preconditionFailure("without a condition, a 304 is an error")
    }
    return page
  }

  /// A page; `nil` if the server says that it is what the validators describe.
  func page(_ question: PageQuestion) async throws -> RecordPage? {
    try await options.retry.run(clock: options.clock) {
      var question = question
      while true {
        switch try await answer(to: question) {
        case .page(let page): return page
        case .unchanged: return nil
        case .compressedLines: question.isPlain = true
        }
      }
    }
  }

  private func answer(to question: PageQuestion) async throws -> PageAnswer {
    let stream = try await client.stream(request(for: question))
    var head = stream.head
    if head.isNotModified, question.isConditional, !question.showsEnd {
      try requireEnd(in: head)
      return .unchanged
    }
    try await stream.requireContent(hiding: secrets)
    if question.showsEnd, try isLastPage(head, describedBy: question.validators) {
      return .unchanged
    }
    head.url = HTTPURL.adoptingCredentials(of: url, in: head.url)
    let named = format(of: head)
    if let named, try isUncertain(head, named, question) { return .compressedLines }
    var format = named
    let body = try await body(of: stream, question) { bytes in
      guard !keepsTexts, options.itemsField == nil, !GzipDecoder.isGzip(bytes) else { return nil }
      let found = named ?? .sniffed(from: bytes)
      format = found
      return try isReadable(bytes, found, head, question) && !found.isCSV ? found : nil
    }
    let known = format ?? .sniffed(from: body.bytes)
    if !body.isRead, try !isReadable(body.bytes, known, head, question) { return .compressedLines }
    return .page(try page(of: body, known, head))
  }

  /// False if the page has to be asked for uncompressed.
  ///
  /// - Throws: ``TransportError`` if the page is no list, or may have been cut off.
  private func isReadable(
    _ bytes: [UInt8], _ format: RecordFormat, _ head: HTTPResponseHead, _ question: PageQuestion
  ) throws(TransportError) -> Bool {
    try requireList(in: bytes, format, head)
    try requireArray(in: bytes, format, head)
    return try !isUncertain(head, format, question)
  }

  /// True if a page has these validators, and names no next page.
  private func isLastPage(
    _ head: HTTPResponseHead, describedBy validators: HTTPValidators?
  ) throws(TransportError) -> Bool {
    guard let validators, !validators.isEmpty, HTTPValidators(of: head) == validators else {
      return false
    }
    return try options.paging.nextURL(in: head, first: url) == nil
  }

  /// Throws if a response without content says that the list goes on, though only one page is to be read.
  private func requireEnd(in head: HTTPResponseHead) throws(TransportError) {
    guard options.paging == .none, let evidence = try PageSigns(head).evidenceInHead() else {
      return
    }
    throw TransportError(.unreadPages, "the list goes on after this page: \(evidence)", url: url)
  }

  private func request(for question: PageQuestion) -> HTTPRequest {
    var request = HTTPRequest(url: url, fields: options.fields, timeouts: options.timeouts)
      .readdressed(to: question.url)
    request.fields.addUnlessPresent(
      "Accept", "application/json, application/x-ndjson, text/csv, */*;q=0.5")
    if question.isPlain || expectsLines { request.fields["Accept-Encoding"] = "identity" }
    request.maxBodyByteCount = max(0, options.maxByteCount - question.receivedByteCount)
    request.maxDecompressedByteCount = max(
      0, options.maxDecompressedByteCount - question.receivedByteCount)
    if let validators = question.validators, question.isConditional, !question.showsEnd {
      request.makeConditional(on: validators)
    }
    return request
  }

  /// The text of a page, decompressed if it is a gzip file.
  ///
  /// - Parameter begin: as that of ``ListBody/append(_:begin:)``.
  private func body(
    of stream: HTTPResponseStream, _ question: PageQuestion,
    begin: (_ head: [UInt8]) throws -> RecordFormat?
  ) async throws -> ListBody {
    var body = ListBody()
    let isFirst = question.receivedByteCount == 0
    for try await chunk in stream.body {
      try chunk.withUnsafeBytes { try body.append($0, begin: begin) }
      guard !question.isRepeated else { continue }
      progress(
        question.receivedByteCount + body.byteCount, isFirst ? stream.head.bodyByteCount : nil)
    }
    try body.finish { try plainBytes($0, question) }
    return body
  }

  /// The bytes, decompressed if they are a gzip file.
  private func plainBytes(
    _ bytes: [UInt8], _ question: PageQuestion
  ) throws(TransportError) -> [UInt8] {
    let limit = min(options.maxByteCount, options.maxDecompressedByteCount)
    return try FileBytes.plain(
      bytes, of: question.url, maxByteCount: max(0, limit - question.receivedByteCount))
  }

  /// Throws if the server declares a text as HTML.
  ///
  /// Some servers declare every text so. Therefore JSON is accepted, and so is another format if the user gave
  /// it and the text does not begin as a web page does.
  private func requireList(
    in bytes: [UInt8], _ format: RecordFormat, _ head: HTTPResponseHead
  ) throws(TransportError) {
    let type = (head.fields["Content-Type"] ?? "").lowercased()
    guard ["text/html", "application/xhtml"].contains(where: type.hasPrefix) else { return }
    let isTag = bytes.first { $0 > 0x20 } == UInt8(ascii: "<")
    guard isTag || format.isCSV && options.format == nil else { return }
    throw TransportError(
      .malformedResponse,
      "the server sent a web page (text/html), not a list; check the address and the credentials",
      url: head.url)
  }

  /// Throws if a text in JSON is an object, though the list is not to be found in a field of one.
  private func requireArray(
    in bytes: [UInt8], _ format: RecordFormat, _ head: HTTPResponseHead
  ) throws(TransportError) {
    guard format == .json, options.itemsField == nil,
      bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{")
    else { return }
    let lists = bytes.withUnsafeBytes { JSONCursor.listPaths(in: $0) }
    let advice =
      lists.isEmpty
      ? "name the field with the list, as in `itemsField` data"
      : "the list is inside it: \(JSONCursor.advice(forListsAt: lists))"
    throw TransportError(
      .malformedResponse,
      "the server sent an object, not an array of objects; \(advice); or read one object per line with "
        + "`format` ndjson", url: head.url)
  }

  private func page(
    of body: ListBody, _ format: RecordFormat, _ head: HTTPResponseHead
  ) throws(RecordError) -> RecordPage {
    let bytes = body.bytes
    var page = RecordPage(
      records: body.records.lifting(options.key), head: head, byteCount: body.byteCount,
      format: format)
    if body.isRead {
      try options.requireList(page.records, format)
      return page
    }
    if let field = options.itemsField {
      if keepsTexts { page.text = try ListText(envelope: bytes, items: field) }
      let envelope = try RecordReader.envelope(in: bytes, items: field)
      page.records = envelope.records.lifting(options.key)
      page.others = envelope.others
    } else {
      do {
        let csv = try format.isCSV ? dialect(of: bytes, head) : options.csv
        if keepsTexts { page.text = try ListText(bytes, format: format, csv: csv) }
        page.records = try RecordReader.packedRecords(in: bytes, format: format, csv: csv)
      } catch {
        throw body.advising(error)
      }
      try options.requireList(page.records, format)
    }
    return page
  }
}

extension RecordListReading {
  /// The dialect of CSV, with the encoding that the server declares, unless the user named one.
  private func dialect(
    of bytes: [UInt8], _ head: HTTPResponseHead
  ) throws(RecordError) -> CSVOptions {
    var csv = options.csv
    guard csv.encoding == .utf8, !csv.ignoresCharset,
      let charset = head.fields["Content-Type"].flatMap(RecordFormat.charset(ofContentType:)),
      bytes.contains(where: { $0 >= 0x80 })
    else { return csv }
    guard let encoding = CSVEncoding(charset: charset) else {
      throw RecordError(
        .malformed,
        "the server declares the encoding \(charset), which Tandem cannot read; name another one if that is "
          + "wrong, as in `encoding` utf-8")
    }
    csv.encoding = encoding
    // Hardly any other text is UTF-8 by accident.
    if encoding == .windows1252, String(validating: bytes, as: UTF8.self) != nil {
      throw RecordError(
        .malformed,
        "the server declares the encoding \(charset), and the text is UTF-8; name the right one, as in "
          + "`encoding` utf-8 or `encoding` windows-1252")
    }
    return csv
  }
}

// MARK: - Completeness

extension RecordFormat {
  /// True if a text that was cut off is detected. Lines may end after any of them.
  var hasEnd: Bool { self == .json }
}

extension RecordListReading {
  /// True if the list is known to be in lines before it is asked for.
  private var expectsLines: Bool {
    guard options.itemsField == nil else { return false }
    return (options.format ?? Self.format(ofName: url)).map { !$0.hasEnd } ?? false
  }

  /// The format that is known before the text is; `nil` if it follows from the text.
  private func format(of head: HTTPResponseHead) -> RecordFormat? {
    if options.itemsField != nil { return .json }
    return options.format ?? head.fields["Content-Type"].flatMap { RecordFormat(contentType: $0) }
      ?? Self.format(ofName: head.url)
  }

  private static func format(ofName url: String) -> RecordFormat? {
    RecordFormat(listName: String(url.prefix { $0 != "?" && $0 != "#" }))
  }

  /// True if the response could have been cut off unnoticed, and can be asked for without compression.
  ///
  /// - Throws: ``TransportError/Code/uncertainEnd`` if it could have been cut off, and nothing else can be done.
  private func isUncertain(
    _ head: HTTPResponseHead, _ format: RecordFormat, _ question: PageQuestion
  ) throws(TransportError) -> Bool {
    guard !format.hasEnd else { return false }
    if head.mayBePart {
      throw TransportError(
        .uncertainEnd,
        "the server answered \(head.status), and by its Content-Range this may be a part of the list; have it "
          + "sent whole, or as a JSON array, or fetch it to a file", url: head.url)
    }
    guard let cause = head.uncertainty else { return false }
    if head.isEncoded, !question.isPlain, !expectsLines { return true }
    throw TransportError(
      .uncertainEnd,
      "Tandem cannot verify that this list is complete: \(format.rawValue) may end after any line, and "
        + "\(cause.reason); have it sent \(cause.remedy), or as a JSON array, or fetch it to a file",
      url: head.url)
  }
}
