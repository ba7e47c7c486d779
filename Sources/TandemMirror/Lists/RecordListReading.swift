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
    /// The list changed between its first page and its last.
    case changed(Change)
  }

  /// The maximum number of restarts because records came, went or moved while the list was read.
  private static let maxRestartCount = 3
  /// The maximum number of restarts because only values changed. Then only keys are compared. Otherwise a list
  /// whose values change all the time, such as counters, could not be read.
  private static let maxValueRestartCount = 2

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
    var (restartCount, valueRestartCount) = (0, 0)
    while restartCount <= Self.maxRestartCount {
      let comparesValues = valueRestartCount < Self.maxValueRestartCount
      switch try await attempt(unless: validators, comparesValues: comparesValues) {
      case .pages(let pages): return pages
      case .notModified: return nil
      case .changed(.records(let evidence)):
        sign = evidence
        restartCount += 1
      case .changed(.values): valueRestartCount += 1
      }
      validators = nil
    }
    throw TransportError(
      .listChanged,
      "the list changed while its pages were read, and again each time they were read anew: "
        + "\(sign); try again when it is quiet", url: url)
  }

  private func attempt(
    unless validators: RecordListValidators?, comparesValues: Bool
  ) async throws -> Outcome {
    guard let first = try await firstPage(unless: validators) else { return .notModified }
    var pages = PageCollection(first, options: options, url: url)
    try pages.requireSoundness()
    while let next = try pages.nextURL() {
      let question = PageQuestion(
        url: next, isPlain: !pages.format.hasEnd, receivedByteCount: pages.byteCount)
      do {
        if let sign = try pages.add(try await newPage(question), from: next) {
          return .changed(.records(sign))
        }
        try pages.requireSoundness()
      } catch let error as TransportError where error.code == .badStatus {
        try pages.end(before: next, error)
      }
    }
    try pages.requireEnd()
    try pages.requireAllRecords()
    if pages.count > 1 || pages.refusedURL != nil,
      let change = try await change(of: pages, comparesValues: comparesValues)
    {
      return .changed(change)
    }
    options.onLastPage?(pages.count)
    return .pages(pages)
  }
}
