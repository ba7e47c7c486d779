internal import TandemDigests
internal import TandemHTTP

/// A part that has arrived before, and the means to resume its download.
typealias ResumedPart = (resumption: FileIndex.Resumption, byteCount: Int)

/// One attempt at the content of one file.
struct FileReception {
  let request: FileRequest
  /// The address without credentials, for the index, which others may read.
  let address: String
  let store: FileStore
  let partial: PartialFile
  /// The download to resume, if there is one.
  let resumed: ResumedPart?
  /// The file that is there, if it came from this address.
  let known: StoredFile?

  init(_ request: FileRequest, store: FileStore, resumes: Bool = true) {
    let address = HTTPURL.withoutCredentials(request.url)
    self.request = request
    self.address = address
    self.store = store
    partial = store.partialFile(request.name)
    resumed = resumes ? partial.resumption(of: address) : nil
    known = store.file(request.name).flatMap { $0.url == address ? $0 : nil }
  }

  /// The file for a conditional request.
  private var questioned: StoredFile? {
    guard request.isConditional, resumed == nil else { return nil }
    return known.flatMap { $0.meets(request) ? $0 : nil }
  }

  /// The response, and the offset of its first byte in the content; `nil` if the server cannot resume, or
  /// contradicts itself about the part that it sends, and has to be asked for the whole content.
  func answer(
    of client: any HTTPClient
  ) async throws -> (stream: HTTPResponseStream, start: Int)? {
    var http = HTTPRequest(url: request.url, fields: request.fields)
    // Ranges are those of the content as it is sent.
    http.fields["Accept-Encoding"] = "identity"
    http.maxBodyByteCount = request.maxByteCount
    http.maxDecompressedByteCount = request.maxDecompressedByteCount
    if let resumed {
      http.fields["Range"] = "bytes=\(resumed.byteCount)-"
      http.fields["If-Range"] = resumed.resumption.validator
    } else if let questioned {
      http.makeConditional(on: questioned.validators)
    }
    let stream = try await client.stream(http)
    if let resumed {
      switch stream.head.status {
      case 206:
        return isRest(stream.head, of: resumed) ? (stream: stream, start: resumed.byteCount) : nil
      case 200, 203:
        return start(of: stream.head, asked: resumed).map { (stream: stream, start: $0) }
      case 304, 416: return nil
      default: break
      }
    }
    switch stream.head.status {
    case 206: throw unexpected(stream.head, "a part, which was not asked for")
    case 304:
      guard questioned != nil else {
        throw unexpected(stream.head, "not modified, which was not asked")
      }
    // 203 is a 200 that a proxy has changed. Lists accept it too.
    case 200, 203:
      if stream.head.mayBePart {
        throw unexpected(
          stream.head,
          "the whole content, but its Content-Range and its length say that this is a part; "
            + "ask the server's owner why")
      }
    default:
      if !stream.head.isSuccess {
        try await stream.requireContent(
          hiding: ListSecrets(url: request.url, fields: request.fields))
      }
      throw unexpected(stream.head, "a success, but not with the content", .badStatus)
    }
    return (stream: stream, start: 0)
  }

  private func unexpected(
    _ head: HTTPResponseHead, _ words: String, _ code: TransportError.Code = .malformedResponse
  ) -> TransportError {
    var error = TransportError(
      code, "the server answered \(head.status): \(words)", url: request.url)
    error.status = head.status
    error.retryDelay = head.retryDelay
    return error
  }

  /// True if a part is exactly the rest of the same version, up to an end that is known: a server may send less
  /// than it was asked for.
  private func isRest(_ head: HTTPResponseHead, of resumed: ResumedPart) -> Bool {
    guard let range = head.contentRange, range.start == resumed.byteCount, !head.isEncoded,
      let total = resumed.resumption.totalByteCount ?? range.totalByteCount
    else { return false }
    return (range.totalByteCount ?? total) == total && range.end == total - 1
      && head.bodyByteCount.map { $0 == range.byteCount } ?? true
      && resumed.resumption.isVersion(ofPart: head)
  }

  /// The offset of the first byte of a 200 that answers a request for the rest: 0 for the whole content. Some
  /// servers send a part with this status, with its `Content-Range` or without.
  ///
  /// - Returns: `nil` if the response may be another part than the rest. It is the whole if it declares its
  ///   length, and either has all bytes of this version or is of another one.
  private func start(of head: HTTPResponseHead, asked resumed: ResumedPart) -> Int? {
    if isRest(head, of: resumed) { return resumed.byteCount }
    guard !head.mayBePart, let byteCount = head.bodyByteCount else { return nil }
    let total = resumed.resumption.totalByteCount
    if byteCount == total { return 0 }
    let mayBeRest = byteCount == total.map { $0 - resumed.byteCount }
    return mayBeRest || resumed.resumption.isVersion(of: head) ? nil : 0
  }

  /// Discards the part, and asks for the whole content.
  func restarted(
    client: any HTTPClient, received: (_ byteCount: Int) -> Void
  ) async throws -> FileTransfer {
    try partial.discard()
    let reception = FileReception(request, store: store, resumes: false)
    guard let answer = try await reception.answer(of: client) else {
      preconditionFailure("only a resumed request may have no answer")
    }
    return try await reception.receive(answer.stream, from: answer.start, received: received)
  }
}

// MARK: - The content

extension FileReception {
  /// Writes the content from an offset on, checks it, and puts it in place.
  func receive(
    _ stream: HTTPResponseStream, from start: Int, received: (_ byteCount: Int) -> Void
  ) async throws -> FileTransfer {
    if stream.head.isNotModified, let questioned {
      if partial.mayExist { try partial.discard() }
      return FileTransfer(file: questioned, receivedByteCount: 0, isChanged: false)
    }
    let total = totalByteCount(stream.head, from: start)
    if let total { try checkLength(total, isWhole: false) } else { try requireEnd(of: stream.head) }
    let keepsPart = start > 0 || mayResume(stream.head, total)
    do {
      let file = try openPart(stream.head, at: start, keepsPart)
      var checker = try ContentChecker(request.sha256, prefix: start > 0 ? file : nil)
      var count = start
      for try await chunk in stream.body {
        count += chunk.count
        try checkLength(count, isWhole: false)
        checker.update(chunk)
        try file.write(chunk)
        received(chunk.count)
      }
      try check(count, total, checker)
      return try await complete(file, stream.head, byteCount: count, received: count - start)
    } catch {
      let isWrong = (error as? TransportError).map {
        [.contentMismatch, .tooLarge].contains($0.code)
      }
      if !keepsPart || isWrong == true { try? partial.discard() }
      throw error
    }
  }

  private func totalByteCount(_ head: HTTPResponseHead, from start: Int) -> Int? {
    guard start > 0 else { return head.bodyByteCount }
    return resumed?.resumption.totalByteCount
      ?? head.contentRange?.totalByteCount
  }

  /// Throws if a content that was cut off could not be detected: neither the response nor the request has its
  /// length.
  private func requireEnd(of head: HTTPResponseHead) throws(TransportError) {
    guard request.sha256 == nil, request.byteCount == nil, let cause = head.uncertainty else {
      return
    }
    throw TransportError(
      .uncertainEnd,
      "Tandem cannot verify that this content is complete: \(cause.reason); have it sent "
        + "\(cause.remedy), or declare its length or SHA-256",
      url: request.url)
  }

  private func mayResume(_ head: HTTPResponseHead, _ total: Int?) -> Bool {
    total.map { $0 > PartialFile.maxRestartedByteCount } ?? true
      && FileIndex.Resumption(of: head, url: address) != nil
  }

  private func openPart(
    _ head: HTTPResponseHead, at start: Int, _ keepsPart: Bool
  ) throws(TransportError) -> OpenFile {
    guard start > 0 else {
      let resumption = keepsPart ? FileIndex.Resumption(of: head, url: address) : nil
      return try store.partialFile(request.name, isKept: resumption != nil)
        .create(resumption, isSynchronized: store.isSynchronized)
    }
    let file = try partial.extend()
    try file.truncate(to: start)
    return file
  }

  /// Throws if the content is, or will be, longer than its limit or its declared length.
  private func checkLength(_ count: Int, isWhole: Bool) throws(TransportError) {
    if let declared = request.byteCount, isWhole ? count != declared : count > declared {
      throw TransportError(
        .contentMismatch,
        "the content has \(isWhole ? "" : "at least ")\(count) bytes instead of \(declared)",
        url: request.url)
    }
    guard count <= request.maxByteCount else {
      throw .bodyTooLarge(url: request.url, maxByteCount: request.maxByteCount)
    }
  }

  private func check(
    _ count: Int, _ total: Int?, _ checker: consuming ContentChecker
  ) throws(TransportError) {
    if let total, count != total {
      throw TransportError(
        .truncated, "the content ended after \(count) of \(total) bytes", url: request.url)
    }
    try checkLength(count, isWhole: true)
    if let digest = checker.digest(), let declared = request.sha256, digest != declared {
      throw TransportError(
        .contentMismatch, "the content has the SHA-256 \(digest) instead of \(declared)",
        url: request.url)
    }
  }

  private func complete(
    _ part: OpenFile, _ head: HTTPResponseHead, byteCount: Int, received: Int
  ) async throws -> FileTransfer {
    let file = StoredFile(
      name: request.name, url: address, validators: HTTPValidators(of: head),
      byteCount: byteCount, sha256: request.sha256)
    try await store.complete(partial, part, as: file)
    return FileTransfer(file: file, receivedByteCount: received, isChanged: true)
  }
}

extension StoredFile {
  /// True if it has the declared length and digest, as far as they are known, and validators.
  fileprivate func meets(_ request: FileRequest) -> Bool {
    !validators.isEmpty && request.byteCount.map { $0 == byteCount } ?? true
      && request.sha256.map { $0 == sha256 } ?? true
  }
}

/// The digest of a content, computed as it arrives, if it has to be checked.
private struct ContentChecker: ~Copyable {
  private var hash: SHA256?

  /// - Parameter prefix: The part that arrived before.
  init(_ declared: SHA256Digest?, prefix: OpenFile?) throws(TransportError) {
    guard declared != nil else { return }
    var hash = SHA256()
    try prefix?.forEachChunk { hash.update($0) }
    self.hash = consume hash
  }

  mutating func update(_ chunk: [UInt8]) { chunk.withUnsafeBytes { hash?.update($0) } }

  consuming func digest() -> SHA256Digest? { hash?.finalized() }
}
