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

  /// The evidence that a page has changed since it was read; `nil` if none has.
  ///
  /// Without such evidence, all pages were as read at one moment: after the last page was read and before the
  /// first was asked for again. The exception is a list that changed and changed back twice. Equal validators
  /// prove that a page is unchanged; different ones prove nothing, because some servers send new ones with each
  /// response. A new address of the next page proves nothing either; the page is asked for at that address.
  func sign(ofChangeIn pages: PageCollection) async throws -> String? {
    var url = url
    for (position, known) in pages.pages.enumerated() {
      let isLast = position == pages.count - 1
      let question = PageQuestion(
        url: url, validators: known.validators, isPlain: !pages.format.hasEnd, isRepeated: true)
      let next: String?
      switch try await again(question) {
      case .unchanged: next = isLast ? pages.refusedURL : pages.pages[position + 1].url
      case .page(let page) where pages.hasSameRecords(page, at: position):
        next = try pages.nextURL(after: page, at: position)
      case .page, .gone: return Self.sign(ofChangeAt: position)
      }
      guard (next == nil) == (isLast && pages.refusedURL == nil) else {
        return Self.sign(ofChangeAt: position)
      }
      url = next ?? url
    }
    guard let url = pages.refusedURL else { return nil }
    if case .gone = try await again(PageQuestion(url: url, isRepeated: true)) { return nil }
    return Self.sign(ofChangeAt: pages.count)
  }

  private static func sign(ofChangeAt position: Int) -> String {
    "its page \(position + 1) is another one now"
  }

  private func again(_ question: PageQuestion) async throws -> Repetition {
    do {
      return try await page(question).map { .page($0) } ?? .unchanged
    } catch let error as TransportError where error.code == .badStatus && !error.isTransient {
      return .gone
    }
  }
}
