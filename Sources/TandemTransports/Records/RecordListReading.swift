internal import TandemRecords

/// Reads one list from a server, page by page.
struct RecordListReading {
  let url: String
  let options: RecordListOptions
  let client: any HTTPClient
  let progress: (_ received: Int, _ total: Int?) -> Void

  /// What can come of it.
  private enum Outcome {
    case list(RecordList)
    /// A list that changed between its first page and its last, and what showed it.
    case changed(String)
  }

  /// How often a list that changes while it is read is begun anew.
  private static let maxRestartCount = 1

  /// The list.
  func list() async throws -> RecordList {
    var sign = ""
    for _ in 0...Self.maxRestartCount {
      switch try await attempt() {
      case .list(let list): return list
      case .changed(let reason): sign = reason
      }
    }
    throw TransportError(
      .listChanged,
      "the list changed while its pages were read, and again when they were read anew: \(sign); "
        + "try again when it is quiet", url: url)
  }

  private func attempt() async throws -> Outcome {
    guard let first = try await page(at: url, received: 0, validators: options.validators) else {
      return .list(.notModified)
    }
    var pages = PageCollection(first.page, byteCount: first.byteCount, options: options, url: url)
    while let next = try pages.nextURL() {
      let following = try await page(at: next, received: pages.byteCount, validators: nil)
      guard let (page, byteCount) = following else { break }
      if let sign = try pages.add(page, byteCount: byteCount, from: next) { return .changed(sign) }
    }
    let validators = HTTPValidators(of: first.page.head)
    if pages.count > 1, !validators.isEmpty,
      try await page(at: url, received: 0, validators: validators, isCheck: true) != nil
    {
      return .changed("its first page is another one now")
    }
    return .list(.records(pages.records, validators, url: first.page.head.url))
  }

  /// A page and its length; `nil` if the server says that it is what the validators describe.
  private func page(
    at url: String, received: Int, validators: HTTPValidators?, isCheck: Bool = false
  ) async throws -> (page: RecordPage, byteCount: Int)? {
    try await options.retry.run {
      var request = HTTPRequest(url: url, fields: options.fields, timeouts: options.timeouts)
      if request.fields["Accept"] == nil {
        request.fields["Accept"] = "application/json, application/x-ndjson, text/csv, */*;q=0.5"
      }
      request.maxBodyByteCount = max(0, options.maxByteCount - received)
      let isConditional = validators?.isEmpty == false
      if let validators, isConditional { request.makeConditional(on: validators) }
      let stream = try await client.stream(request)
      if stream.head.isNotModified, isConditional { return nil }
      try stream.head.requireSuccess()
      guard stream.head.status != 206 else { throw Self.partialList(url) }
      if isCheck {
        let isSame = HTTPValidators(of: stream.head) == validators
        return isSame ? nil : (RecordPage(records: [], head: stream.head), 0)
      }
      var bytes: [UInt8] = []
      for try await chunk in stream.body {
        bytes.append(contentsOf: chunk)
        progress(received + bytes.count, received == 0 ? stream.head.bodyByteCount : nil)
      }
      var head = stream.head
      head.url = URLReference.adoptingCredentials(of: self.url, in: head.url)
      return (try Self.page(in: bytes, of: head, options), bytes.count)
    }
  }

  private static func partialList(_ url: String) -> TransportError {
    TransportError(
      .badStatus, "the server answered with a part of the list (206), which was not asked for",
      url: url)
  }

  private static func page(
    in bytes: [UInt8], of head: HTTPResponseHead, _ options: RecordListOptions
  ) throws(RecordError) -> RecordPage {
    if let field = options.itemsField {
      let envelope = try RecordReader.envelope(in: bytes, items: field)
      return RecordPage(records: envelope.records, others: envelope.others, head: head)
    }
    let named =
      head.fields["Content-Type"].flatMap { RecordFormat(contentType: $0) }
      ?? RecordFormat(fileName: String(head.url.prefix { $0 != "?" && $0 != "#" }))
    let format = options.format ?? named ?? .sniffed(from: bytes)
    return RecordPage(records: try RecordReader.records(in: bytes, format: format), head: head)
  }
}

/// The pages of a list that have arrived so far, and where the next one is.
private struct PageCollection {
  private(set) var records: [Record]
  private(set) var byteCount: Int
  private(set) var count = 1
  private var last: RecordPage
  private var seenURLs: Set<String>
  private var seenKeys = Set<RecordKey>()
  private let options: RecordListOptions
  private let url: String

  init(_ page: RecordPage, byteCount: Int, options: RecordListOptions, url: String) {
    records = page.records
    self.byteCount = byteCount
    last = page
    seenURLs = [url]
    self.options = options
    self.url = url
    if options.paging != .none { _ = noteKeys(of: page) }
  }

  /// The next page's address, if there is one.
  func nextURL() throws(TransportError) -> String? {
    let next = try options.paging.next(
      after: last, recordCount: records.count, pageCount: count, first: url)
    guard let next else { return nil }
    guard !seenURLs.contains(next) else {
      throw problem(.malformedResponse, "a page names an earlier one as the next: \(next)")
    }
    guard URLReference.haveSameOrigin(next, url) || URLReference.haveSameOrigin(next, last.head.url)
    else {
      throw problem(
        .refusedRedirect, "the next page is said to be on another server, which is not asked")
    }
    guard count < options.maxPageCount else {
      throw problem(.tooLarge, "the list has more than \(options.maxPageCount) pages")
    }
    return next
  }

  /// Adds a page; returns what shows that the list changed, if something does.
  mutating func add(
    _ page: RecordPage, byteCount: Int, from url: String
  ) throws(TransportError) -> String? {
    guard page.records.isEmpty || page.records != last.records else {
      throw problem(
        .malformedResponse,
        "the server sent the same page twice; does \(options.paging) suit it?")
    }
    if let key = noteKeys(of: page) { return "two pages have the record with key \(key)" }
    records += page.records
    self.byteCount += byteCount
    count += 1
    last = page
    seenURLs.insert(url)
    return nil
  }

  /// Notes the keys of a page's records; returns one that an earlier page has. What is wrong within
  /// a page is for whoever uses the list to find.
  private mutating func noteKeys(of page: RecordPage) -> RecordKey? {
    guard !options.key.isEmpty else { return nil }
    let keys = Set(page.records.map { record in RecordKey(options.key.map { record[$0] }) })
    defer { seenKeys.formUnion(keys) }
    return keys.filter { seenKeys.contains($0) }.min()
  }

  private func problem(_ code: TransportError.Code, _ message: String) -> TransportError {
    TransportError(code, message, url: url)
  }
}
