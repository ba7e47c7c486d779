/// The addresses that the records of a list came from, page by page: what is relative in a record is
/// relative to the address that answered for its page, which is the one that redirects led to (RFC
/// 3986, section 5.1.3).
///
/// Where an address has the origin of the one that was asked for, it has the credentials of that too:
/// do not show or keep it as it is.
public struct RecordBases: Sendable {
  /// Where the records of each page end, and the page's address.
  private let pages: [(end: Int, url: String)]

  /// Those of a list that came from no server.
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
