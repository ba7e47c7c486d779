#if canImport(CCurl) && !canImport(Darwin)
  import CCurl
  import Glibc
  import Synchronization

  /// An ``HTTPClient`` on libcurl's multi interface.
  ///
  /// One thread of its own runs all transfers and keeps connections for reuse; it sleeps while there
  /// is nothing to do, and ends when the client and all bodies it handed out are gone. Proxies are
  /// those of libcurl's environment variables (`https_proxy`, `no_proxy`, …). HTTP/2 is used where
  /// TLS negotiates it.
  ///
  /// A client is safe to use from any task; cancelling a task ends its transfer at once.
  public final class CurlHTTPClient: HTTPClient {
    private let options: HTTPClientOptions
    private let loop: CurlLoop

    /// A client with a thread of its own.
    ///
    /// - Throws: ``TransportError/Code/unavailable`` if the system grants no memory or no thread.
    public convenience init(options: HTTPClientOptions = HTTPClientOptions()) throws(TransportError)
    {
      try self.init(options: options, now: { .now })
    }

    /// A client that takes the time for its idle and total timeouts from `now`.
    init(
      options: HTTPClientOptions, now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TransportError) {
      self.options = options
      loop = try CurlLoop(options: options, now: now)
    }

    /// Sends `request` and returns as soon as the head of the response is here.
    ///
    /// - Throws: ``TransportError``; `CancellationError` if the task is cancelled.
    public func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
      try await request.followingRedirects(options) { request in
        try await loop.start(request, ResponseLifecycle(of: request, options)).stream()
      }
    }
  }

  /// Owns the thread that runs the transfers: it ends when the last reference to this is gone.
  final class CurlLoop: Sendable {
    private let inbox: CurlInbox
    private let lastID = Atomic<UInt64>(0)

    /// libcurl wants to be initialised once per process; Swift does so once, safely.
    private static let isInitialized = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    init(
      options: HTTPClientOptions, now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(TransportError) {
      let (poll, wakeup) = (ccurl_poll_create(), ccurl_wakeup_create())
      guard Self.isInitialized, poll >= 0, wakeup >= 0, let multi = curl_multi_init() else {
        for descriptor in [poll, wakeup] where descriptor >= 0 { ccurl_close(descriptor) }
        throw TransportError(
          .unavailable, "libcurl cannot be started: no memory, or too many open files", url: "")
      }
      inbox = CurlInbox(wakeup: wakeup)
      let sockets = CurlSockets(multi: multi, poll: poll, wakeup: wakeup)
      let driver = CurlDriver(inbox: inbox, sockets: sockets, options: options, now: now)
      guard startThread({ driver.run() }) else {
        throw TransportError(.unavailable, "the system grants no further thread", url: "")
      }
    }

    deinit { inbox.post(.stop) }

    /// Starts a transfer, which goes on for as long as the reader is kept.
    ///
    /// The exchange keeps this loop, and the thread keeps the exchange until the transfer has ended.
    func start(_ request: HTTPRequest, _ lifecycle: ResponseLifecycle) -> ResponseReader {
      let id = lastID.wrappingAdd(1, ordering: .relaxed).newValue
      let exchange = ResponseExchange(lifecycle) { command in
        switch command {
        case .resume: self.inbox.post(.resume(id))
        case .cancel: self.inbox.post(.cancel(id))
        }
      }
      inbox.post(.start(CurlOrder(id: id, request: request, exchange: exchange)))
      return ResponseReader(exchange)
    }
  }

  /// Runs `body` on a new, detached thread on which no signal is delivered: a broken connection's
  /// SIGPIPE stays without effect there (OpenSSL's writes raise it), and the application's handlers
  /// run elsewhere. Returns false if the system grants no thread.
  private func startThread(_ body: sending @escaping () -> Void) -> Bool {
    final class Body {
      let run: () -> Void
      init(_ run: @escaping () -> Void) { self.run = run }
    }
    let context = Unmanaged.passRetained(Body(body))
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard status == 0 else {
      context.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
#endif
