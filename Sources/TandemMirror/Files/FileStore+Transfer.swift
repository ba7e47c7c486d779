public import TandemHTTP

extension FileStore {
  /// Fetches the content at an address into a file.
  ///
  /// A file that came from there before is asked for only if it changed (``FileRequest/isConditional``), and not at
  /// all if it has the digest of the request.
  ///
  /// This makes one attempt. After an error, the next call resumes the download if the server sent a strong
  /// validator and the content has more than 64 KiB. Memory does not grow with the content.
  ///
  /// - Parameters:
  ///   - request: The file, the address, and the checks.
  ///   - client: The client for the request.
  ///   - received: Called with the number of bytes, as they arrive.
  /// - Throws: ``/TandemHTTP/TransportError``: the client's; `badStatus`, with the delay that the
  ///   server asks for; `uncertainEnd` if the content may have been cut off, and has neither a
  ///   digest nor a length to be checked by; `contentMismatch`, after which nothing is kept;
  ///   `tooLarge`; `cannotWrite`. `CancellationError`. The file is as it was then.
  public func transfer(
    _ request: FileRequest, client: any HTTPClient,
    received: (_ byteCount: Int) -> Void = { _ in }
  ) async throws -> FileTransfer {
    try begin(request.name)
    defer { end(request.name) }
    let reception = FileReception(request, store: self)
    if let current = reception.known, let digest = request.sha256, current.sha256 == digest {
      return FileTransfer(file: current, receivedByteCount: 0, isChanged: false)
    }
    guard let answer = try await reception.answer(of: client) else {
      return try await reception.restarted(client: client, received: received)
    }
    return try await reception.receive(answer.stream, from: answer.start, received: received)
  }
}
