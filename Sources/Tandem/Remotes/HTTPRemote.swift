public import TandemDifferences
public import TandemHTTP
import TandemRecords
public import TandemSync

/// A remote at an address of a web server that supports conditional requests: GET and PUT with strong entity tags
/// (RFC 9110, sections 8.8.3 and 13.1).
///
/// <!-- Snippets/CodeInComments.swift httpRemote -->
/// ```swift
/// let document = HTTPRemote<Note>(
///   url: "https://dav.example.org/notes.json", client: try SystemHTTPClient(),
///   fields: ["Authorization": "Bearer \(token)"])
/// let collection = HTTPRemote<Note>(
///   collection: "https://api.example.org/notes", client: try SystemHTTPClient())
/// ```
///
/// The resource is one JSON document with the records and the latest commits. A push is a `PUT` with `If-Match`, or
/// with `If-None-Match: *` if it creates the document. Object stores with conditional writes and Apache's mod_dav
/// support this.
///
/// The resource of ``init(collection:client:fields:maxByteCount:)`` is a plain collection instead: a JSON array of the
/// records, as an API of your own has it, which other programs read and write too. Fields of its records that `Element`
/// does not declare are kept, but for those of values in an array of a record that changes.
///
/// **Safety.** Before its first push, a remote sends the server a `PUT` that must fail, with an entity tag that no
/// contents have and the current contents as its body. A server that accepts it, such as nginx's DAV module, would let
/// pushes overwrite each other: the push then fails with ``RemoteError/Code/unconditional``. A response without a
/// strong entity tag fails with ``RemoteError/Code/noEntityTag``.
///
/// **Lost replies.** The document has the tokens of the latest pushes, so a push that is repeated after a lost reply
/// is recognised. A plain collection has no tokens: a repeated push counts as accepted if the collection has exactly
/// its contents. If others changed the collection since, the push is rejected, and
/// ``/TandemSync/Synchronizer`` finds the records that had arrived.
///
/// **Limits.** Each pull and each push transfers the whole document. A document that was restored from a backup needs
/// ``restartHistory()``, so that the ``/TandemSync/EpochPolicy`` of each client decides; otherwise the clients take the
/// records that the backup lacks for deleted. A plain collection has no history that could be restarted.
public actor HTTPRemote<Element: Codable & Sendable>: ConditionalRemote {
  private let url: String
  private let client: any HTTPClient
  private let fields: HTTPFields
  private let maxByteCount: Int
  /// True if the resource is an array of records.
  private let isCollection: Bool
  /// The version that the server had last.
  private var known: Version?
  private var hasProvenConditions = false

  /// A document, its entity tag, and the body that it came as. The document of a collection has the entity tag as
  /// its only commit.
  private struct Version {
    var document: RemoteDocument<Element>
    var tag: String
    var bytes: [UInt8]
  }

  /// The epoch of each collection: it has no history of its own.
  private static var collectionEpoch: String { "collection" }

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
    self.init(
      url: url, client: client, fields: fields, maxByteCount: maxByteCount, isCollection: false)
  }

  /// Creates a remote of a plain collection: a JSON array of records at an address that answers `GET` with a strong
  /// entity tag, and `PUT` with `If-Match`.
  ///
  /// - Parameters:
  ///   - url: The address of the array, which need not exist.
  ///   - client: The client that sends the requests, such as `SystemHTTPClient()`.
  ///   - fields: Fields for every request, such as `Authorization`.
  ///   - maxByteCount: The longest array to read or write; 64 MiB by default.
  public init(
    collection url: String, client: any HTTPClient, fields: HTTPFields = [:],
    maxByteCount: Int = 64 << 20
  ) {
    self.init(
      url: url, client: client, fields: fields, maxByteCount: maxByteCount, isCollection: true)
  }

  private init(
    url: String, client: any HTTPClient, fields: HTTPFields, maxByteCount: Int, isCollection: Bool
  ) {
    self.url = url
    self.client = client
    self.fields = fields
    self.maxByteCount = maxByteCount
    self.isCollection = isCollection
  }

  /// Reads the document. The statuses 404 and 410 are absent contents; any other failure is an error.
  ///
  /// - Throws: ``RemoteError``, ``/TandemHTTP/TransportError``, `CancellationError`.
  public func pull() async throws -> (elements: [Element], revision: RemoteRevision)? {
    try await fetch()?.document.contents
  }

  /// Replaces the document if it is at the revision and the token is new. Returns `nil` also if the resource changed at
  /// each of 4 attempts.
  ///
  /// - Throws: ``RemoteError``, ``/TandemHTTP/TransportError``, `CancellationError`.
  public func push(
    _ contents: [Element], difference: SetDifference<Element>, at revision: RemoteRevision?,
    token: String
  ) async throws -> RemoteRevision? {
    var current: Version?
    if let known, revision == known.document.revision {
      current = known
    } else {
      current = try await fetch()
    }
    for _ in 0..<Self.maxAttemptCount {
      let decision = RemoteDocument.decide(
        contents, at: revision, token: token, current: current?.document)
      switch decision {
      case .reply(let reply): return try acceptedEarlier(contents, current: current) ?? reply
      case .store(let new):
        let bytes = try bytes(of: new, updates: difference.updated, over: current)
        if let revision = try await store(new, bytes, over: current) { return revision }
      }
      current = try await fetch()
    }
    return nil
  }

  /// Begins a new epoch with the records of the document. Call it after the document was restored from a backup.
  ///
  /// Does nothing if there is no document.
  ///
  /// - Throws: ``/TandemSync/SynchronizationError`` if other clients changed the document at each of 4 attempts;
  ///   ``RemoteError``, also if the remote is a plain collection; ``/TandemHTTP/TransportError``, `CancellationError`.
  public func restartHistory() async throws {
    guard !isCollection else {
      throw RemoteError(
        .malformed, place,
        "it is a plain collection, which has no history; compare its records with those of the clients "
          + "by hand")
    }
    for _ in 0..<Self.maxAttemptCount {
      guard let current = try await fetch() else { return }
      let restarted = current.document.restarted
      let bytes = try restarted.bytes(for: place, maxByteCount: maxByteCount)
      if try await store(restarted, bytes, over: current) != nil { return }
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
    guard let tag = response.head.strongEntityTag else {
      throw RemoteError(
        .noEntityTag, place,
        "the server sends no strong entity tag (ETag) for it, so changes of several clients could overwrite each "
          + "other; use a server that does")
    }
    let document =
      isCollection
      ? collection(try CollectionBody(response.body, from: place).records(from: place), at: tag)
      : try RemoteDocument<Element>(response.body, from: place)
    let version = Version(document: document, tag: tag, bytes: response.body)
    known = version
    return version
  }

  /// Stores a document in place of the current one; returns its revision, or `nil` if the server has another version
  /// by now.
  private func store(
    _ document: RemoteDocument<Element>, _ bytes: [UInt8], over current: Version?
  ) async throws -> RemoteRevision? {
    try await proveConditions(with: current?.bytes ?? bytes)
    known = nil
    let condition = current.map { ("If-Match", $0.tag) } ?? ("If-None-Match", "*")
    let head = try await put(bytes, if: condition)
    switch head.status {
    case 200, 201, 204:
      guard isCollection else {
        known = head.strongEntityTag.map { Version(document: document, tag: $0, bytes: bytes) }
        return document.revision
      }
      guard let tag = head.strongEntityTag else {
        return try await revision(of: bytes, token: document.revision.commit)
      }
      known = Version(
        document: collection(document.records, at: tag), tag: tag, bytes: bytes)
      return known?.document.revision
    case 412: return nil
    // The document was removed, and the server checks that before the condition.
    case 404 where current != nil: return nil
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

// MARK: - Collections

extension HTTPRemote {
  private func collection(_ records: [Element], at tag: String) -> RemoteDocument<Element> {
    RemoteDocument(epoch: Self.collectionEpoch, commits: [tag], records: records)
  }

  /// The revision of a collection that already has the contents of a push; `nil` if it has others.
  private func acceptedEarlier(
    _ contents: [Element], current: Version?
  ) throws -> RemoteRevision? {
    guard isCollection, let current,
      try CollectionBody(encoding: current.document.records, for: place).values
        == CollectionBody(encoding: contents, for: place).values
    else {
      return nil
    }
    return current.document.revision
  }

  private func bytes(
    of document: RemoteDocument<Element>, updates: [SetDifference<Element>.Update],
    over current: Version?
  ) throws -> [UInt8] {
    guard isCollection else { return try document.bytes(for: place, maxByteCount: maxByteCount) }
    var body = try CollectionBody(encoding: document.records, for: place)
    if let current {
      try body.keepUndeclaredFields(
        of: CollectionBody(current.bytes, from: place), records: current.document.records,
        updates: updates, place: place)
    }
    return try body.bytes(for: place, maxByteCount: maxByteCount)
  }

  /// The revision of a collection that was stored by a server which did not answer with its entity tag. If the
  /// collection has other contents by now, the revision is one that it never has again, so that the next push fails
  /// and the contents are pulled.
  private func revision(of bytes: [UInt8], token: String) async throws -> RemoteRevision {
    if let stored = try await fetch() {
      let values = try CollectionBody(stored.bytes, from: place).values
      if try values == CollectionBody(bytes, from: place).values { return stored.document.revision }
    }
    return RemoteRevision(epoch: Self.collectionEpoch, commit: token)
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
