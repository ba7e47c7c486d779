internal import TandemRecords

/// The pages of a list that have arrived so far, and where the next one is.
struct PageCollection {
  private(set) var records: [Record]
  private(set) var byteCount: Int
  private(set) var count = 1
  private var last: RecordPage
  private var seenURLs: Set<String>
  private var seenKeys = Set<RecordKey>()
  private let options: RecordListOptions
  private let url: String

  init(_ page: RecordPage, options: RecordListOptions, url: String) {
    records = page.records
    byteCount = page.byteCount
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
  mutating func add(_ page: RecordPage, from url: String) throws(TransportError) -> String? {
    guard page.records.isEmpty || page.records != last.records else {
      throw problem(
        .malformedResponse,
        "the server sent the same page twice; does \(options.paging) suit it?")
    }
    if let key = noteKeys(of: page) { return "two pages have the record with key \(key)" }
    records += page.records
    byteCount += page.byteCount
    count += 1
    last = page
    seenURLs.insert(url)
    return nil
  }

  /// Notes the keys of a page's records; returns one that an earlier page has. What is wrong within
  /// a page, or lacks a key, is for whoever uses the list to find.
  private mutating func noteKeys(of page: RecordPage) -> RecordKey? {
    guard !options.key.isEmpty else { return nil }
    let keys = Self.keys(of: page.records, fields: options.key)
    defer { seenKeys.formUnion(keys) }
    return keys.filter { seenKeys.contains($0) }.min()
  }

  /// The keys of the records that have one. Their fields are found as columns are, whatever the case
  /// of ASCII letters.
  static func keys(of records: [Record], fields: [String]) -> Set<RecordKey> {
    var keys = Set<RecordKey>()
    var known: (layout: RecordLayout, offsets: [Int])?
    for record in records {
      if known?.layout !== record.layout {
        let names = record.layout.names
        let offsets = fields.compactMap { field in names.firstIndex { isSameName($0, field) } }
        known = (record.layout, offsets)
      }
      let values = (known?.offsets ?? []).map { record.values[$0] }
      if values.count == fields.count, !values.contains(where: \.isNull) {
        keys.insert(RecordKey(values))
      }
    }
    return keys
  }

  private func problem(_ code: TransportError.Code, _ message: String) -> TransportError {
    TransportError(code, message, url: url)
  }
}
