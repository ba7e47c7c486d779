public import TandemHTTP
internal import TandemRecords

/// What a server said of the version of a list that it sent, page by page, to ask later whether there
/// is a newer one.
///
/// The list is unchanged if each of its pages is, and the last one still is the last.
public struct RecordListValidators: Hashable, Sendable {
  /// A page after the first.
  public struct LaterPage: Hashable, Sendable {
    /// Its address, without credentials.
    public let url: String
    /// What the server said of it.
    public let validators: HTTPValidators
  }

  /// Those of the first page, which is at the list's own address.
  public let first: HTTPValidators
  /// The pages after it, in their order.
  public let laterPages: [LaterPage]

  /// The most pages that a list is asked for by: one that has more is read whole each time.
  public static let maxPageCount = 1_000
  /// The most bytes of UTF-8 in what is kept of the pages after the first.
  public static let maxByteCount = 256 << 10

  /// Those of a list of one page.
  public init(_ first: HTTPValidators = HTTPValidators()) {
    self.init(first, [])
  }

  private init(_ first: HTTPValidators, _ laterPages: [LaterPage]) {
    self.first = first
    self.laterPages = laterPages
  }

  /// Those of the list at `url` in these pages; empty if there are too many, or one of them has none,
  /// is on another server, or has a secret in its address: whoever gets the database reads that.
  init(of pages: [ReadPage], at url: String, askedWith secrets: ListSecrets) {
    let laterPages = pages.dropFirst().map {
      LaterPage(url: HTTPURL.withoutCredentials($0.url), validators: $0.validators)
    }
    let all = Self(pages.first?.validators ?? HTTPValidators(), laterPages)
    self = all.canBeAskedBy(at: url, with: secrets) ? all : Self()
  }

  /// Whether there is nothing to ask with.
  public var isEmpty: Bool { first.isEmpty }

  /// Whether the list at `url` may be asked for by these: whoever wrote them down may have been
  /// mistaken, or have kept a secret.
  func canBeAskedBy(at url: String, with secrets: ListSecrets) -> Bool {
    !isEmpty && first.isSendable && laterPages.count < Self.maxPageCount
      && (laterPagesText?.utf8.count ?? 0) <= Self.maxByteCount
      && laterPages.allSatisfy { page in
        !page.validators.isEmpty && page.validators.isSendable
          && HTTPURL.haveSameOrigin(page.url, url)
          && (try? HTTPURL.validated(page.url)) != nil && !secrets.areRepeated(in: page.url)
      }
  }
}

// MARK: - As a text

extension RecordListValidators {
  /// What a database has of the first page, and the text that it has of those after it; `nil` if that
  /// is none.
  package init?(_ first: HTTPValidators, laterPagesText text: String?) {
    guard let text else {
      self.init(first)
      return
    }
    guard text.utf8.count <= Self.maxByteCount,
      let records = try? RecordReader.records(in: Array(text.utf8), format: .json)
    else { return nil }
    let pages = records.compactMap { LaterPage($0) }
    guard pages.count == records.count else { return nil }
    self.init(first, pages)
  }

  /// The pages after the first as a JSON array of objects; `nil` if there are none.
  package var laterPagesText: String? {
    guard !laterPages.isEmpty else { return nil }
    var bytes: [UInt8] = []
    RecordWriter.appendJSON(laterPages.map(\.record), to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension RecordListValidators.LaterPage {
  fileprivate init?(_ record: Record) {
    guard case .text(let url) = record["url"] else { return nil }
    func text(_ name: String) -> String? {
      if case .text(let text) = record[name] { text } else { nil }
    }
    self.url = url
    validators = HTTPValidators(
      entityTag: text("entity_tag"), lastModified: text("last_modified"))
  }

  fileprivate var record: Record {
    [
      "url": .text(url), "entity_tag": validators.entityTag.map { .text($0) } ?? .null,
      "last_modified": validators.lastModified.map { .text($0) } ?? .null,
    ]
  }
}
