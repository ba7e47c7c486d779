internal import TandemHTTP
internal import TandemRecords

/// The signs in one page that the list goes on, by the names that servers use.
struct PageSigns {
  let head: HTTPResponseHead
  /// The fields beside the list.
  let others: Record?

  init(of page: RecordPage) { self.init(page.head, others: page.others) }

  init(_ head: HTTPResponseHead, others: Record? = nil) {
    self.head = head
    self.others = others
  }

  /// Fields of a response with the next page's address, or its number or cursor.
  private static let nextFields = ["Next-Page", "X-Next-Page"]
  /// Fields of a response with the number of records of the whole list.
  private static let totalFields = [
    "X-Total-Count", "X-Total", "X-WP-Total", "Total-Records", "Total-Objects",
  ]
  /// Fields beside the list with the next page's address or cursor.
  private static let nextNames = [
    "next_url", "next_page_url", "nextPageUrl", "next_page_uri", "@odata.nextLink", "nextLink",
    "next", "next_page", "nextPage", "next_cursor", "nextCursor", "nextPageToken",
    "next_page_token", "next_token", "nextToken", "continue",
  ]
  /// Fields beside the list that are true if it goes on.
  private static let moreNames = [
    "has_more", "hasMore", "has_next", "hasNext", "hasNextPage", "has_next_page", "truncated",
  ]
  /// Fields beside the list with the number of records of the whole list.
  private static let totalNames = [
    "count", "total", "total_count", "totalCount", "totalElements", "totalItems", "total_results",
    "totalResults", "filtered_table_rows_count",
  ]
  /// Objects beside the list in which these fields are.
  private static let containers = [
    "links", "_links", "meta", "metadata", "pagination", "paging", "page", "page_info", "pageInfo",
    "response_metadata",
  ]
}

// MARK: - The next page

extension PageSigns {
  /// The evidence that the list goes on after the page, with the way to read the rest; `nil` if there is none.
  ///
  /// - Parameter recordCount: The number of records in the page.
  func evidence(recordCount: Int) throws(TransportError) -> String? {
    if let evidence = try evidenceOfNextPage() { return evidence }
    guard let total, total > recordCount else { return nil }
    return "the server says that it has \(total) records, and sent \(recordCount)"
      + Self.remedy("number=PARAM, `paging` offset=PARAM or another `paging`")
  }

  /// The evidence without the total, which may count records that the server does not show.
  func evidenceOfNextPage() throws(TransportError) -> String? {
    if let evidence = try evidenceInHead() { return evidence }
    return evidenceBesideList()
  }

  /// The evidence in the fields of the response, which a 304 may have too.
  func evidenceInHead() throws(TransportError) -> String? {
    if try RecordPaging.linkedURL(in: head) != nil {
      return "a Link field with rel=next names a next page" + Self.remedy("\(RecordPaging.link)")
    }
    for name in Self.nextFields {
      guard let value = head.fields[name], !value.isEmpty else { continue }
      let paging = RecordPaging.header(
        name: name, parameter: Self.isReference(value) ? nil : Self.parameter)
      return "the field \(name) names a next page" + Self.remedy("\(paging)")
    }
    return nil
  }

  private func evidenceBesideList() -> String? {
    for (path, object) in objects {
      for name in Self.nextNames {
        guard let next = Self.next(named: name, in: object) else { continue }
        let paging = RecordPaging.cursor(
          field: path + next.name, parameter: next.isReference ? nil : Self.parameter)
        return "the field \(path)\(next.name) names a next page" + Self.remedy("\(paging)")
      }
      for name in Self.moreNames where object[name] == 1 {
        return "the field \(path)\(name) is true"
          + Self.remedy("last=id,PARAM, `paging` number=PARAM or another `paging`")
      }
    }
    return nil
  }

  /// The place of a parameter whose name no response shows.
  private static let parameter = "PARAM"

  private static func remedy(_ paging: String) -> String {
    "; read all pages with `paging` \(paging), or only this one with `paging` first"
      + (paging.contains(parameter)
        ? "; PARAM is the parameter of the request that the server takes it from" : "")
  }

  /// The address or cursor in a field of an object; `nil` if there is none.
  private static func next(
    named name: String, in object: Record
  ) -> (name: String, isReference: Bool)? {
    switch object[name] {
    case .integer(let number): return number == 0 ? nil : (name, false)
    case .text(let text):
      if text.hasPrefix("[") || text.isEmpty { return nil }
      guard text.hasPrefix("{") else { return (name, isReference(text)) }
      guard let inner = Self.object(text), case .text = inner["href"] else { return nil }
      return ("\(name).href", true)
    case .null, .real, .blob: return nil
    }
  }

  /// True for an address, and false for a cursor or a number. Base64 may have slashes.
  private static func isReference(_ text: String) -> Bool {
    text.contains("://") || text.hasPrefix("/") || text.hasPrefix("?")
  }

  /// The object around the list, and those in it that may have the fields, each with the path to it.
  private var objects: [(path: String, object: Record)] {
    guard let others else { return [] }
    // An envelope of more than one part has the fields of each part, by their paths.
    let prefixes = Set(
      others.layout.names.compactMap { name in
        name.lastIndex(of: ".").map { String(name[...$0]) }
      })
    let inner = Self.containers.compactMap { name -> (String, Record)? in
      guard case .text(let text) = others[name] else { return nil }
      return Self.object(text).map { ("\(name).", $0) }
    }
    let parts = prefixes.sorted().compactMap { prefix -> (String, Record)? in
      let fields = zip(others.layout.names, others.values).filter { $0.0.hasPrefix(prefix) }
        .map { (name: String($0.0.dropFirst(prefix.count)), value: $0.1) }
      return Record(fields).map { (prefix, $0) }
    }
    return [("", others)] + inner + parts
  }

  /// The object that a field holds as text.
  static func object(_ text: String) -> Record? {
    guard text.hasPrefix("{") else { return nil }
    let records = try? RecordReader.records(in: Array(text.utf8), format: .ndjson)
    return records?.count == 1 ? records?[0] : nil
  }
}

// MARK: - The number of records

extension PageSigns {
  /// The number of records of the whole list by the server; `nil` if it does not say it.
  var total: Int? {
    for name in Self.totalFields {
      if let value = head.fields[name].flatMap({ httpNumber($0) }) { return Int(value) }
    }
    // Some servers write a range of records, as "records 0-24/319".
    if let range = head.fields["Content-Range"], !range.hasPrefix("bytes"),
      let value = range.split(separator: "/").last.flatMap({ httpNumber($0) })
    {
      return Int(value)
    }
    for (_, object) in objects {
      for name in Self.totalNames {
        if case .integer(let count) = object[name], count >= 0 { return Int(clamping: count) }
      }
    }
    return nil
  }
}
