public import TandemHTTP

/// The validators that a server sent with each page of a list, for a conditional request later.
///
/// The list is unchanged if each of its pages is, and the last one still is the last.
public struct RecordListValidators: Hashable, Sendable {
  /// A page after the first.
  package struct LaterPage: Hashable, Sendable {
    /// Its address, without credentials.
    package let url: String
    /// Its validators.
    package let validators: HTTPValidators

    package init(url: String, validators: HTTPValidators) {
      self.url = url
      self.validators = validators
    }
  }

  /// The validators of the first page, which is at the list's own address.
  public let first: HTTPValidators
  /// The pages after it, in their order.
  package let laterPages: [LaterPage]

  /// The maximum number of pages of a list that is asked for conditionally: a longer one is read whole each time.
  public static let maxPageCount = 1_000
  /// The maximum number of bytes of UTF-8 in the addresses and validators of the pages after the
  /// first.
  public static let maxByteCount = 256 << 10

  /// The validators of a list of one page.
  public init(_ first: HTTPValidators = HTTPValidators()) {
    self.init(first, laterPages: [])
  }

  package init(_ first: HTTPValidators, laterPages: [LaterPage]) {
    self.first = first
    self.laterPages = laterPages
  }

  /// The validators of the list at `url` in these pages. They are empty if there are too many pages, or if a
  /// page has none, is on another server, or has a secret in its address: anyone who gets the database can
  /// read them.
  init(of pages: [ReadPage], at url: String, askedWith secrets: ListSecrets) {
    let laterPages = pages.dropFirst().map {
      LaterPage(url: HTTPURL.withoutCredentials($0.url), validators: $0.validators)
    }
    let all = Self(pages.first?.validators ?? HTTPValidators(), laterPages: laterPages)
    self = all.canBeSent(to: url, hiding: secrets) ? all : Self()
  }

  /// True if there is nothing to make a request conditional by.
  public var isEmpty: Bool { first.isEmpty }

  /// True if a request for the list at `url` may be made conditional by these: what a database holds may have
  /// been written by another program, and may contain a secret.
  func canBeSent(to url: String, hiding secrets: ListSecrets) -> Bool {
    !isEmpty && first.isSendable && laterPages.count < Self.maxPageCount
      && laterPages.reduce(0) { $0 + $1.byteCount } <= Self.maxByteCount
      && laterPages.allSatisfy { page in
        !page.validators.isEmpty && page.validators.isSendable
          && HTTPURL.haveSameOrigin(page.url, url)
          && (try? HTTPURL.validated(page.url)) != nil && !secrets.areRepeated(in: page.url)
      }
  }
}

extension RecordListValidators.LaterPage {
  fileprivate var byteCount: Int {
    url.utf8.count + (validators.entityTag?.utf8.count ?? 0)
      + (validators.lastModified?.utf8.count ?? 0)
  }
}
