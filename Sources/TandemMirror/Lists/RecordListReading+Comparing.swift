internal import TandemHTTP

/// Pages that were read before are asked for again: by an earlier run, to find out whether there is a
/// newer list, and by this one, to find out whether what was read is one list.
extension RecordListReading {
  /// What can come of asking again.
  private enum Repetition {
    case unchanged
    case page(RecordPage)
    /// The server has no such page any more.
    case gone
  }

  /// The first page; `nil` if the whole list still is what the validators describe.
  func firstPage(unless validators: RecordListValidators?) async throws -> RecordPage? {
    guard let validators, validators.canBeAskedBy(at: url, with: secrets) else {
      return try await newPage(PageQuestion(url: url))
    }
    let question = PageQuestion(
      url: url, validators: validators.first,
      showsEnd: isEndInHead && validators.laterPages.isEmpty)
    if let page = try await page(question) { return page }
    if try await areUnchanged(validators.laterPages) { return nil }
    return try await newPage(PageQuestion(url: url))
  }

  /// Whether what leads on stands beside the content that validators are of.
  private var isEndInHead: Bool { options.paging == .link }

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

  /// What shows that the pages are not what they were when they were read; `nil` if they all are.
  ///
  /// Then the list was as it was read at the moment between the last page and the first one again,
  /// unless it has changed and changed back twice. What the server calls the version counts only if it
  /// is the same; some have a new name for each response. Nor does it count what the next page is
  /// called, but whether there is one: where a page has a new name, it is asked for by that.
  func sign(ofChangeIn pages: PageCollection) async throws -> String? {
    var url = url
    for (position, known) in pages.pages.enumerated() {
      let isLast = position == pages.count - 1
      let question = PageQuestion(
        url: url, validators: known.validators, isPlain: !pages.format.hasEnd, isRepeated: true)
      let next: String?
      switch try await again(question) {
      case .unchanged: next = isLast ? nil : pages.pages[position + 1].url
      case .page(let page) where pages.hasSameRecords(page, at: position):
        next = try pages.nextURL(after: page, at: position)
      case .page, .gone: return Self.sign(ofChangeAt: position)
      }
      guard (next == nil) == isLast else { return Self.sign(ofChangeAt: position) }
      url = next ?? url
    }
    return nil
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
