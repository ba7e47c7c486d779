internal import TandemHTTP
internal import TandemRecords

/// A page whose records are in the list, without its records.
struct ReadPage {
  /// The address that was asked for; within the list's origin, with its credentials.
  var url: String
  /// The address that answered; within the list's origin, with its credentials.
  var base: String
  var validators: HTTPValidators
  /// The positions of its records in the list.
  var records: Range<Int>
}

/// The pages of a list that have arrived so far, and the address of the next one.
struct PageCollection {
  private(set) var records = PackedRecords()
  /// The pages with their texts, if these are kept.
  private(set) var texts: [ListText] = []
  private(set) var pages: [ReadPage] = []
  private(set) var byteCount = 0
  /// The format of the first page.
  let format: RecordFormat
  /// The address after the last page, if the server refused it.
  private(set) var refusedURL: String?
  private var last: RecordPage
  /// The number of the first page, as far as it is known.
  private var firstNumber: Int64?
  /// What the server says that the list has.
  private var counts = PageCounts()
  private var emptyPageCount = 0
  private var seenURLs = Set<String>()
  private var seenKeys = Set<RecordKey>()
  private let options: RecordListOptions
  private let url: String

  init(_ page: RecordPage, options: RecordListOptions, url: String) {
    format = page.format
    last = page
    self.options = options
    self.url = url
    firstNumber = options.paging.firstNumber(in: url)
    if ![.none, .first].contains(options.paging) { _ = noteKeys(of: page) }
    keep(page, from: url)
  }

  var count: Int { pages.count }

  /// Checks that the last page is one of the list and not an excerpt of it.
  func requireSoundness() throws(TransportError) {
    guard options.paging != .first, let fault = signs.fault else { return }
    throw problem(.unreadPages, fault)
  }

  /// Checks that the list ends with its last page, if no other page follows it by the options.
  func requireEnd() throws(TransportError) {
    let evidence: String?
    switch options.paging {
    case .none: evidence = try signs.evidence()
    // A misspelled name finds no next page. The first page is not the list then. A name that was found is
    // that of the page itself.
    case .link, .header, .cursor:
      let named = try namedURL(after: last, at: count - 1)
      evidence =
        count == 1 && named == nil ? try signs.evidenceOfNextPage() : signs.evidenceInFlags
    case .first, .last, .offset, .number: return
    }
    guard let evidence else { return }
    throw problem(.unreadPages, "the list goes on after this page: \(evidence)")
  }

  /// Checks that as many records have come as the server says that the list has, however it is read.
  func requireAllRecords() throws(TransportError) {
    var evidence: String?
    switch options.paging {
    case .none, .first: return
    case .link, .header, .cursor: break
    case .last, .offset, .number:
      if !signs.hasAllRecords, let flag = signs.evidenceInFlags {
        evidence = "the list goes on after its last page: \(flag)"
      }
    }
    if !startsInside {
      evidence =
        evidence ?? counts.evidence(recordCount: records.count, pageCount: pages.count)
    }
    guard let evidence else { return }
    throw problem(
      .unreadPages,
      "\(evidence); does \(options.paging) suit the server? If it counts what it does not show, ask for everything "
        + "in one page, and take that as it is with `paging` first")
  }

  /// True if the first page that was asked for is not the list's first one.
  private var startsInside: Bool {
    switch options.paging {
    case .offset(let parameter):
      return (HTTPURL.parameter(parameter, in: url).flatMap { httpNumber($0) } ?? 0) > 0
    case .number: return (firstNumber ?? 0) > 1
    case .cursor(_, let parameter?), .last(_, let parameter), .header(_, let parameter?):
      // Crossref and Solr begin with an asterisk.
      return !["", "*", "%2A", "0", "-1"].contains(HTTPURL.parameter(parameter, in: url) ?? "")
    case .none, .first: return false
    case .link, .cursor, .header:
      return ["page", "offset", "skip", "start"].contains {
        (HTTPURL.parameter($0, in: url).flatMap { httpNumber($0) } ?? 0) > 1
      }
    }
  }

  private var signs: PageSigns { signs(of: last, at: count - 1) }

  private func signs(of page: RecordPage, at position: Int) -> PageSigns {
    PageSigns(
      of: page, list: options.itemsField, recordCount: pages[position].records.upperBound)
  }

  /// The next page's address, if there is one.
  func nextURL() throws(TransportError) -> String? {
    if refusedURL != nil { return nil }
    guard let next = try nextURL(after: last, at: count - 1) else { return nil }
    if seenURLs.contains(next) { throw loop(to: next) }
    guard count < options.maxPageCount else {
      throw problem(.tooLarge, "the list has more than \(options.maxPageCount) pages")
    }
    guard emptyPageCount <= options.maxEmptyPageCount else {
      throw problem(
        .tooLarge,
        "the list has more than \(options.maxEmptyPageCount) pages without records in a row, each of "
          + "which names a next one; does \(options.paging) suit the server?")
    }
    return next
  }

  /// The address after that of `page`, which is the one at that position, perhaps asked for again.
  func nextURL(after page: RecordPage, at position: Int) throws(TransportError) -> String? {
    guard let named = try namedURL(after: page, at: position) else { return nil }
    let next = try askedURL(of: named, after: page)
    // Some servers name a next page after the last one, or the last one itself, for ever.
    let signs = signs(of: page, at: position)
    if signs.hasAllRecords, page.records.isEmpty || next == pages[position].url { return nil }
    // Convex names the last page as the one after it, and says that it is done.
    if signs.saysDone, page.records.isEmpty, next == pages[position].url { return nil }
    return next
  }

  /// The address that a page names as the next one, even if no page follows.
  private func namedURL(
    after page: RecordPage, at position: Int
  ) throws(TransportError) -> String? {
    try options.paging.next(
      after: page, signs(of: page, at: position),
      recordCount: pages[position].records.upperBound, pageCount: position + 1,
      firstNumber: firstNumber, first: url)
  }

  /// The address at which the next page is asked for: within the origin of the list, or of the page that names it.
  private func askedURL(of next: String, after page: RecordPage) throws(TransportError) -> String {
    let origins = [url, page.head.url]
    if origins.contains(where: { HTTPURL.haveSameOrigin(next, $0) }) { return next }
    let named = HTTPURL.withoutCredentials(next)
    guard let own = HTTPURL.readdressed(next, toOriginOf: page.head.url) else {
      throw problem(
        .refusedRedirect,
        "the next page is said to be on another server, which is not asked: \(named); the page that names it is "
          + HTTPURL.withoutCredentials(page.head.url))
    }
    if options.keepsOrigin { return own }
    throw problem(
      .refusedRedirect,
      "the next page is said to be at \(named), which has another scheme or port than the list, as behind a proxy; "
        + "ask for \(HTTPURL.withoutCredentials(own)) in its place with `keepsOrigin`")
  }

  private func loop(to next: String) -> TransportError {
    let (first, last) = (pages.firstIndex { $0.url == next } ?? 0, pages.count - 1)
    let name = { (position: Int) in
      "page \(position + 1), \(HTTPURL.withoutCredentials(pages[position].url)),"
    }
    return problem(
      .malformedResponse,
      "the pages form a loop: \(name(last)) names "
        + (first == last ? "itself" : name(first)) + " as the next one")
  }

  /// Adds a page; returns the evidence that the list changed meanwhile, if there is any.
  mutating func add(_ page: RecordPage, from url: String) throws(TransportError) -> String? {
    if isFirstPageAgain(page) { return nil }
    guard page.records.isEmpty || page.records != last.records else {
      throw problem(
        .malformedResponse,
        "the server sent the same page twice; does \(options.paging) suit it?")
    }
    if let key = noteKeys(of: page) {
      let same = pages.indices.first { hasSameKeys(page, at: $0) }
      return "two pages have the record with key \(key)"
        + (same.map { "; page \(count + 1) has the records of page \($0 + 1), as in a loop" } ?? "")
    }
    keep(page, from: url)
    return nil
  }

  /// True if the page of number 1 is the first one: then the server counts from 1, otherwise from 0.
  private mutating func isFirstPageAgain(_ page: RecordPage) -> Bool {
    guard case .number = options.paging, firstNumber == nil else { return false }
    let isFirst = hasSameKeys(page, at: 0)
    firstNumber = isFirst ? 1 : 0
    return isFirst
  }

  /// Ends the list before the page at an address that the server refused by this error.
  ///
  /// - Throws: The error, if the refusal need not be the end.
  mutating func end(before url: String, _ error: TransportError) throws(TransportError) {
    guard case .number = options.paging, [400, 404].contains(error.status) else { throw error }
    if let reason = contradiction {
      var error = error
      error.message += "; this is not the end of the list: \(reason)"
      throw error
    }
    refusedURL = url
  }

  /// The reason why the list does not end with the last page; `nil` if it may.
  private var contradiction: String? {
    let signs = self.signs
    if let total = signs.total {
      if total > records.count {
        return "the server says that it has \(total) records, and sent \(records.count)"
      }
      if total == records.count { return nil }
    }
    // A parameter that the server does not know would end the list after its first page.
    if let evidence = try? signs.evidence() {
      return evidence
    }
    let counts = pages.map(\.records.count)
    guard let first = counts.first, counts.dropLast().allSatisfy({ $0 == first }),
      (counts.last ?? 0) <= first
    else { return "its pages have different numbers of records" }
    return nil
  }

  private mutating func keep(_ page: RecordPage, from url: String) {
    let start = records.count
    records.append(contentsOf: page.records)
    if let text = page.text { texts.append(text) }
    byteCount += page.byteCount
    pages.append(
      ReadPage(
        url: url, base: page.head.url, validators: HTTPValidators(of: page.head),
        records: start..<records.count))
    last = page
    counts.update(signs.counts)
    emptyPageCount = page.records.isEmpty ? emptyPageCount + 1 : 0
    seenURLs.insert(url)
  }

  /// Notes the keys of a page's records; returns one that an earlier page has. Missing keys, and keys that one
  /// page has twice, are found later, by the user of the list.
  private mutating func noteKeys(of page: RecordPage) -> RecordKey? {
    guard !options.key.isEmpty else { return nil }
    let keys = Self.keys(of: page.records, fields: options.key)
    defer { seenKeys.formUnion(keys) }
    return keys.filter { seenKeys.contains($0) }.min()
  }

  /// The keys of the records that have one. Their fields are found as columns are, whatever the case
  /// of ASCII letters.
  static func keys(of records: some Sequence<Record>, fields: [String]) -> Set<RecordKey> {
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

  /// True if a page has the same records as the one at that position, with the same values.
  func hasSameRecords(_ page: RecordPage, at position: Int) -> Bool {
    records[pages[position].records].elementsEqual(page.records)
  }

  /// True if a page has records with the same keys as the one at that position, or, if the key is unknown, the
  /// same records.
  func hasSameKeys(_ page: RecordPage, at position: Int) -> Bool {
    guard !options.key.isEmpty else { return hasSameRecords(page, at: position) }
    return Self.keys(of: page.records, fields: options.key)
      == Self.keys(of: records[pages[position].records], fields: options.key)
  }

  private func problem(_ code: TransportError.Code, _ message: String) -> TransportError {
    TransportError(code, message, url: url)
  }
}
