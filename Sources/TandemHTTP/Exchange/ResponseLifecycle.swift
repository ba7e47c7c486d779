/// One response on its way from the connection that receives it to the task that reads it: a value
/// without locks, clocks or I/O.
///
/// A producer reports events in this order: head, any number of bytes, end; an end may come at any
/// time. A reader takes the head, then chunks. Either may run ahead of the other.
struct ResponseLifecycle {
  /// The instruction to a producer after it has delivered bytes.
  enum Demand: Equatable {
    /// Continue.
    case more
    /// Pause until `resume`: the reader is behind.
    case pause
    /// Stop: nothing more will be read.
    case stop
  }

  /// The event that a reader waits for.
  enum Want: Equatable {
    case head
    case chunk
  }

  private enum Ending {
    case complete
    case failed(TransportError)
    case cancelled
  }

  private let url: String
  private let maxBodyByteCount: Int?
  private let maxDecompressedByteCount: Int?
  private let maxBufferedByteCount: Int
  private var receivedHead: HTTPResponseHead?
  /// The declared length of the body in bytes.
  private var declaredByteCount: Int?
  private var buffer: [UInt8] = []
  private var receivedByteCount = 0
  private var isPaused = false
  private var ending: Ending?
  private var hasProducerEnded = false

  init(
    url: String, maxBodyByteCount: Int?, maxDecompressedByteCount: Int? = nil,
    maxBufferedByteCount: Int
  ) {
    self.url = url
    self.maxBodyByteCount = maxBodyByteCount
    self.maxDecompressedByteCount = maxDecompressedByteCount
    self.maxBufferedByteCount = maxBufferedByteCount
  }

  /// The lifecycle of the response to `request` in a client with `options`.
  init(of request: HTTPRequest, _ options: HTTPClientOptions) {
    self.init(
      url: request.url, maxBodyByteCount: request.maxBodyByteCount,
      maxDecompressedByteCount: request.maxDecompressedByteCount,
      maxBufferedByteCount: options.maxBufferedByteCount)
  }

  // MARK: Producer

  /// The head of the final response has arrived.
  mutating func received(head: HTTPResponseHead) {
    guard ending == nil else { return }
    receivedHead = head
    declaredByteCount = head.bodyByteCount
  }

  /// Decoded bytes of the body have arrived.
  mutating func received(_ bytes: UnsafeRawBufferPointer) -> Demand {
    guard ending == nil else { return .stop }
    receivedByteCount += bytes.count
    if let error = excess {
      ending = .failed(error)
      return .stop
    }
    buffer.append(contentsOf: bytes)
    isPaused = buffer.count >= maxBufferedByteCount
    return isPaused ? .pause : .more
  }

  /// The error if the body is longer than its limit; `nil` if it is not.
  private var excess: TransportError? {
    if let limit = maxBodyByteCount, exceeds(limit) {
      return .bodyTooLarge(url: url, maxByteCount: limit)
    }
    if let limit = maxDecompressedByteCount, receivedHead?.isEncoded == true, exceeds(limit) {
      return .bodyTooLarge(url: url, maxByteCount: limit, isCompressed: true)
    }
    return nil
  }

  /// Returns true if the body is, or is declared to be, longer than `limit`.
  private func exceeds(_ limit: Int) -> Bool {
    receivedByteCount > limit || declaredByteCount.map { $0 > limit } == true
  }

  /// The producer will report nothing more; `error` says why, unless the response is complete.
  mutating func ended(_ error: TransportError?) {
    hasProducerEnded = true
    guard ending == nil else { return }
    let error = error ?? (receivedHead == nil ? missingHead : nil)
    ending = error.map { .failed($0) } ?? .complete
  }

  private var missingHead: TransportError {
    let message = "the server sent no response; check that this port speaks HTTP"
    return TransportError(.malformedResponse, message, url: url)
  }

  // MARK: Reader

  /// Returns true if `want` is available, or an error instead.
  func has(_ want: Want) -> Bool {
    switch want {
    case .head: receivedHead != nil || ending != nil
    case .chunk: !buffer.isEmpty || ending != nil
    }
  }

  /// Takes the head. Call only if ``has(_:)`` says so.
  mutating func takeHead() throws -> HTTPResponseHead {
    if let receivedHead { return receivedHead }
    try throwEnding()
    preconditionFailure("without a head, a response ends by an error only")
  }

  /// Takes all bytes that have arrived, or `nil` at the end, and says whether the producer is to be
  /// woken. Call only if ``has(_:)`` says so.
  mutating func takeChunk() throws -> (bytes: [UInt8]?, resumesProducer: Bool) {
    if buffer.isEmpty {
      try throwEnding()
      return (nil, false)
    }
    defer {
      buffer = []
      isPaused = false
    }
    return (buffer, isPaused && !hasProducerEnded)
  }

  /// Cancels reading; returns true if the producer must be cancelled, too.
  ///
  /// Bytes received and not read are dropped, so reading must not look complete afterwards.
  mutating func cancelled() -> Bool {
    if ending == nil || !buffer.isEmpty { ending = .cancelled }
    buffer = []
    return !hasProducerEnded
  }

  private func throwEnding() throws {
    switch ending {
    case .failed(let error): throw error
    case .cancelled: throw CancellationError()
    case .complete, nil: return
    }
  }
}
