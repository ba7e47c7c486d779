internal import TandemHTTP
internal import TandemRecords

/// Reads one list from a server, page by page.
struct RecordListReading {
  let url: String
  let options: RecordListOptions
  let client: any HTTPClient
  let progress: (_ received: Int, _ total: Int?) -> Void

  /// The secrets that no stored address may contain.
  var secrets: ListSecrets { ListSecrets(url: url, fields: options.fields) }

  /// The outcomes of reading.
  private enum Outcome {
    case list(RecordList)
    /// A list that changed between its first page and its last, with the evidence.
    case changed(String)
  }

  /// The most restarts for a list that changes while it is read.
  private static let maxRestartCount = 3

  /// The list.
  func list() async throws -> RecordList {
    var validators = options.validators
    var sign = ""
    for _ in 0...Self.maxRestartCount {
      switch try await attempt(unless: validators) {
      case .list(let list): return list
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
    guard let first = try await firstPage(unless: validators) else { return .list(.notModified) }
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
    // A refused page has no validators that would show that it exists now.
    let validators =
      pages.refusedURL == nil
      ? RecordListValidators(of: pages.pages, at: url, askedWith: secrets) : RecordListValidators()
    return .list(.records(pages.records, validators, bases: RecordBases(pages.pages)))
  }
}
