internal import TandemHTTP
internal import TandemRecords

/// Reads one list from a server, page by page.
struct RecordListReading {
  let url: String
  let options: RecordListOptions
  let client: any HTTPClient
  let progress: (_ received: Int, _ total: Int?) -> Void
  /// True to keep the text of each page.
  private(set) var keepsTexts = false

  /// The secrets that no stored address may contain.
  var secrets: ListSecrets { ListSecrets(url: url, fields: options.fields) }

  /// The outcomes of reading.
  private enum Outcome {
    case pages(PageCollection)
    /// No page has changed since the validators were sent.
    case notModified
    /// A list that changed between its first page and its last, with the evidence.
    case changed(String)
  }

  /// The maximum number of restarts for a list that changes while it is read.
  private static let maxRestartCount = 3

  /// The list.
  func list() async throws -> RecordList {
    guard let pages = try await pages() else { return .notModified }
    // A refused page has no validators that would show that it exists now.
    let validators =
      pages.refusedURL == nil
      ? RecordListValidators(of: pages.pages, at: url, askedWith: secrets) : RecordListValidators()
    return .records(pages.records, validators, bases: RecordBases(pages.pages))
  }

  /// The list with its text.
  func text() async throws -> ListText {
    var keeping = self
    keeping.keepsTexts = true
    guard let pages = try await keeping.pages() else {
      preconditionFailure("A list is unchanged only on a condition")
    }
    do {
      return try ListText(joining: pages.texts)
    } catch {
      throw TransportError(.malformedResponse, "\(error)", url: url)
    }
  }

  /// The pages of the list; `nil` if none has changed since the validators were sent.
  private func pages() async throws -> PageCollection? {
    var validators = options.validators
    var sign = ""
    for _ in 0...Self.maxRestartCount {
      switch try await attempt(unless: validators) {
      case .pages(let pages): return pages
      case .notModified: return nil
      case .changed(let reason): sign = reason
      }
      validators = nil
    }
    throw TransportError(
      .listChanged,
      "the list changed while its pages were read, and again each time they were read anew: "
        + "\(sign); try again when it is quiet", url: url)
  }

  private func attempt(unless validators: RecordListValidators?) async throws -> Outcome {
    guard let first = try await firstPage(unless: validators) else { return .notModified }
    var pages = PageCollection(first, options: options, url: url)
    try pages.requireEnd()
    while let next = try pages.nextURL() {
      let question = PageQuestion(
        url: next, isPlain: !pages.format.hasEnd, receivedByteCount: pages.byteCount)
      do {
        if let sign = try pages.add(try await newPage(question), from: next) {
          return .changed(sign)
        }
      } catch let error as TransportError where error.code == .badStatus {
        try pages.end(before: next, error)
      }
    }
    if pages.count > 1 || pages.refusedURL != nil, let sign = try await sign(ofChangeIn: pages) {
      return .changed(sign)
    }
    options.onLastPage?(pages.count)
    return .pages(pages)
  }
}
