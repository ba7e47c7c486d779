internal import CMicroHTTP
internal import Synchronization
internal import SystemLibrary
internal import TandemSync

/// An HTTP/1.1 server on libmicrohttpd, with one thread for all connections.
///
/// Each request is answered in a task of its own. The server bounds connections, bodies and times by
/// ``HTTPServerLimits``, so that clients that misbehave do not keep others from being served.
public final class HTTPServer: Sendable {
  /// A certificate and its key, in PEM.
  public struct Identity: Hashable, Sendable {
    /// The maximum length of each, in bytes.
    package static let maxByteCount = 1 << 20

    let certificate: [UInt8]
    let key: [UInt8]

    /// A certificate, with those of its issuers after it, and its key without a passphrase.
    public init(certificate: [UInt8], key: [UInt8]) {
      self.certificate = certificate
      self.key = key
    }
  }

  /// What the library's thread and the tasks that answer share. The connections have a lock of their own, which is held for
  /// a walk through all of them.
  struct State {
    /// The requests between their line and the end of their answer.
    var activeCount = 0
    /// The requests that tasks answer: their connections are suspended.
    var waiting: [ObjectIdentifier: Exchange] = [:]
    /// The answers without end, by their requests, which no longer wait.
    var streams: [ObjectIdentifier: AnswerStream] = [:]
    /// The memory of bodies that arrive, and of answers that are sent. Each has a limit, so that slow readers do not keep
    /// requests from arriving.
    var bodies: MemoryShares
    var answers: MemoryShares
    /// The bytes of bodies and answers that were released since memory was returned to the system.
    var releasedByteCount = 0
    var isStopping = false
    /// `nil` before the start and after the end.
    var daemon: Daemon?
    /// The time of the last event about each limit of connections.
    var limitTimes: [String: ContinuousClock.Instant] = [:]
    /// The statuses by which the library has refused requests, which nobody has logged yet, each with the only connection
    /// that it can have been then; `nil` if there were several.
    var refusals: [(status: Int, time: ContinuousClock.Instant, connection: ObjectIdentifier?)] = []
    /// The daemons with a former certificate, which accept no more connections.
    var retired: [Daemon] = []
  }

  /// The library's server, which may be used from any thread.
  struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
    /// The socket that listens.
    let socket: Int32
    /// The certificate that it shows.
    let identity: Identity?
    /// True if it had no connection at the last look after it had retired.
    var isIdle = false
  }

  /// The address of the server, such as `http://127.0.0.1:7420`.
  public let url: String
  private let isLocal: Bool
  private let responder: any HTTPResponder
  private let limits: HTTPServerLimits
  private let proxies: ProxyNetworks
  private let metrics: ServerMetrics
  private let log: @Sendable (ServerEvent) -> Void
  let state: Mutex<State>
  let connections = Mutex<[ObjectIdentifier: ServerConnection]>([:])
  private let exchanges: AsyncStream<Exchange>
  private let exchangesContinuation: AsyncStream<Exchange>.Continuation

  /// Starts to accept requests. They are answered while ``run()`` runs.
  ///
  /// - Parameters:
  ///   - socket: The address. The server closes the socket.
  ///   - identity: A certificate, to serve https.
  ///   - limits: The bounds of connections, bodies and times.
  ///   - responder: The program that answers the requests.
  ///   - log: Called when a request has ended, on the server's thread: it must not wait.
  /// - Throws: ``ServerError`` if the certificate and the key cannot be used.
  public convenience init(
    _ socket: ListeningSocket, identity: Identity? = nil,
    limits: HTTPServerLimits = HTTPServerLimits(), responder: some HTTPResponder,
    log: @escaping @Sendable (ServerEvent) -> Void = { _ in }
  ) throws(ServerError) {
    try self.init(
      socket, identity: identity, limits: limits, metrics: ServerMetrics(), responder: responder,
      log: log)
  }

  /// A server that counts connections, and that knows the proxies before it.
  package init(
    _ socket: ListeningSocket, identity: Identity? = nil,
    limits: HTTPServerLimits = HTTPServerLimits(), proxies: ProxyNetworks = ProxyNetworks(),
    metrics: ServerMetrics,
    responder: some HTTPResponder, log: @escaping @Sendable (ServerEvent) -> Void = { _ in }
  ) throws(ServerError) {
    let host = socket.host.contains(":") ? "[\(socket.host)]" : socket.host
    url = "\(identity == nil ? "http" : "https")://\(host):\(socket.port)"
    isLocal = socket.isLoopback
    self.responder = responder
    self.limits = limits
    self.proxies = proxies
    self.metrics = metrics
    self.log = log
    state = Mutex(
      State(
        bodies: MemoryShares(
          maxByteCount: limits.maxTotalBodyByteCount,
          maxClientByteCount: max(limits.maxTotalBodyByteCount / 4, limits.maxBodyByteCount)),
        answers: MemoryShares(
          maxByteCount: limits.maxTotalAnswerByteCount,
          maxClientByteCount: limits.maxTotalAnswerByteCount / 4)))
    (exchanges, exchangesContinuation) = AsyncStream.makeStream()
    let daemon = try start(socket.descriptor, identity)
    state.withLock { $0.daemon = daemon }
  }

  deinit {
    // Only without a run; otherwise the run has stopped it.
    let daemons = state.withLock { $0.daemons }
    guard !daemons.isEmpty else { return }
    let waiting = state.withLock { state in
      state.isStopping = true
      return Array(state.waiting.values)
    }
    for exchange in waiting { exchange.resume(with: responder.answer(to: .stopping)) }
    for daemon in daemons { MHD_stop_daemon(daemon.pointer) }
  }

  /// Starts a daemon, which accepts connections by a socket.
  ///
  /// - Throws: ``ServerError`` with code `certificate` or `address`. The socket is closed then.
  func start(_ descriptor: Int32, _ identity: Identity?) throws(ServerError) -> Daemon {
    let file = FileIdentity(of: descriptor)
    var options = cmicrohttp_options()
    options.listening = descriptor
    options.connection_byte_count = limits.connectionByteCount
    options.connection_count = UInt32(clamping: Self.maxConnectionCount(limits))
    options.address_connection_count = UInt32(clamping: limits.maxAddressConnectionCount)
    options.idle_seconds = UInt32(clamping: max(1, limits.maxIdleTime.components.seconds))
    // The server outlives the daemon: it stops it before it ends.
    options.context = Unmanaged.passUnretained(self).toOpaque()
    options.begin = { HTTPServer.of($0).begin($1, $2) }
    options.handle = { context, connection, _, method, version, data, count, request in
      HTTPServer.of(context).handle(connection, method, version, data, count, request)
    }
    options.complete = { context, connection, request, _ in
      HTTPServer.of(context).complete(connection, request)
    }
    options.notify = { context, connection, own, event in
      HTTPServer.of(context).notify(connection, own, event)
    }
    options.report = { context, format, arguments in
      let server = HTTPServer.of(context)
      if let limit = cmicrohttp_limit(format) { server.noteLimit(String(cString: limit)) }
      let status = arguments.map { cmicrohttp_refusal(format, $0) } ?? 0
      if status > 0 { server.noteRefusal(Int(status)) }
    }
    let pointer: OpaquePointer?
    if let identity {
      let (certificate, key) = (identity.certificate + [0], identity.key + [0])
      pointer = certificate.withUnsafeBytes { certificate in
        key.withUnsafeBytes { key in
          options.certificate = certificate.baseAddress?.assumingMemoryBound(to: CChar.self)
          options.key = key.baseAddress?.assumingMemoryBound(to: CChar.self)
          return cmicrohttp_start(&options)
        }
      }
    } else {
      pointer = cmicrohttp_start(&options)
    }
    if let pointer { return Daemon(pointer: pointer, socket: descriptor, identity: identity) }
    let reason = systemReason()
    // The library closes the socket after some errors. Then its number may have a new meaning.
    if FileIdentity(of: descriptor) == file { close(descriptor) }
    throw identity == nil
      ? ServerError(.address, "the server cannot start: \(reason)")
      : ServerError(
        .certificate,
        "the certificate and the key cannot be used: both must be PEM, without a passphrase, and "
          + "belong together")
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> HTTPServer {
    Unmanaged.fromOpaque(context!).takeUnretainedValue()
  }

  /// The maximum number of connections, fewer if the system allows fewer descriptors.
  private static func maxConnectionCount(_ limits: HTTPServerLimits) -> Int {
    // The rest is for the files of spaces.
    min(limits.maxConnectionCount, max(1, OpenFileLimit.current / 2))
  }
}

// MARK: - Running

extension HTTPServer {
  /// Answers requests, and runs the responder, until the task is cancelled; then stops: requests are
  /// answered, streams end.
  public func run() async {
    // A task of its own: cancelling this one must not cancel the answers that are under way.
    let serving = Task { await serve() }
    await withTaskCancellationHandler {
      await serving.value
    } onCancel: {
      exchangesContinuation.finish()
    }
  }

  private func serve() async {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.closeOverdueConnections() }
      group.addTask { await self.responder.run() }
      for await exchange in exchanges {
        group.addTask {
          let answer = await self.responder.answer(exchange.request())
          self.deliver(self.compressed(answer, for: exchange), to: exchange)
        }
      }
      await stop()
      group.cancelAll()
    }
  }

  private func stop() async {
    let (daemons, streams) = state.withLock { state in
      state.isStopping = true
      return (state.daemons, Array(state.streams.values))
    }
    guard let daemon = daemons.last else { return }
    closeSocket(of: daemon)
    for stream in streams { stream.end() }
    let deadline = ContinuousClock.now + limits.maxStopTime
    while state.withLock({ $0.activeCount > 0 }), ContinuousClock.now < deadline {
      do { try await Task.sleep(for: .milliseconds(2)) } catch { break }
    }
    // The library aborts the process if a connection is still suspended when it stops.
    for exchange in state.withLock({ Array($0.waiting.values) }) {
      deliver(responder.answer(to: .stopping), to: exchange)
    }
    for daemon in daemons { MHD_stop_daemon(daemon.pointer) }
    state.withLock { state in
      state.daemon = nil
      state.retired = []
    }
  }

  /// Accepts no more connections by a daemon.
  func closeSocket(of daemon: Daemon) {
    let listening = MHD_quiesce_daemon(daemon.pointer)
    if listening >= 0 { close(listening) }
  }

  private func closeOverdueConnections() async {
    while !Task.isCancelled {
      let now = ContinuousClock.now
      connections.withLock { connections in
        for connection in connections.values where connection.isOverdue(now, limits) {
          // The library closes it then, and calls back.
          shutdown(connection.descriptor, Int32(SHUT_RDWR))
          metrics.count(.connectionsClosedByServer)
        }
      }
      stopIdleDaemons()
      trimMemory()
      try? await Task.sleep(for: Self.overdueCheckPause(limits))
    }
  }

  /// The released bytes after which memory is returned to the system.
  private static let trimmedByteCount = 32 << 20

  private func trimMemory() {
    let isDue = state.withLock { state in
      guard state.releasedByteCount >= Self.trimmedByteCount else { return false }
      state.releasedByteCount = 0
      return true
    }
    if isDue { cmicrohttp_trim_memory() }
  }

  private static func overdueCheckPause(_ limits: HTTPServerLimits) -> Duration {
    min(.seconds(1), limits.maxIdleTime / 4, limits.maxBodyTime / 4)
  }

  /// An answer in gzip, if that is useful and the client accepts it.
  private func compressed(_ answer: HTTPAnswer, for exchange: Exchange) -> HTTPAnswer {
    guard case .bytes(let bytes) = answer.content, bytes.count >= limits.minCompressedByteCount
    else { return answer }
    var answer = answer
    answer.fields.append(("Vary", "Accept-Encoding"))
    if exchange.acceptsGzip, let compressed = GzipEncoding.bytes(bytes) {
      answer.content = .bytes(compressed)
      answer.fields.append(("Content-Encoding", "gzip"))
    }
    return answer
  }

  /// Gives the answer to the library's thread, unless the request has one already.
  private func deliver(_ answer: HTTPAnswer, to exchange: Exchange) {
    let isStopping = state.withLock { state in
      state.waiting[ObjectIdentifier(exchange)] = nil
      if !state.isStopping, case .stream(let stream) = answer.content {
        state.streams[ObjectIdentifier(exchange)] = stream
      }
      return state.isStopping
    }
    if isStopping, case .stream = answer.content {
      exchange.resume(with: responder.answer(to: .stopping))
    } else {
      exchange.resume(with: answer)
    }
  }
}

// MARK: - The library's thread

extension HTTPServer {
  /// The time between two events about the same limit of connections.
  private static let limitEventPause = Duration.seconds(60)

  /// The library has closed a connection, or accepts none for a while.
  private func noteLimit(_ limit: String) {
    metrics.count(.connectionsRefused)
    let isDue = state.withLock { state in
      if let last = state.limitTimes[limit], .now < last + Self.limitEventPause { return false }
      state.limitTimes[limit] = .now
      return true
    }
    guard isDue else { return }
    log(
      limit == "files"
        ? ServerEvent(
          .error,
          "the system permits no more open files and connections: let it permit more, or lower "
            + "`maxConnectionCount`")
        : ServerEvent(
          .warning,
          "connections are closed at once: an address has \(limits.maxAddressConnectionCount), the "
            + "most (`maxAddressConnectionCount`)"))
  }

  /// The time in which a request that the library has refused is taken for that of the next connection that closes.
  private static let maxRefusalAge = Duration.seconds(1)

  /// The library refuses a request. It does not say which one: it closes its connection next.
  private func noteRefusal(_ status: Int) {
    // Most connections may be: one or two of them are found at once.
    let refusable = connections.withLock { connections in
      Array(connections.lazy.filter(\.value.mayBeRefused).prefix(2).map(\.key))
    }
    state.withLock { state in
      state.refusals.removeAll { $0.time + Self.maxRefusalAge < .now }
      state.refusals.append((status, .now, refusable.count == 1 ? refusable.first : nil))
    }
  }

  /// Counts a request that the library has refused. Returns its event.
  private func refused(_ status: Int, from address: String?) -> ServerEvent {
    var event = ServerEvent(.notice, "the request is no valid HTTP, or too long for the server")
    let code: SyncRequestError.Code = [413, 414, 431].contains(status) ? .overLimit : .malformed
    event.reason = code.name
    event.status = status
    event.address = address
    metrics.countAnswer("server", status: status, refusal: code.name)
    return event
  }

  /// Logs that the library has refused the request of a connection, if it may have: no line of a request had arrived. The
  /// address is named only if it can be no other one's.
  private func logRefusal(on connection: ServerConnection) {
    let refusal = state.withLock { state in
      state.refusals.removeAll { $0.time + Self.maxRefusalAge < .now }
      let own = ObjectIdentifier(connection)
      return state.refusals.firstIndex { $0.connection.map { $0 == own } ?? true }.map {
        state.refusals.remove(at: $0)
      }
    }
    guard let refusal else { return }
    log(refused(refusal.status, from: refusal.connection.map { _ in connection.address } ?? nil))
  }

  /// The line of a request has arrived. Returns its context.
  private func begin(
    _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
  ) -> UnsafeMutableRawPointer? {
    guard let target, let connection else { return nil }
    state.withLock { $0.activeCount += 1 }
    let exchange = Exchange(target: target, connection)
    return Unmanaged.passRetained(exchange).toOpaque()
  }

  /// The header, a part of the body, or the end of a request has arrived, or its answer is there.
  private func handle(
    _ connection: OpaquePointer?, _ method: UnsafePointer<CChar>?,
    _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
    _ count: UnsafeMutablePointer<Int>?,
    _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) -> MHD_Result {
    guard let connection, let method, let version, let count, let context = request?.pointee
    else { return cmicrohttp_no }
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    switch exchange.phase {
    case .begun:
      let isWhole = cmicrohttp_is_whole(
        connection, method, exchange.targetByteCount, version)
      return receive(
        headOf: exchange, String(cString: method), connection, isWhole: isWhole != 0)
    case .receiving where count.pointee > 0:
      let bytes = UnsafeRawBufferPointer(start: data, count: count.pointee)
      count.pointee = 0
      return receive(bytes, of: exchange)
    case .receiving: return dispatch(exchange)
    case .answered(let answer): return queue(answer, for: exchange)
    case .waiting, .sending: return cmicrohttp_yes
    }
  }

  private func receive(
    headOf exchange: Exchange, _ method: String, _ connection: OpaquePointer, isWhole: Bool
  ) -> MHD_Result {
    let fields = Self.fields(of: connection)
    let head = ServedRequestHead(
      method: method, target: exchange.target, fields: fields, isLocal: isLocal,
      address: proxies.client(behind: exchange.connection?.address, fields))
    exchange.connection?.enter(.receiving)
    if let trouble = isWhole ? trouble(with: head) : .malformedHead {
      exchange.receive(head, .accepted(client: nil))
      return queue(responder.answer(to: trouble), for: exchange, closes: true)
    }
    let admission =
      head.hasBody && !head.mayHaveBody
      ? .refused(responder.answer(to: .unexpectedBody)) : responder.admission(of: head)
    exchange.receive(head, admission)
    guard case .refused(let refusal) = admission else { return cmicrohttp_yes }
    // A client reads the answer only after it has sent a short body. After an answer that is given
    // before the body has arrived, the library closes the connection.
    let isShort =
      head.field("transfer-encoding") == nil
      && head.contentLength ?? 0 <= Exchange.maxIgnoredByteCount
    return isShort ? cmicrohttp_yes : queue(refusal, for: exchange, closes: true)
  }

  /// The reason why the body of a request must not be read.
  private func trouble(with head: ServedRequestHead) -> ServerTrouble? {
    if head.isAmbiguous { return .malformedHead }
    return head.contentLength ?? 0 > limits.maxBodyByteCount ? .bodyTooLong : nil
  }

  private static func fields(of connection: OpaquePointer) -> [(name: String, value: String)] {
    var fields: [(name: String, value: String)] = []
    withUnsafeMutablePointer(to: &fields) { fields in
      _ = MHD_get_connection_values(
        connection, cmicrohttp_header,
        { context, _, name, value in
          guard let context, let name else { return cmicrohttp_yes }
          context.assumingMemoryBound(to: [(name: String, value: String)].self).pointee.append(
            (String(cString: name), value.map { String(cString: $0) } ?? ""))
          return cmicrohttp_yes
        }, fields)
    }
    return fields
  }

  private func receive(_ bytes: UnsafeRawBufferPointer, of exchange: Exchange) -> MHD_Result {
    switch exchange.append(bytes, maxByteCount: limits.maxBodyByteCount) {
    case .kept:
      let trouble = state.withLock { $0.bodies.add(bytes.count, for: exchange.client) }
      if let trouble { refuse(exchange, trouble) }
      return cmicrohttp_yes
    case .tooLong:
      refuse(exchange, .bodyTooLong)
      return cmicrohttp_yes
    case .ignored: return cmicrohttp_yes
    case .endless: return cmicrohttp_no
    }
  }

  private func refuse(_ exchange: Exchange, _ trouble: ServerTrouble) {
    let byteCount = exchange.refuse(responder.answer(to: trouble))
    state.withLock { $0.bodies.remove(byteCount, for: exchange.client) }
  }

  /// The request is complete: a task answers it, or its refusal is sent.
  private func dispatch(_ exchange: Exchange) -> MHD_Result {
    if let refusal = exchange.refusal { return queue(refusal, for: exchange) }
    let trouble = state.withLock { state -> ServerTrouble? in
      if state.isStopping { return .stopping }
      guard state.waiting.count < limits.maxConcurrentRequestCount else { return .overloaded }
      state.waiting[ObjectIdentifier(exchange)] = exchange
      exchange.suspend()
      return nil
    }
    if let trouble { return queue(responder.answer(to: trouble), for: exchange) }
    if case .terminated = exchangesContinuation.yield(exchange) {
      deliver(responder.answer(to: .stopping), to: exchange)
    }
    return cmicrohttp_yes
  }

  private func queue(
    _ answer: HTTPAnswer, for exchange: Exchange, closes: Bool = false
  ) -> MHD_Result {
    let byteCount = countedByteCount(answer)
    let daemon = exchange.connection?.daemon
    let (isLast, trouble) = state.withLock { state -> (Bool, ServerTrouble?) in
      let isLast = state.isStopping || state.retired.contains { $0.pointer == daemon }
      guard byteCount > 0 else { return (isLast, nil) }
      let trouble = state.answers.add(byteCount, for: exchange.client)
      if trouble != nil { state.answers.remove(byteCount, for: exchange.client) }
      return (isLast, trouble)
    }
    if let trouble {
      return exchange.send(responder.answer(to: trouble), closes: closes || isLast)
    }
    exchange.count(answerByteCount: byteCount)
    return exchange.send(answer, closes: closes || isLast)
  }

  /// The length of an answer; 0 if it does not count.
  private func countedByteCount(_ answer: HTTPAnswer) -> Int {
    guard case .bytes(let bytes) = answer.content, bytes.count > limits.connectionByteCount
    else { return 0 }
    return bytes.count
  }

  /// A request has ended: its answer was sent, or its connection was closed.
  private func complete(
    _ connection: OpaquePointer?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
  ) {
    guard let context = request?.pointee else { return }
    request?.pointee = nil
    let exchange = Unmanaged<Exchange>.fromOpaque(context).takeRetainedValue()
    let refusal = exchange.isAnswered ? 0 : connection.map { Int(cmicrohttp_status($0)) } ?? 0
    let (bodyByteCount, answerByteCount) = exchange.end()
    let stream = state.withLock { state in
      state.activeCount -= 1
      state.bodies.remove(bodyByteCount, for: exchange.client)
      state.answers.remove(answerByteCount, for: exchange.client)
      state.releasedByteCount += bodyByteCount + answerByteCount
      if let place = state.refusals.firstIndex(where: { $0.status == refusal }) {
        state.refusals.remove(at: place)
      }
      return state.streams.removeValue(forKey: ObjectIdentifier(exchange))
    }
    // A client that was cut off often reads no more, and sends no other request.
    exchange.connection?.enter(refusal > 0 ? .refused : stream == nil ? .idle : .ending)
    stream?.end()
    var event = exchange.event
    if refusal > 0 { event.add(refused(refusal, from: event.address)) }
    metrics.count(.bytesSent, event.byteCount ?? 0)
    metrics.count(.bytesReceived, bodyByteCount)
    log(event.redacted)
  }

  private func notify(
    _ connection: OpaquePointer?, _ own: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ event: MHD_ConnectionNotificationCode
  ) {
    guard let connection, let own else { return }
    if event == cmicrohttp_started {
      let connection = ServerConnection(
        descriptor: cmicrohttp_socket(connection), daemon: cmicrohttp_daemon(connection))
      own.pointee = Unmanaged.passRetained(connection).toOpaque()
      connections.withLock { $0[ObjectIdentifier(connection)] = connection }
      metrics.count(.connectionsOpened)
    } else {
      guard let context = own.pointee else { return }
      let connection = Unmanaged<ServerConnection>.fromOpaque(context).takeRetainedValue()
      // Before the library closes the descriptor, so that no other file is shut down in its place.
      connections.withLock { $0[ObjectIdentifier(connection)] = nil }
      metrics.count(.connectionsEnded)
      if connection.mayBeRefused { logRefusal(on: connection) }
    }
  }
}
