internal import CMicroHTTP
internal import Synchronization

/// A request and its answer, on a connection of libmicrohttpd.
///
/// The library's thread moves it through its phases; only ``resume(with:)`` is called by others. The
/// library neither closes nor frees a connection that is suspended, so the pointer is valid in the
/// phase `waiting`, and otherwise on the library's thread until ``end()``.
final class Exchange: Sendable {
  /// The phases, in their order.
  enum Phase {
    /// The line of the request has arrived.
    case begun
    /// The body arrives.
    case receiving
    /// The connection is suspended until the answer is there.
    case waiting
    case answered(HTTPAnswer)
    case sending
  }

  /// The results of receiving a part of the body.
  enum Reception {
    case kept
    /// The body has become too long.
    case tooLong
    /// The request is refused already.
    case ignored
    /// The client continues to send a body that is refused.
    case endless
  }

  /// What has arrived of the request, and what was sent. The library's thread writes it, and the task that answers reads the
  /// request and sets the answer.
  private struct State {
    var phase = Phase.begun
    /// `nil` as long as only the line of the request has arrived.
    var head: ServedRequestHead?
    /// The client that the body and the answer are counted for.
    var client: String?
    var body: [UInt8] = []
    /// The answer that was decided before the body had arrived. It is no phase: the rest of the body is read first.
    var refusal: HTTPAnswer?
    /// The bytes that were read after the refusal. Those of ``body`` count in the limits of all requests, these do not.
    var ignoredByteCount = 0
    /// The length of the answer, as far as it counts.
    var answerByteCount = 0
    /// The event for the log, once there is an answer.
    var event: ServerEvent?
    /// The bytes that were given to the library, for the log.
    var sentByteCount = 0
  }

  /// The maximum number of bytes of a refused body that are read, so that the client can read the
  /// answer.
  static let maxIgnoredByteCount = 64 << 10

  /// The path and the query of the request. Bytes that are no UTF-8 are replaced.
  let target: String
  /// The length of the target as it was sent.
  let targetByteCount: Int
  private let start = ContinuousClock.now
  private nonisolated(unsafe) let pointer: OpaquePointer
  private let state = Mutex(State())

  init(target: UnsafePointer<CChar>, _ pointer: OpaquePointer) {
    self.target = String(cString: target)
    targetByteCount = strlen(target)
    self.pointer = pointer
  }

  /// The connection; called on the library's thread.
  var connection: ServerConnection? {
    guard let context = cmicrohttp_context(pointer) else { return nil }
    return Unmanaged<ServerConnection>.fromOpaque(context).takeUnretainedValue()
  }

  var phase: Phase { state.withLock { $0.phase } }

  /// The answer that was decided before the body had arrived.
  var refusal: HTTPAnswer? { state.withLock { $0.refusal } }

  /// The client that the body and the answer are counted for.
  var client: String? { state.withLock { $0.client } }

  var acceptsGzip: Bool { state.withLock { $0.head?.acceptsGzip ?? false } }

  /// The complete request.
  func request() -> ServedRequest {
    state.withLock { state in
      guard let head = state.head else {
        preconditionFailure("a request is dispatched after its header")
      }
      return ServedRequest(head: head, body: state.body)
    }
  }

  func receive(_ head: ServedRequestHead, _ admission: HTTPAdmission) {
    state.withLock { state in
      state.phase = .receiving
      state.head = head
      switch admission {
      case .refused(let refusal): state.refusal = refusal
      case .accepted(let client): state.client = client
      }
    }
  }

  func append(_ bytes: UnsafeRawBufferPointer, maxByteCount: Int) -> Reception {
    state.withLock { state in
      if state.refusal != nil {
        state.ignoredByteCount += bytes.count
        return state.ignoredByteCount > Self.maxIgnoredByteCount + maxByteCount
          ? .endless : .ignored
      }
      guard state.body.count + bytes.count <= maxByteCount else { return .tooLong }
      state.body.append(contentsOf: bytes)
      return .kept
    }
  }

  /// Refuses the request when its body has arrived. Returns the number of bytes that are released.
  func refuse(_ answer: HTTPAnswer) -> Int {
    state.withLock { state in
      state.refusal = answer
      defer { state.body = [] }
      return state.body.count
    }
  }

  /// Suspends the connection until ``resume(with:)``.
  func suspend() {
    connection?.enter(.waiting)
    state.withLock { state in
      state.phase = .waiting
      MHD_suspend_connection(pointer)
    }
  }

  /// Gives the answer to the library's thread, unless there is one already.
  func resume(with answer: HTTPAnswer) {
    state.withLock { state in
      guard case .waiting = state.phase else { return }
      state.phase = .answered(answer)
      MHD_resume_connection(pointer)
    }
  }

  /// Notes the length of the answer that is being sent.
  func count(answerByteCount: Int) { state.withLock { $0.answerByteCount = answerByteCount } }

  /// Notes that bytes of a stream were given to the library.
  fileprivate func count(sentByteCount: Int) {
    state.withLock { $0.sentByteCount += sentByteCount }
  }

  /// Releases the memory of the request. Returns the lengths of its body and of its answer.
  func end() -> (bodyByteCount: Int, answerByteCount: Int) {
    state.withLock { state in
      defer { state.body = [] }
      state.phase = .sending
      return (state.body.count, state.answerByteCount)
    }
  }

  /// True if the program has given its answer to the library.
  var isAnswered: Bool { state.withLock { $0.event != nil } }

  /// The event of the request, which has ended.
  var event: ServerEvent {
    state.withLock { state in
      var event = state.event ?? .unanswered(hasHead: state.head != nil)
      event.address = state.head?.address ?? connection?.address
      event.add(method: state.head?.method ?? "-", target: target)
      event.duration = ContinuousClock.now - start
      event.byteCount = state.sentByteCount
      return event
    }
  }
}

extension ServerEvent {
  /// A request without an answer of the program: the library has refused it, or the client has left.
  fileprivate static func unanswered(hasHead: Bool) -> ServerEvent {
    hasHead
      ? ServerEvent(.info, "the client left before it had an answer")
      : ServerEvent(.notice, "the header was not valid, was too long, or did not arrive")
  }
}

// MARK: - Sending

extension Exchange {
  /// Gives an answer to the library, which sends it.
  func send(_ answer: HTTPAnswer, closes: Bool) -> MHD_Result {
    state.withLock { state in
      state.phase = .sending
      state.event = answer.event
      state.event?.status = answer.status
      if case .bytes(let bytes) = answer.content, state.head?.method != "HEAD" {
        state.sentByteCount = bytes.count
      }
    }
    guard let response = response(answer.content) else { return cmicrohttp_no }
    defer { MHD_destroy_response(response) }
    for (name, value) in answer.fields + (closes ? [("Connection", "close")] : []) {
      MHD_add_response_header(response, name, value)
    }
    return MHD_queue_response(pointer, UInt32(answer.status), response)
  }

  private func response(_ content: HTTPAnswer.Content) -> OpaquePointer? {
    switch content {
    case .bytes(var bytes):
      connection?.enter(.sending)
      return bytes.withUnsafeMutableBytes {
        MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
      }
    case .stream(let stream):
      connection?.enter(.streaming(stream))
      return MHD_create_response_from_callback(
        cmicrohttp_unknown_size, Self.streamPieceByteCount,
        { context, _, buffer, count in
          Unmanaged<StreamReader>.fromOpaque(context!).takeUnretainedValue()
            .read(UnsafeMutableRawBufferPointer(start: buffer, count: count))
        }, Unmanaged.passRetained(StreamReader(stream, self, pointer)).toOpaque(),
        { context in Unmanaged<StreamReader>.fromOpaque(context!).release() })
    }
  }

  /// The maximum number of bytes of a stream that are sent at a time. Each stream has such a
  /// buffer.
  private static let streamPieceByteCount = 2 << 10
}

/// Reads an ``AnswerStream`` for the library.
private final class StreamReader: Sendable {
  private let stream: AnswerStream
  private let exchange: Exchange
  private nonisolated(unsafe) let pointer: OpaquePointer

  init(_ stream: AnswerStream, _ exchange: Exchange, _ pointer: OpaquePointer) {
    self.stream = stream
    self.exchange = exchange
    self.pointer = pointer
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    let reading = stream.read(into: buffer) {
      MHD_suspend_connection(pointer)
    } resume: { [self] in
      MHD_resume_connection(pointer)
    }
    switch reading {
    case .bytes(let count):
      exchange.count(sentByteCount: count)
      return count
    case .waiting: return 0
    case .end: return cmicrohttp_end_of_stream
    }
  }
}
