internal import TandemRecords

/// What a member says by its name and its value.
extension PageMember {
  /// The place of a parameter whose name no response shows.
  static let parameter = "PARAM"

  /// The path, as `--page cursor=` takes it.
  var path: String { prefix + ownName }

  /// The member, for messages.
  var name: String { place == .head ? "the field \(path) of the response" : "the field \(path)" }

  /// The value as a number that is not negative.
  var number: Int? { value.wholeNumber }

  /// The value as a flag.
  private var flag: Bool? {
    switch value {
    case .bool(let flag): return flag
    case .string(let text):
      let text = text.lowercased()
      return ["true", "yes"].contains(text) ? true : ["false", "no"].contains(text) ? false : nil
    case .null, .number, .array, .object: return nil
    }
  }

  /// The value as a flag that may be one digit or letter. These are something else where the name is not that of a
  /// flag.
  private var bit: Bool? {
    if let flag { return flag }
    if case .string(let text) = value, ["y", "n"].contains(text.lowercased()) {
      return text.lowercased() == "y"
    }
    return number == 1 ? true : number == 0 ? false : nil
  }

  /// The value as a flag of the end. `last: 1` is the number of a page, and `done: 0` one of tasks.
  private var endFlag: Bool? {
    let isNamedAsFlag = ["is", "has", "eof", "endof", "reached"].contains {
      letters.starts(with: $0.utf8)
    }
    return isNamedAsFlag ? bit : flag
  }

  private func isCalled(_ name: StaticString) -> Bool {
    letters.elementsEqual(
      UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  /// True for the places that describe the page.
  private var isOfPage: Bool { place != .data && place != .cursors }
}

// MARK: - Flags

extension PageMember {
  /// True for a flag of continuation that is true.
  var saysMore: Bool {
    if PageWords.truncated.spell(letters) { return bit ?? false }
    guard PageWords.more.spell(letters) else { return false }
    // A bare `next` with a number is a page's.
    return flag ?? (!isCalled("next") && bit == true)
  }

  /// True for a flag of completeness that is false.
  var deniesEnd: Bool { isOfPage && endFlag == false && isCompleteness }

  /// True for the name of a flag of completeness. `incomplete_results` has the same words as `in complete results`,
  /// and is the contrary.
  private var isCompleteness: Bool {
    PageWords.end.spell(letters)
      && !String(decoding: letters, as: UTF8.self).contains("incomplete")
  }

  /// True for a flag that says that no page follows. One of a job or of a page that is done says nothing about other
  /// pages.
  var saysEnd: Bool {
    guard isOfPage else { return false }
    if endFlag == true, PageWords.lastPage.spell(letters) { return true }
    return bit == false && PageWords.more.spell(letters) && !isCalled("next")
  }

  /// True for a flag that says that something is done: a job, a page, or the list.
  var saysDone: Bool { isOfPage && endFlag == true && isCompleteness }

  /// True for a number of records to come.
  var isRemainder: Bool { isOfPage && (number ?? 0) > 0 && PageWords.remaining.spell(letters) }

  /// True for a flag that says that the server did not find everything.
  var isIncomplete: Bool {
    isOfPage && flag == true && PageWords.incomplete.spell(letters)
  }
}

// MARK: - Links and cursors

extension PageMember {
  /// The place of the next page's address or cursor; `nil` if the member names no next page.
  var next: (path: String, isReference: Bool)? {
    if case .array(let elements) = value, elements.contains(where: { $0.isLink("next") }) {
      return ("\(path).next", true)
    }
    if PageWords.next.spell(letters) {
      let isBare = isCalled("next")
      if isBare, isOfOtherThing { return nil }
      guard let target = target(isBare: isBare) else { return nil }
      return place != .data || !isBare || target.isReference ? target : nil
    }
    // The address of more records; `more` alone may lead to anything.
    if PageWords.more.spell(letters), !isCalled("more"), let target = target(isBare: false),
      target.isReference
    {
      return target
    }
    // A field that begins with X- is a field of this service.
    let isOwnField = place == .head && (letters.count > 6 || ownName.lowercased().hasPrefix("x-"))
    if place == .beside || place == .container || isOwnField, PageWords.cursor.spell(letters) {
      return target(isBare: false)
    }
    return place == .beside || place == .container ? ambiguousCursor : nil
  }

  /// True for a bare `next` that is a day, or a version beside another one. A time may be a cursor.
  private var isOfOtherThing: Bool {
    guard case .string(let text) = value else { return false }
    if text.isDay { return true }
    return text.isVersion
      && siblings.keys.contains {
        String(decoding: PageWords.letters(of: $0), as: UTF8.self).hasSuffix("version")
      }
  }

  /// The next page's cursor in a member whose name may also repeat a parameter of the request: `offset` of Airtable
  /// and `after` of Reddit are texts that are no number and no date.
  private var ambiguousCursor: (path: String, isReference: Bool)? {
    guard isCalled("offset") || isCalled("after"),
      case .string(let text) = value, !text.isEmpty,
      !text.prefix(4).allSatisfy(\.isNumber), !text.isZoneOffset,
      !Self.empties.contains(text.lowercased())
    else { return nil }
    return (path, false)
  }

  /// Texts by which some servers say that there is none.
  private static let empties: Set<String> = ["", "0", "-1", "null", "none", "nil", "false"]

  private func target(isBare: Bool) -> (path: String, isReference: Bool)? {
    switch value {
    case .null, .bool: return nil
    case .number(let digits):
      return digits.hasPrefix("-") || Double(digits) == 0 ? nil : (path, false)
    case .string(let text):
      return Self.empties.contains(text.lowercased()) ? nil : (path, text.isReference)
    case .array(let elements):
      // The values to go on after, as Elasticsearch takes them; objects are other things to come.
      if elements.count == 1, let inner = elementTarget(elements[0], isBare: isBare) {
        return inner
      }
      let isCursor = elements.allSatisfy { if case .object = $0 { false } else { true } }
      return elements.isEmpty || !isCursor ? nil : (path, false)
    case .object(let fields):
      if let link = value.linkMember { return ("\(path).\(link)", true) }
      return Self.position(in: fields, isBare: isBare).map { ("\(path).\($0)", false) }
    }
  }

  /// The target in the only element of an array: a link with nothing else, as HAL may have it, or a position. Other
  /// objects are things to come.
  private func elementTarget(
    _ element: JSONValue, isBare: Bool
  ) -> (path: String, isReference: Bool)? {
    guard case .object(let fields) = element else { return nil }
    if let link = element.linkMember {
      return fields.keys.allSatisfy(Self.linkMembers.contains) ? ("\(path).0.\(link)", true) : nil
    }
    return Self.position(in: fields, isBare: isBare).map { ("\(path).0.\($0)", false) }
  }

  private static let linkMembers: Set<String> = [
    "href", "url", "uri", "link", "rel", "relation", "type", "title", "name", "method", "templated",
    "hreflang",
  ]

  /// The member of an object that is a position in the list; another one only if the object's name says what it is.
  private static func position(in fields: [String: JSONValue], isBare: Bool) -> String? {
    let names = fields.keys.sorted().filter { fields[$0]?.isFilled == true }
    return names.first {
      positions.contains(String(decoding: PageWords.letters(of: $0), as: UTF8.self))
    } ?? (isBare ? nil : names.first)
  }

  /// The members by which an object called `next` is a position in the list, and not the next of something else.
  private static let positions: Set<String> = [
    "after", "cursor", "from", "key", "marker", "offset", "page", "skip", "start", "startindex",
    "token",
  ]

  /// The paging that reads a next page at a path.
  func paging(_ path: String, isReference: Bool) -> RecordPaging {
    let parameter = isReference ? nil : Self.parameter
    return place == .head
      ? .header(name: path, parameter: parameter) : .cursor(field: path, parameter: parameter)
  }

  /// The paging by a cursor beside a flag, such as `endCursor` beside `hasNextPage`.
  var cursorPaging: String? {
    guard place != .head else { return nil }
    let isCursor = { (name: String) in
      ["cursor", "endcursor", "aftercursor", "lastcursor"].contains(
        String(decoding: PageWords.letters(of: name), as: UTF8.self))
    }
    guard let name = siblings.keys.sorted().first(where: isCursor),
      siblings[name]?.isFilled == true
    else { return nil }
    return "cursor=\(prefix)\(name),\(Self.parameter)"
  }
}

extension String {
  /// True for an address, and false for a cursor or a number. Base64 may have slashes.
  fileprivate var isReference: Bool { contains("://") || hasPrefix("/") || hasPrefix("?") }

  /// The text with all digits as zeros.
  private var shape: String { String(map { ("0"..."9").contains($0) ? "0" : $0 }) }

  /// True for a text such as 2027-01-31.
  fileprivate var isDay: Bool { shape == "0000-00-00" }

  /// True for the offset of a time zone, such as +02:00.
  fileprivate var isZoneOffset: Bool {
    ["+00:00", "-00:00", "+0000", "-0000", "+00", "-00"].contains(shape)
  }

  /// True for a text such as v2 or 2.0.1.
  fileprivate var isVersion: Bool {
    let parts = (hasPrefix("v") ? dropFirst() : self[...]).split(
      separator: ".", omittingEmptySubsequences: false)
    return (hasPrefix("v") || parts.count > 1)
      && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
  }
}

extension JSONValue {
  /// The value as an integer that is not negative, also in a string.
  fileprivate var wholeNumber: Int? {
    switch self {
    case .number(let text), .string(let text):
      (Int(text) ?? Double(text).flatMap { Int(exactly: $0) } ?? Self.writtenNumber(text))
        .flatMap { $0 < 0 ? nil : $0 }
    case .null, .bool, .array, .object: nil
    }
  }

  /// The number in a text for people: "1,099", or one more than 99 in "99+".
  private static func writtenNumber(_ text: String) -> Int? {
    let isMore = text.hasSuffix("+")
    let groups = (isMore ? text.dropLast() : text[...]).split(
      separator: ",", omittingEmptySubsequences: false)
    guard groups.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      (1...3).contains(groups[0].count) || groups.count == 1,
      groups.dropFirst().allSatisfy({ $0.count == 3 }), let number = Int(groups.joined()),
      number < .max
    else { return nil }
    return isMore ? number + 1 : number
  }

  /// True for a text, an object or a number that is neither empty nor zero.
  fileprivate var isFilled: Bool {
    switch self {
    case .string(let text): !text.isEmpty
    case .number(let digits): Double(digits) != 0
    case .object(let fields): !fields.isEmpty
    case .null, .bool, .array: false
    }
  }

  /// The member with the address of a link; `nil` if this is none.
  var linkMember: String? {
    guard case .object(let fields) = self else { return nil }
    return ["href", "url", "uri", "link", "@href", "src"].first {
      if case .string(let text)? = fields[$0] { !text.isEmpty } else { false }
    }
  }

  /// True for a link to something of that relation (RFC 8288), in the forms of HAL, Siren, FHIR and Atom.
  func isLink(_ relation: String) -> Bool {
    guard case .object(let fields) = self, linkMember != nil else { return false }
    return ["rel", "relation", "@rel", "name"].contains { name in
      switch fields[name] {
      case .string(let text)?:
        return text.split(separator: " ").contains { $0.lowercased() == relation }
      case .array(let texts)?: return texts.contains(.string(relation))
      default: return false
      }
    }
  }
}

// MARK: - Numbers

extension PageMember {
  /// The number of records of the whole list that the member gives.
  func total(_ nouns: [[UInt8]]) -> Int? {
    // Facebook
    if place == .data, isCalled("totalcount"), prefix.hasSuffix("summary.") { return number }
    guard isOfPage else { return nil }
    // Salesforce; elsewhere, it is a number of bytes.
    if isCalled("totalsize"), siblings["done"] != nil { return number }
    if PageWords.total.spell(letters, nouns: nouns) {
      return isMoney || isSuperseded(nouns) || isPageSize(nouns) ? nil : number ?? innerNumber
    }
    return PageWords.nouns.spell(letters) ? number : nil
  }

  /// The number in an object, such as `{"value": 10000, "relation": "gte"}`.
  private var innerNumber: Int? {
    guard case .object(let fields) = value else { return nil }
    let number = ["value", "count", "total", "records", "results", "items"].lazy
      .compactMap { fields[$0]?.wholeNumber }.first
    // Elasticsearch counts no further than a limit.
    return number.map { fields["relation"] == .string("gte") && $0 < .max ? $0 + 1 : $0 }
  }

  /// True if the total is an amount of money.
  private var isMoney: Bool {
    let words = [
      "currency", "subtotal", "tax", "taxes", "vat", "amount", "price", "discount", "shipping",
    ]
    return isCalled("total")
      && siblings.keys.contains {
        words.contains(String(decoding: PageWords.letters(of: $0), as: UTF8.self))
      }
  }

  /// True if another total counts the records that the request's filter leaves, and this one all.
  private func isSuperseded(_ nouns: [[UInt8]]) -> Bool {
    func isFiltered(_ letters: [UInt8]) -> Bool {
      let text = String(decoding: letters, as: UTF8.self)
      return ["filter", "match", "display"].contains(where: text.contains)
        && !text.contains("unfiltered")
    }
    return !isFiltered(letters)
      && siblings.keys.contains {
        let letters = PageWords.letters(of: $0)
        return isFiltered(letters) && PageWords.total.spell(letters, nouns: nouns)
      }
  }

  /// True for a `count` beside a total: it is the number of records in the page, or the one that was asked for.
  private func isPageSize(_ nouns: [[UInt8]]) -> Bool {
    isCalled("count")
      && siblings.keys.contains {
        let letters = PageWords.letters(of: $0)
        return String(decoding: letters, as: UTF8.self).contains("total")
          && PageWords.total.spell(letters, nouns: nouns)
      }
  }
}

// MARK: - Reports

extension PageMember {
  /// True for the report of an error, or of a list that was cut off.
  var reportsFailure: Bool {
    guard place == .beside || place == .container else { return isFailedShardCount }
    if PageWords.failure.spell(letters) { return value.isFailure }
    if PageWords.success.spell(letters) { return flag == false }
    guard PageWords.notice.spell(letters) else { return false }
    // A status may be that of what the list is of, such as an order that is delivered in part.
    let isStatus = PageWords.status.spell(letters)
    let isOfQuery = isStatus && letters.count > "status".utf8.count
    return value.texts.contains {
      isStatus ? $0.isPartialStatus || isOfQuery && $0.isUnfinishedStatus : $0.saysIncomplete
    }
  }

  /// Elasticsearch answers with the parts of an index that did not fail.
  private var isFailedShardCount: Bool {
    path.hasSuffix("_shards.failed") && (number ?? 0) > 0
  }
}

extension JSONValue {
  /// True unless an error is said to be none.
  fileprivate var isFailure: Bool {
    switch self {
    case .null: return false
    case .bool(let flag): return flag
    case .number(let digits): return Double(digits) != 0
    case .string(let text):
      return !["", "0", "ok", "none", "no", "null", "false", "success", "no error"]
        .contains(text.lowercased())
    case .array(let elements): return elements.contains { $0.isFailure }
    case .object(let fields):
      for name in ["code", "errno", "status"] {
        if let code = fields[name] { return code.isFailure && code != .number("200") }
      }
      return fields.values.contains { $0.isFailure }
    }
  }

  /// The text, or those of an array.
  fileprivate var texts: [String] {
    switch self {
    case .string(let text): [text]
    case .array(let elements): elements.flatMap(\.texts)
    case .object(let fields): ["message", "text"].flatMap { fields[$0]?.texts ?? [] }
    case .null, .bool, .number: []
    }
  }
}

extension String {
  /// True if a notice says that a list is not complete.
  fileprivate var saysIncomplete: Bool {
    let text = lowercased()
    let words = [
      "truncated", "incomplete", "partial ", "partial_", "timed out", "timed_out", "timeout",
      "runtime error", "limit exceeded", "limit reached", "out of memory", "not all ",
      "more results", "first page",
    ]
    return text == "partial" || words.contains { text.says($0[...]) }
  }

  /// True if the text has the word, without a negation before it.
  private func says(_ word: Substring) -> Bool {
    var rest = self[...]
    while let range = rest.firstRange(of: word) {
      let before = self[..<range.lowerBound].split(whereSeparator: \.isWhitespace).last ?? ""
      if !["no", "not", "without", "never", "isn't", "wasn't", "aren't", "weren't"].contains(before)
      {
        return true
      }
      rest = rest[range.upperBound...]
    }
    return false
  }

  /// True if a status is that of a response with a part of a list.
  fileprivate var isPartialStatus: Bool {
    [
      "partial", "truncated", "timedout", "timeout", "partialcontent", "partialresult",
      "partialresults", "partialsuccess", "partialerror", "partialfailure", "limitexceeded",
      "error", "fail",
    ].contains(String(decoding: PageWords.letters(of: self), as: UTF8.self))
  }

  /// True if a status of a query is that of one that goes on.
  fileprivate var isUnfinishedStatus: Bool {
    ["incomplete", "inprogress", "running", "pending", "queued", "failed"]
      .contains(String(decoding: PageWords.letters(of: self), as: UTF8.self))
  }
}
