public import TandemHTTP
public import TandemSync

/// A remote at an address of a web server that supports conditional requests: GET and PUT with strong entity tags
/// (RFC 9110, sections 8.8.3 and 13.1).
///
/// ```swift
/// let remote = HTTPRemote<Note>(
///   url: "https://dav.example.org/notes.json", client: try SystemHTTPClient(),
///   fields: ["Authorization": "Bearer \(token)"])
/// ```
///
/// The resource is one JSON document with the records and the latest commits. A push is a `PUT` with `If-Match`, or
/// with `If-None-Match: *` if it creates the document. Object stores with conditional writes and Apache's mod_dav
/// support this.
///
/// **Safety.** Before its first push, a remote sends the server a `PUT` that must fail, with an entity tag that no
/// contents have and the current contents as its body. A server that accepts it, such as nginx's DAV module, would let
/// pushes overwrite each other: the push then fails with ``RemoteError/Code/unconditional``. A response without a
/// strong entity tag fails with ``RemoteError/Code/noEntityTag``.
///
/// **Lost replies.** The document has the tokens of the latest pushes, so a push that is repeated after a lost reply
/// is recognised.
///
/// **Limits.** Each pull and each push transfers the whole document. A document that was restored from a backup needs
/// ``restartHistory()``, so that the ``/TandemSync/EpochPolicy`` of each client decides; otherwise the clients take the
/// records that the backup lacks for deleted.
public actor HTTPRemote<Element: Codable & Sendable>: ConditionalRemote {
  private let url: String
  private let client: any HTTPClient
  private let fields: HTTPFields
  private let maxByteCount: Int
  /// The version that the server had last.
  private var known: Version?
  private var hasProvenConditions = false

  /// A document, its entity tag, and the body that it came as.
  private struct Version {
    var document: RemoteDocument<Element>
    var tag: String
    var bytes: [UInt8]
  }

  /// The maximum number of attempts to store one push, while others change the resource but not the document.
  private static var maxAttemptCount: Int { 4 }
  /// The maximum number of bytes of the response to a `PUT`, which nobody reads.
  private static var maxReplyByteCount: Int { 1 << 20 }

  /// Creates a remote at an address.
  ///
  /// - Parameters:
  ///   - url: The address of the document, which need not exist.
  ///   - client: The client that sends the requests, such as `SystemHTTPClient()`.
  ///   - fields: Fields for every request, such as `Authorization`.
  ///   - maxByteCount: The longest document to read or write; 64 MiB by default.
  public init(
    url: String, client: any HTTPClient, fields: HTTPFields = [:], maxByteCount: Int = 64 << 20
  ) {
    self.url = url
    self.client = client
    self.fields = fields
    self.maxByteCount = maxByteCount
  }

  /// Reads the document. The statuses 404 and 410 are absent contents; any other failure is an error.
  ///
  /// - Throws: ``RemoteError``, ``/TandemHTTP/TransportError``, `CancellationError`.
  public func pull() async throws -> RemoteContents<Element> {
    try await fetch()?.document.contents ?? .absent
  }

  /// Replaces the document if the push's condition holds and its token is new. Returns `rejected` also if the
  /// resource changed at each of 4 attempts.
  ///
  /// - Throws: ``RemoteError``, ``/TandemHTTP/TransportError``, `CancellationError`.
  public func push(_ push: ConditionalPush<Element>) async throws -> PushReply {
    var current: Version?
    if let known, push.condition == .revision(known.document.revision) {
      current = known
    } else {
      current = try await fetch()
    }
    for _ in 0..<Self.maxAttemptCount {
      switch RemoteDocument.decide(push, current: current?.document) {
      case .reply(let reply): return reply
      case .store(let new):
        if try await store(new, over: current) { return .accepted(new.revision) }
      }
      current = try await fetch()
    }
    return .rejected(current: current?.document.revision)
  }

  /// Begins a new epoch with the records of the document. Call it after the document was restored from a backup.
  ///
  /// Does nothing if there is no document.
  ///
  /// - Throws: ``/TandemSync/SynchronizationError`` if other clients changed the document at each of 4 attempts;
  ///   ``RemoteError``, ``/TandemHTTP/TransportError``, `CancellationError`.
  public func restartHistory() async throws {
    for _ in 0..<Self.maxAttemptCount {
      guard let current = try await fetch() else { return }
      if try await store(current.document.restarted, over: current) { return }
    }
    throw SynchronizationError.tooManyRounds(Self.maxAttemptCount)
  }
}

// MARK: - Requests

extension HTTPRemote {
  /// Reads the document and its entity tag; `nil` if there is none.
  private func fetch() async throws -> Version? {
    known = nil
    var request = HTTPRequest(url: url, fields: fields)
    request.fields["Accept"] = "application/json"
    // An encoded response has a weak entity tag, and a cache may have an old version.
    request.fields["Accept-Encoding"] = "identity"
    request.fields["Cache-Control"] = "no-cache"
    let response = try await client.response(to: request, maxBodyByteCount: maxByteCount)
    if response.head.status == 404 || response.head.status == 410 { return nil }
    guard response.head.status == 200 else { throw failure(response.head) }
    let document = try RemoteDocument<Element>(response.body, from: place)
    guard let tag = response.head.strongEntityTag else {
      throw RemoteError(
        .noEntityTag, place,
        "the server sends no strong entity tag (ETag) for it, so changes of several clients could overwrite each "
          + "other; use a server that does")
    }
    let version = Version(document: document, tag: tag, bytes: response.body)
    known = version
    return version
  }

  /// Stores a document in place of the current one; returns false if the server has another version by now.
  private func store(
    _ document: RemoteDocument<Element>, over current: Version?
  ) async throws -> Bool {
    let bytes = try document.bytes(for: place, maxByteCount: maxByteCount)
    try await proveConditions(with: current?.bytes ?? bytes)
    known = nil
    let condition = current.map { ("If-Match", $0.tag) } ?? ("If-None-Match", "*")
    let head = try await put(bytes, if: condition)
    switch head.status {
    case 200, 201, 204:
      known = head.strongEntityTag.map { Version(document: document, tag: $0, bytes: bytes) }
      return true
    case 412: return false
    // The document was removed, and the server checks that before the condition.
    case 404 where current != nil: return false
    default: throw failure(head)
    }
  }

  /// Sends a write that must fail, once, and fails if it does not.
  ///
  /// - Parameter bytes: The current contents, so that a server that ignores the condition keeps them.
  private func proveConditions(with bytes: [UInt8]) async throws {
    guard !hasProvenConditions else { return }
    let head = try await put(bytes, if: ("If-Match", "\"tandem-\(PushToken.random().text)\""))
    switch head.status {
    case 412, 404: hasProvenConditions = true
    case 200..<300:
      throw RemoteError(
        .unconditional, place,
        "the server ignores If-Match, so changes of several clients would overwrite each other; use a server that "
          + "supports conditional writes")
    default: throw failure(head)
    }
  }

  private func put(
    _ bytes: [UInt8], if condition: (name: String, value: String)
  ) async throws -> HTTPResponseHead {
    var request = HTTPRequest(.put, url: url, fields: fields, body: bytes)
    request.fields["Content-Type"] = "application/json"
    request.fields[condition.name] = condition.value
    return try await client.response(to: request, maxBodyByteCount: Self.maxReplyByteCount).head
  }

  private var place: String { HTTPURL.withoutCredentials(url) }

  private func failure(_ head: HTTPResponseHead) -> RemoteError {
    let remedy =
      switch head.status {
      case 401, 403, 407: "check the credentials"
      case 405, 501: "the server does not store documents; use an address that accepts PUT"
      case 300..<400: "it is elsewhere; use the address that it leads to"
      // WebDAV says the first by it (RFC 4918, section 9.7.1), and object stores the second.
      case 409:
        "its folder does not exist, or another client was writing; check the address, or try again"
      case 408, 429, 500..<600: "try again later"
      default: "check the address"
      }
    return RemoteError(.status, place, "the server answered \(head.status): \(remedy)")
  }
}

extension HTTPResponseHead {
  /// The entity tag, if it is a strong one, which identifies the exact bytes.
  fileprivate var strongEntityTag: String? {
    guard let tag = HTTPValidators(of: self).entityTag, tag.count > 1,
      tag.hasPrefix("\""), tag.hasSuffix("\"")
    else {
      return nil
    }
    return tag
  }
}
