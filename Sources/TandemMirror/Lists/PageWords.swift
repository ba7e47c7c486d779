/// The words of the names by which servers say that a list goes on. A name counts if it consists of such words and
/// of nothing else, however they are joined: `hasNextPage`, `has_next_page` and `HAS-NEXT-PAGE` are one name, and
/// `next_year` is none.
///
/// The same table stands in Documentation/Mirroring.md.
struct PageWords: Sendable {
  /// A name has at least one of these.
  private let keys: [[UInt8]]
  /// A name may have these too, in any order.
  private let others: [[UInt8]]

  private init(_ keys: String, with others: String) {
    self.keys = keys.split(separator: " ").map { Array($0.utf8) }
    self.others = others.split(separator: " ").map { Array($0.utf8) }
  }

  /// The next page's address, or its number or cursor.
  static let next = PageWords(
    "next",
    with: """
      after batch block chunk continuation cursor cursorid from href index items key link mark marker maxid minid \
      offset page pageid pagenumber pages pagination paging part path params position query range record records \
      request results row rows scroll search segment set since sinceid skip start starting token uri url
      """)
  /// A cursor that some servers send only if the list goes on.
  static let cursor = PageWords(
    "continue continuation resume resumption cursor bookmark lastevaluatedkey pagetoken paginationtoken skiptoken",
    with: "after href id key link mark marker page query token uri url")
  /// A flag that is true if the list goes on.
  static let more = PageWords(
    "more next additional further continues",
    with: """
      are available batch batches can chunk chunks coming come data documents elements entries exist exists fetch \
      follow has have is item items link load objects page pages record records remaining result results row rows \
      set there to
      """)
  /// A flag that is true if the list goes on behind a limit of the server.
  static let truncated = PageWords(
    """
    truncated exceeded overflow limitreached limithit capped clipped maxreached maximumreached rowsreached \
    resultsreached recordsreached sizereached resultlimited resultslimited rowslimited listlimited toomany
    """, with: ofLists)
  /// A flag that is true if the server did not find everything, so that no page has the rest.
  static let incomplete = PageWords("incomplete partial timedout terminatedearly", with: ofLists)
  /// Words that go with flags of a whole list.
  private static let ofLists = """
    content data has is items job limit list maximum max of output page pages query records response result results row \
    rows search set size transfer was
    """
  /// A flag that is false if the list goes on.
  static let end = PageWords(
    "done complete last end eof exhausted nomore finalpage finalbatch finalchunk allloaded allfetched",
    with: """
      all at batch chunk data fetched has in is items job list loaded of page pages query reached records result \
      results retrieved returned rows search set stream the
      """)
  /// A flag that is true if no page follows.
  static let lastPage = PageWords(
    "last isend endof eof exhausted nomore finalpage finalbatch finalchunk",
    with: """
      at batch chunk data has in is items list of page pages query reached records result results rows search set \
      stream the
      """)
  /// The number of records of the whole list.
  static let total = PageWords(
    "total totals count found filtered matched matches hits",
    with: """
      all approx approximate available collection display documents docs elements entities entries entry estimated \
      exact features filter full hit i in items item list match matching members n nb num number objects object of \
      overall query record records resources result results row rows table
      """)
  /// The number of records of the whole list, by the noun alone.
  static let nouns = PageWords("records results hits matches", with: "")
  /// The number of pages of the whole list.
  static let pageTotal = PageWords(
    """
    totalpages totalpage pagestotal pagetotal pagecount pagescount numpages nbpages numberofpages countpages \
    countofpages lastpage maxpage npages
    """,
    with: "number of num total count")
  /// The number of records that are still to come.
  static let remaining = PageWords(
    """
    remainingitem remainingitems remainingrecord remainingrecords remainingresult remainingresults \
    remainingpages remainingrows itemsremaining recordsremaining resultsremaining pagesremaining rowsremaining \
    morecount nummore
    """,
    with: "count number of")
  /// A text or an object that reports an error of the server.
  static let failure = PageWords("error errors", with: "")
  /// A flag that is false if the server failed.
  static let success = PageWords("success successful succeeded ok", with: "is was")
  /// A text that may say that the server did not send everything.
  static let notice = PageWords(
    "message messages notice notices note notes remark remarks warning warnings status state",
    with: "result results response query search list code reason text")
  /// A notice of one word.
  static let status = PageWords(
    "status state", with: "result results response query search list code reason text")
  /// An object beside the list that describes the page and not the data.
  static let container = PageWords(
    """
    meta metadata pagination paging paginator pager page pages link links cursor cursors nav navigation list listing \
    response result view hits info queries
    """,
    with: "context control controls data header headers set")

  /// True if a name consists of these words.
  ///
  /// - Parameters:
  ///   - name: A name as ``letters(of:)`` returns it.
  ///   - nouns: Further words that the name may have.
  func spell(_ name: [UInt8], nouns: [[UInt8]] = []) -> Bool {
    guard name.count <= Self.maxLetterCount, !name.isEmpty else { return false }
    // Whether the letters before an offset are words, without and with a key among them.
    var plain = Array(repeating: false, count: name.count + 1)
    var keyed = plain
    plain[0] = true
    for start in name.indices where plain[start] || keyed[start] {
      let rest = name[start...]
      for word in keys where rest.starts(with: word) { keyed[start + word.count] = true }
      for word in others + nouns where rest.starts(with: word) {
        if plain[start] { plain[start + word.count] = true }
        if keyed[start] { keyed[start + word.count] = true }
      }
    }
    return keyed[name.count]
  }

  /// The maximum length of a name that is looked at, in letters.
  private static let maxLetterCount = 64

  /// The letters of a name in lower case, without the name space that some have, as in `hydra:next` and
  /// `@odata.nextLink`, and without anything between its words.
  static func letters(of name: String) -> [UInt8] {
    let start = name.utf8.lastIndex { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
    let local = start.map { name.utf8[name.utf8.index(after: $0)...] } ?? name.utf8[...]
    return local.compactMap { byte -> UInt8? in
      switch byte {
      case 0x41...0x5A: byte | 0x20
      case 0x30...0x39, 0x61...0x7A: byte
      default: byte < 0x80 ? nil : byte
      }
    }
  }
}
