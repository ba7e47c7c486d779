internal import TandemHTTP

/// Repeated requests for pages: for those of an earlier run, to find out if the list is unchanged, and for those
/// of this run, to find out if they belong to one version of the list.
extension RecordListReading {
  /// The answers to a repeated request.
  private enum Repetition {
    case unchanged
    case page(RecordPage)
    /// The server has no such page any more.
    case gone
  }

  /// A change of a list while its pages were read.
  enum Change {
    /// Records came, went or moved to another page, with the evidence.
    case records(String)
    /// The pages have the same keys as before, and other values.
    case values
  }

  /// The first page; `nil` if no page has changed since the validators were sent.
  func firstPage(unless validators: RecordListValidators?) async throws -> RecordPage? {
    guard let validators, validators.canBeSent(to: url, hiding: secrets) else {
      return try await newPage(PageQuestion(url: url))
    }
    let question = PageQuestion(
      url: url, validators: validators.first,
      showsEnd: isEndInHead && validators.laterPages.isEmpty)
    if let page = try await page(question) { return page }
    if try await areUnchanged(validators.laterPages) { return nil }
    return try await newPage(PageQuestion(url: url))
  }

  /// True if the address of the next page is not in the content that the validators are of.
  private var isEndInHead: Bool { options.paging.isInHead }

  private func areUnchanged(_ pages: [RecordListValidators.LaterPage]) async throws -> Bool {
    for (position, page) in pages.enumerated() {
      let question = PageQuestion(
        url: HTTPURL.adoptingCredentials(of: url, in: page.url),
        validators: page.validators, isRepeated: true,
        showsEnd: isEndInHead && position == pages.count - 1)
      guard case .unchanged = try await again(question) else { return false }
    }
    return true
  }

  /// A change of a page since it was read; `nil` if there is none.
  ///
  /// Without a change, all pages were as read at one moment: after the last page was read and before the
  /// first was asked for again. The exception is a list that changed and changed back twice. If values are not
  /// compared, this holds for the keys on each page, and not for the other values. Equal validators
  /// prove that a page is unchanged; different ones prove nothing, because some servers send new ones with each
  /// response. A new address of the next page proves nothing either; the page is asked for at that address.
  ///
  /// - Parameter comparesValues: False to compare only the keys, if they are known.
  func change(
    of pages: PageCollection, comparesValues: Bool
  ) async throws -> Change? {
    var url = url
    for (position, known) in pages.pages.enumerated() {
      let isLast = position == pages.count - 1
      let question = PageQuestion(
        url: url, validators: known.validators, isPlain: !pages.format.hasEnd, isRepeated: true)
      let next: String?
      switch try await again(question) {
      case .unchanged: next = isLast ? pages.refusedURL : pages.pages[position + 1].url
      case .page(let page):
        if !pages.hasSameRecords(page, at: position) {
          guard pages.hasSameKeys(page, at: position) else { return Self.change(at: position) }
          if comparesValues { return .values }
        }
        next = try pages.nextURL(after: page, at: position)
      case .gone: return Self.change(at: position)
      }
      guard (next == nil) == (isLast && pages.refusedURL == nil) else {
        return Self.change(at: position)
      }
      url = next ?? url
    }
    guard let url = pages.refusedURL else { return nil }
    if case .gone = try await again(PageQuestion(url: url, isRepeated: true)) { return nil }
    return Self.change(at: pages.count)
  }

  private static func change(at position: Int) -> Change {
    .records("its page \(position + 1) is another one now")
  }

  private func again(_ question: PageQuestion) async throws -> Repetition {
    do {
      return try await page(question).map { .page($0) } ?? .unchanged
    } catch let error as TransportError where error.code == .badStatus && !error.isTransient {
      return .gone
    }
  }
}
