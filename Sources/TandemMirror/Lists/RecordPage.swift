internal import TandemHTTP
internal import TandemRecords

/// The records and fields of one response.
struct RecordPage {
  var records: PackedRecords
  /// The list with its text, if that is kept.
  var text: ListText?
  /// Everything beside the list, if it stands inside of an object.
  var others: JSONValue?
  /// The address and the fields of the response. Within the list's origin, its address has
  /// the credentials that the list was asked for with.
  var head: HTTPResponseHead
  /// Its length, decoded.
  var byteCount: Int
  /// Its format.
  var format: RecordFormat
}

extension RecordPaging {
  /// The address of the page after `page`; `nil` after the last one.
  ///
  /// - Parameters:
  ///   - signs: The signs in `page`.
  ///   - recordCount: The number of records up to and with `page`.
  ///   - pageCount: The number of pages up to and with `page`.
  ///   - firstNumber: The number of the first page, for ``number(parameter:from:)``.
  ///   - url: The address of the first page, as it was asked for.
  func next(
    after page: RecordPage, _ signs: PageSigns, recordCount: Int, pageCount: Int,
    firstNumber: Int64?,
    first url: String
  ) throws(TransportError) -> String? {
    switch self {
    case .none, .first: return nil
    case .link, .header: return try nextURL(in: page.head, first: url)
    case .cursor(let field, let parameter):
      guard let others = page.others else { throw Self.missingObject(url) }
      guard let cursor = try Self.cursor(at: field[...], in: others, field, url), !signs.saysEnd
      else {
        return nil
      }
      return parameter.map { HTTPURL.setting($0, to: cursor, in: url) }
        ?? HTTPURL.resolved(cursor, against: page.head.url)
    case .last(let field, let parameter):
      if signs.saysEnd { return nil }
      guard let record = page.records.last else { return nil }
      return HTTPURL.setting(parameter, to: try Self.value(of: field, in: record, url), in: url)
    case .offset(let parameter):
      if page.records.isEmpty { return nil }
      let start = HTTPURL.parameter(parameter, in: url).flatMap { httpNumber($0) } ?? 0
      return Self.setting(parameter, to: start, plus: recordCount, in: url)
    case .number(let parameter, _):
      if page.records.isEmpty { return nil }
      // Until the first number is known, the page of number 1 is asked for.
      return Self.setting(parameter, to: firstNumber ?? 0, plus: pageCount, in: url)
    }
  }

  /// The number of the first page, if the address or the option says it.
  func firstNumber(in url: String) -> Int64? {
    guard case .number(let parameter, let from) = self else { return nil }
    return HTTPURL.parameter(parameter, in: url).flatMap { httpNumber($0) } ?? from.map(Int64.init)
  }

  private static func setting(
    _ parameter: String, to start: Int64, plus count: Int, in url: String
  ) -> String? {
    let (sum, overflow) = start.addingReportingOverflow(Int64(count))
    return overflow ? nil : HTTPURL.setting(parameter, to: "\(sum)", in: url)
  }

  /// The next page's address, if it is in the fields of a response.
  func nextURL(in head: HTTPResponseHead, first url: String) throws(TransportError) -> String? {
    guard case .header(let name, let parameter) = self else { return try Self.linkedURL(in: head) }
    guard let value = head.fields[name], !value.isEmpty else { return nil }
    return parameter.map { HTTPURL.setting($0, to: value, in: url) }
      ?? HTTPURL.resolved(value, against: head.url)
  }

  /// The next page's address in the `Link` field.
  static func linkedURL(in head: HTTPResponseHead) throws(TransportError) -> String? {
    guard let field = head.fields["Link"] else { return nil }
    let header = LinkHeader(field)
    guard header.isWhole || header.next != nil || !field.lowercased().contains("next") else {
      throw TransportError(
        .malformedResponse,
        "the server sent a Link field that cannot be read, so that the next page may be lost",
        url: head.url)
    }
    return header.next.map { HTTPURL.resolved($0, against: head.url) }
  }
}

// MARK: - Cursors

extension RecordPaging {
  private static func missingObject(_ url: String) -> TransportError {
    TransportError(
      .malformedResponse,
      "a cursor stands in the object around the list; name the field that holds the list", url: url)
  }

  /// The value of a field of the last record of a page.
  private static func value(
    of field: String, in record: Record, _ url: String
  ) throws(TransportError) -> String {
    let name = record.layout.names.first { isSameName($0, field) } ?? field
    switch record[name] {
    case .text(let text) where !text.isEmpty: return text
    case .integer(let number): return "\(number)"
    default:
      throw TransportError(
        .malformedResponse,
        "the field \"\(field)\" of the last record should lead to the next page, and holds "
          + "\(record[name].excerpt)", url: url)
    }
  }

  /// The cursor at a path: a part of it at a time is the name of a member of an object, the relation of a link in an
  /// array of links, or a position in another array.
  ///
  /// - Returns: `nil` if there is nothing, or nothing in it.
  private static func cursor(
    at path: Substring, in value: JSONValue, _ field: String, _ url: String
  ) throws(TransportError) -> String? {
    if path.isEmpty { return try cursor(value, field, url) }
    switch value {
    case .null, .bool(false), .string(""), .number("0"): return nil
    case .object(let fields):
      // The longest name first: "a.b" may be a name, too.
      let names = [path] + path.indices.reversed().filter { path[$0] == "." }.map { path[..<$0] }
      for name in names {
        guard let inner = fields[String(name)] else { continue }
        return try cursor(at: path.dropFirst(name.count + 1), in: inner, field, url)
      }
      return nil
    case .array(let elements):
      let name = path.prefix { $0 != "." }
      let position =
        httpNumber(name).map { Int($0) } ?? elements.firstIndex { $0.isLink(String(name)) }
      guard let position, elements.indices.contains(position) else {
        guard elements.allSatisfy({ $0.linkMember != nil }) else {
          throw unreadable(field, value, url)
        }
        return nil
      }
      return try cursor(at: path.dropFirst(name.count + 1), in: elements[position], field, url)
    case .bool, .string, .number: throw unreadable(field, value, url)
    }
  }

  /// The text of a cursor, or the address of a link.
  private static func cursor(
    _ value: JSONValue, _ field: String, _ url: String
  ) throws(TransportError) -> String? {
    switch value {
    case .null, .bool(false), .number("0"): return nil
    case .string(let text): return text.isEmpty ? nil : text
    case .number(let digits) where Int64(digits) != nil: return digits
    case .array(let elements) where elements.isEmpty: return nil
    case .object(let fields):
      if fields.isEmpty { return nil }
      guard let name = value.linkMember, case .string(let text)? = fields[name] else {
        throw unreadable(field, value, url)
      }
      return text
    case .bool, .number, .array: throw unreadable(field, value, url)
    }
  }

  private static func unreadable(
    _ field: String, _ value: JSONValue, _ url: String
  ) -> TransportError {
    TransportError(
      .malformedResponse,
      "the field \"\(field)\" should lead to the next page, and holds \("\(value)".prefix(200))",
      url: url)
  }
}

extension FieldValue {
  /// The beginning of the value as JSON.
  fileprivate var excerpt: String { String("\(self)".prefix(200)) }
}
