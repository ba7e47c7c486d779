internal import TandemRecords

/// What one response of a list has.
struct RecordPage {
  var records: [Record]
  /// The fields beside the list, if it stands inside of an object.
  var others: Record?
  /// Where it came from, and what the server sent with it.
  var head: HTTPResponseHead
}

extension RecordPaging {
  /// The address of the page after `page`; `nil` after the last one.
  ///
  /// - Parameters:
  ///   - recordCount: How many records there are up to and with `page`.
  ///   - pageCount: How many pages.
  ///   - url: The address of the first page, as it was asked for.
  func next(
    after page: RecordPage, recordCount: Int, pageCount: Int, first url: String
  ) throws(TransportError) -> String? {
    switch self {
    case .none: return nil
    case .link:
      return page.head.fields["Link"].flatMap { LinkHeader($0).next }
        .map { URLReference.resolved($0, against: page.head.url) }
    case .cursor(let field, let parameter):
      guard let others = page.others else { throw Self.missingObject(url) }
      guard let cursor = Self.cursor(at: field, in: others) else { return nil }
      return parameter.map { URLReference.setting($0, to: cursor, in: url) }
        ?? URLReference.resolved(cursor, against: page.head.url)
    case .offset(let parameter):
      if page.records.isEmpty { return nil }
      let start = URLReference.parameter(parameter, in: url).flatMap { httpNumber($0) } ?? 0
      return Self.setting(parameter, to: start, plus: recordCount, in: url)
    case .number(let parameter):
      if page.records.isEmpty { return nil }
      let start = URLReference.parameter(parameter, in: url).flatMap { httpNumber($0) } ?? 1
      return Self.setting(parameter, to: start, plus: pageCount, in: url)
    }
  }

  private static func setting(
    _ parameter: String, to start: Int64, plus count: Int, in url: String
  ) -> String? {
    let (sum, overflow) = start.addingReportingOverflow(Int64(count))
    return overflow ? nil : URLReference.setting(parameter, to: "\(sum)", in: url)
  }

  private static func missingObject(_ url: String) -> TransportError {
    TransportError(
      .malformedResponse,
      "a cursor stands in the object around the list; name the field that holds the list", url: url)
  }

  /// The cursor in a field of that name, or, a part of the name at a time, of objects in objects.
  private static func cursor(at path: String, in object: Record) -> String? {
    if object.layout.offset(of: path) == nil, let point = path.firstIndex(of: ".") {
      guard case .text(let text) = object[String(path[..<point])],
        let inner = try? RecordReader.records(in: Array(text.utf8), format: .ndjson),
        inner.count == 1
      else { return nil }
      return cursor(at: String(path[path.index(after: point)...]), in: inner[0])
    }
    switch object[path] {
    case .text(let text): return text.isEmpty ? nil : text
    case .integer(let number): return number == 0 ? nil : "\(number)"
    case .null, .real, .blob: return nil
    }
  }
}
