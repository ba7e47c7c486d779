/// The addresses that the records of a list came from, page by page. A relative address in a record is relative
/// to the address that answered for its page, after redirects (RFC 3986, section 5.1.3).
///
/// An address of the list's own origin has the credentials of the request too: do not show or store it.
public struct RecordBases: Sendable {
  /// Where the records of each page end, and the page's address.
  private let pages: [(end: Int, url: String)]

  /// The bases of a list that came from no server.
  init() { pages = [] }

  init(_ pages: [ReadPage]) {
    self.pages = pages.map { ($0.records.upperBound, $0.base) }
  }

  /// The base of the record at a position in the list; `nil` if it has none.
  ///
  /// - Complexity: O(log *n*) for *n* pages.
  public subscript(position: Int) -> String? {
    var (low, high) = (0, pages.count)
    while low < high {
      let middle = (low + high) / 2
      if pages[middle].end <= position { low = middle + 1 } else { high = middle }
    }
    return low < pages.count ? pages[low].url : nil
  }
}
