internal import TandemHTTP
internal import TandemRecords

/// The signs in one page that the list goes on, or that the page is not all that it should be.
///
/// A sign is a member of an object around the list, or of an object beside it, or a field of the response, whose
/// name is of ``PageWords`` and whose value says so: a link or a cursor to a next page, a flag of continuation that
/// is true, a flag of completeness that is false, a total that is greater than what was read, or the report of an
/// error. ``RecordPaging/first`` declares all of them harmless.
struct PageSigns {
  private let head: HTTPResponseHead
  private let members: [PageMember]
  /// The words of the list's own name.
  private let nouns: [[UInt8]]
  /// The number of records up to and with the page; `nil` for a response without content.
  private let recordCount: Int?

  /// - Parameter recordCount: The number of records up to and with `page`.
  init(of page: RecordPage, list: String?, recordCount: Int) {
    self.init(page.head, others: page.others, list: list ?? "", recordCount: recordCount)
  }

  init(
    _ head: HTTPResponseHead, others: JSONValue? = nil, list: String = "", recordCount: Int? = nil
  ) {
    self.head = head
    self.recordCount = recordCount
    members =
      PageMember.all(in: head) + (others.map { PageMember.all(beside: list, in: $0) } ?? [])
    nouns = Self.nouns(ofList: list)
  }

  /// The names of a list and of what it is in, and their singular.
  private static func nouns(ofList path: String) -> [[UInt8]] {
    var names = path.split(separator: ".").map { PageWords.letters(of: String($0)) }
    // A connection of GraphQL names its number after what it has, whatever it is called itself.
    if ["nodes", "edges"].contains(where: { names.last?.elementsEqual($0.utf8) == true }) {
      names += ["repository", "issue", "user", "discussion"].map { Array($0.utf8) }
    }
    return names.flatMap { name -> [[UInt8]] in
      let letters = Array(name)
      if letters.count > 4, letters.suffix(3).elementsEqual("ies".utf8) {
        return [letters, letters.dropLast(3) + [UInt8(ascii: "y")]]
      }
      let isPlural = letters.count > 2 && letters.last == UInt8(ascii: "s")
      return [letters] + (isPlural ? [Array(letters.dropLast())] : [])
    }
  }
}

// MARK: - The next page

extension PageSigns {
  /// The evidence that the list goes on after the page, with the way to read the rest; `nil` if there is none.
  func evidence() throws(TransportError) -> String? {
    if let evidence = try evidenceOfNextPage() { return evidence }
    if let member = members.first(where: { (pageTotal($0) ?? 0) > 1 }) {
      return "\(member.name) is \(member.value)" + Self.remedy(Self.counting)
    }
    guard let recordCount, let (member, total) = totals.first(where: { $0.total > recordCount })
    else { return nil }
    return "the server says that it has \(total) records, and sent \(recordCount) (\(member))"
      + Self.remedy(Self.counting)
  }

  /// The evidence without totals, which may count records that the server does not show.
  func evidenceOfNextPage() throws(TransportError) -> String? {
    if let evidence = try evidenceInHead() { return evidence }
    return evidence(among: members.filter { $0.place != .head })
  }

  /// The evidence in the fields of the response, which a 304 may have too.
  func evidenceInHead() throws(TransportError) -> String? {
    if try RecordPaging.linkedURL(in: head) != nil {
      return "a Link field with rel=next names a next page" + Self.remedy("\(RecordPaging.link)")
    }
    return evidence(among: members.filter { $0.place == .head })
  }

  /// The evidence in flags alone, which the last of several pages must not have either.
  var evidenceInFlags: String? {
    guard let member = members.first(where: { $0.saysMore || $0.deniesEnd }) else { return nil }
    return "\(member.name) is \(member.value)"
  }

  /// True if a flag says that no page follows. Then a cursor is one for another use, such as for later news.
  var saysEnd: Bool {
    members.contains { $0.saysEnd } && !members.contains { $0.saysMore || $0.deniesEnd }
  }

  /// True if a flag says that something is done, which may be a job, this page, or the list.
  var saysDone: Bool { members.contains { $0.saysDone } }

  /// True if all records have come, by the server's own number of them.
  var hasAllRecords: Bool { total.map { $0 > 0 && $0 == recordCount } ?? false }

  private func evidence(among members: [PageMember]) -> String? {
    if !saysEnd {
      let nexts = members.compactMap { member in member.next.map { (member, $0) } }
      if let (member, next) = nexts.first(where: { $0.1.isReference }) ?? nexts.first {
        return "\(member.name) names a next page"
          + Self.remedy("\(member.paging(next.path, isReference: next.isReference))")
      }
    }
    for member in members where member.saysMore || member.deniesEnd || member.isRemainder {
      return "\(member.name) is \(member.value)"
        + Self.remedy(
          member.cursorPaging ?? "last=id,PARAM, `paging` number=PARAM or another `paging`")
    }
    return nil
  }

  /// The paging for a list of which only a number of records or pages is known.
  private static let counting = "number=PARAM, `paging` offset=PARAM or another `paging`"

  private static func remedy(_ paging: String) -> String {
    "; read all pages with `paging` \(paging), or only this one, as if it were the list, with `paging` first"
      + (paging.contains(PageMember.parameter)
        ? "; PARAM is the parameter of the request that the server takes it from" : "")
  }
}

// MARK: - The number of records

extension PageSigns {
  /// The number of records of the whole list by the server; `nil` if it does not say it.
  var total: Int? { totals.map(\.total).max() }

  /// The numbers of records of the whole list by the server, each with its place.
  private var totals: [(member: String, total: Int)] {
    var totals = members.compactMap { member in
      member.total(nouns).map { (member: member.name, total: $0) }
    }
    // Some servers write a range of records, as "records 0-24/319".
    if let range = head.fields["Content-Range"], !range.hasPrefix("bytes"),
      let value = range.split(separator: "/").last.flatMap({ httpNumber($0) })
    {
      totals.append(("the field Content-Range", Int(value)))
    }
    return totals
  }

  /// The number of pages of the whole list that the member gives.
  private func pageTotal(_ member: PageMember) -> Int? {
    guard member.place != .data, member.place != .cursors, let count = member.number else {
      return nil
    }
    if PageWords.pageTotal.spell(member.letters) { return count }
    guard member.letters.elementsEqual("pages".utf8) else { return nil }
    // Of a book, it is the number of its pages.
    let isOfList =
      member.place == .head
      || member.siblings.keys.contains {
        ["page", "currentpage", "pagenumber"].contains(
          String(decoding: PageWords.letters(of: $0), as: UTF8.self))
      }
    return isOfList ? count : nil
  }

  /// The greatest number of records, and of pages, of the whole list by the server, each with its place.
  var counts: PageCounts {
    PageCounts(
      records: totals.max { $0.total < $1.total },
      pages: members.compactMap { member in pageTotal(member).map { (member.name, $0) } }
        .max { $0.1 < $1.1 })
  }
}

/// The numbers of records and of pages that the whole list has by the server, each with its place.
struct PageCounts {
  var records: (member: String, total: Int)?
  var pages: (member: String, total: Int)?

  /// The numbers that a later page gives count instead of those of earlier ones. Some servers count nothing for an
  /// empty page.
  mutating func update(_ later: PageCounts) {
    if let later = later.records, later.total > 0 { records = later }
    if let later = later.pages, later.total > 0 { pages = later }
  }

  /// The evidence that the server has more; `nil` if there is none.
  func evidence(recordCount: Int, pageCount: Int) -> String? {
    if let (member, total) = records, total > recordCount {
      return "\(member) says that the list has \(total) records, and \(recordCount) came"
    }
    if let (member, total) = pages, total > pageCount {
      return "\(member) says that the list has \(total) pages, and \(pageCount) came"
    }
    return nil
  }
}

// MARK: - Faults

extension PageSigns {
  /// The reason why a page is not to be taken for what the server has, however the list is read; `nil` if there is
  /// none.
  var fault: String? {
    guard let member = members.first(where: { $0.isIncomplete || $0.reportsFailure }) else {
      return nil
    }
    return
      "the server did not send everything: \(member.name) is \(String("\(member.value)".prefix(200)))"
      + "; ask for less at a time, try again later, or take what it sent with `paging` first"
  }
}
