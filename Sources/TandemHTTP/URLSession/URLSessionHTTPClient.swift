#if canImport(Darwin) || TANDEM_URLSESSION
  import Foundation
  #if TANDEM_URLSESSION
    @testable public import TandemHTTP
  #endif
  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// An ``HTTPClient`` on URLSession, without its caches, cookies and stored credentials.
  ///
  /// Of ``HTTPClientOptions``, `maxFieldByteCount` is left to URLSession, and the files of certificates and
  /// passwords to the keychain. While a reader is behind, the session's task is
  /// suspended; what URLSession has received by then is still handed over.
  ///
  /// A client is safe to use from any task; cancelling a task ends its transfer at once.
  public final class URLSessionHTTPClient: HTTPClient {
    private let options: HTTPClientOptions
    private let session: URLSession
    private let receiver: URLSessionReceiver

    /// A client with a session of its own, which ends when the client and its transfers are gone.
    ///
    /// - Throws: ``TransportError/Code/unavailable`` if the options name a file of certificates or of
    ///   passwords.
    public init(options: HTTPClientOptions = HTTPClientOptions()) throws(TransportError) {
      let files = [
        options.certificateAuthorityFile, options.clientCertificateFile, options.clientKeyFile,
        options.netrcFile,
      ]
      for case let file? in files {
        let message =
          "a file of certificates or passwords cannot be used here; add its contents to the keychain"
        throw TransportError(.unavailable, message, url: file)
      }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = max(1, options.maxConnectionCountPerHost)
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.urlCache = nil
      configuration.urlCredentialStorage = nil
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      self.options = options
      receiver = URLSessionReceiver()
      session = URLSession(configuration: configuration, delegate: receiver, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends `request` and returns as soon as the head of the response is here.
    ///
    /// - Throws: ``TransportError``; `CancellationError` if the task is cancelled.
    public func stream(_ request: HTTPRequest) async throws -> HTTPResponseStream {
      try await request.followingRedirects(options) { try await start($0).stream() }
    }

    private func start(_ request: HTTPRequest) throws(TransportError) -> ResponseReader {
      let timeouts = request.timeouts ?? options.timeouts
      let task = session.dataTask(with: try urlRequest(for: request, timeouts))
      let (queue, receiver) = (session.delegateQueue, receiver)
      let exchange = ResponseExchange(ResponseLifecycle(of: request, options)) { command in
        switch command {
        // On the delegate's queue, so that it comes after the suspension that it ends.
        case .resume: queue.addOperation { receiver.setSuspended(false, task) }
        case .cancel: task.cancel()
        }
      }
      receiver.add(task, request, exchange)
      Self.look(at: task, receiver, exchange, request.url, TimeoutWatch(timeouts, now: .now))
      task.resume()
      return ResponseReader(exchange)
    }

    private func urlRequest(
      for request: HTTPRequest, _ timeouts: HTTPTimeouts
    ) throws(TransportError) -> URLRequest {
      guard let url = URL(string: request.url) else {
        throw TransportError(.invalidURL, "the address is malformed; check it", url: request.url)
      }
      var idle = timeouts.idle / .seconds(1)
      #if canImport(FoundationNetworking)
        // It drops fractions, and takes zero for a minute.
        idle = max(1, idle.rounded(.up))
      #endif
      var result = URLRequest(url: url)
      // Set here and not by the initializer, whose value URLSession on Linux ignores.
      result.timeoutInterval = idle
      result.httpMethod = request.method.rawValue
      result.httpBody = request.body.map { Data($0) }
      for field in request.fields { result.addValue(field.value, forHTTPHeaderField: field.name) }
      return result
    }

    /// Ends a transfer whose time has run out: URLSession bounds the total of all tasks of a session only, and
    /// no rate.
    private static func look(
      at task: URLSessionDataTask, _ receiver: URLSessionReceiver, _ exchange: ResponseExchange,
      _ url: String, _ watch: TimeoutWatch
    ) {
      let delay = ContinuousClock.now.duration(to: watch.nextLook) / .milliseconds(1)
      let milliseconds = Int(min(1e12, max(1, delay.rounded(.up))))
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) {
        [weak task, weak exchange] in
        guard let task, let exchange, let progress = receiver.progress(of: task) else { return }
        var watch = watch
        guard let message = watch.expiry(of: progress, now: .now) else {
          return look(at: task, receiver, exchange, url, watch)
        }
        exchange.record { $0.ended(TransportError(.timedOut, message, url: url)) }
        exchange.deliver()
        task.cancel()
      }
    }
  }
#endif
