#if canImport(Darwin) || TANDEM_URLSESSION
  import Foundation
  #if TANDEM_URLSESSION
    @testable import TandemHTTP
  #endif
  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif
  import Synchronization

  /// Passes the events of a URLSession on to the exchanges of its tasks.
  ///
  /// URLSession calls it on a serial queue.
  final class URLSessionReceiver: NSObject, URLSessionDataDelegate {
    private struct Transfer: Sendable {
      var request: HTTPRequest
      var exchange: ResponseExchange
      var declaredByteCount: Int?
      var isChunked = false
      var isSuspended = false
      var receivedByteCount = 0
      var hasHead = false

      /// Returns true if the body ended before its declared end.
      func isTruncated(by error: (any Error)?) -> Bool {
        // URLSession on Linux has no code for it.
        let code = error.map { ($0 as? URLError)?.code ?? .unknown }
        guard [nil, .networkConnectionLost, .unknown].contains(code) else { return false }
        return declaredByteCount.map { receivedByteCount < $0 } ?? (isChunked && error != nil)
      }
    }

    private let transfers = Mutex<[Int: Transfer]>([:])

    /// Registers `task` until it completes.
    func add(_ task: URLSessionTask, _ request: HTTPRequest, _ exchange: ResponseExchange) {
      let transfer = Transfer(request: request, exchange: exchange)
      transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    /// Suspends or resumes `task`, if it is not in that state: URLSession counts suspensions. Call it on the
    /// delegate's queue.
    func setSuspended(_ isSuspended: Bool, _ task: URLSessionTask) {
      let isChange = transfers.withLock { transfers in
        guard let transfer = transfers[task.taskIdentifier], transfer.isSuspended != isSuspended
        else { return false }
        transfers[task.taskIdentifier]?.isSuspended = isSuspended
        return true
      }
      guard isChange else { return }
      if isSuspended { task.suspend() } else { task.resume() }
    }

    /// The progress of `task`; `nil` once it is complete.
    func progress(of task: URLSessionTask) -> TimeoutWatch.Progress? {
      transfer(of: task).map {
        TimeoutWatch.Progress(
          byteCount: Int64($0.receivedByteCount), hasHead: $0.hasHead, isPaused: $0.isSuspended)
      }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
      transfers.withLock { $0[task.taskIdentifier] }
    }

    // MARK: Events

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      guard let response = response as? HTTPURLResponse, let transfer = transfer(of: dataTask)
      else { return completionHandler(.cancel) }
      var fields = HTTPFields()
      // By name, because a dictionary has no order.
      for (name, value) in response.allHeaderFields.map({ ("\($0)", "\($1)") }).sorted(by: <) {
        fields.append(name, value)
      }
      var head = HTTPResponseHead(
        status: response.statusCode, fields: fields, url: transfer.request.url)
      head.declaresEnd = declaresEnd(head)
      transfers.withLock { $0[dataTask.taskIdentifier]?.hasHead = true }
      if transfer.request.method != .head && head.status != 304 {
        transfers.withLock {
          $0[dataTask.taskIdentifier]?.declaredByteCount = head.bodyByteCount
          $0[dataTask.taskIdentifier]?.isChunked = isChunked(head)
        }
      }
      transfer.exchange.record { $0.received(head: head) }
      transfer.exchange.deliver()
      completionHandler(.allow)
    }

    private func isChunked(_ head: HTTPResponseHead) -> Bool {
      head.fields["Transfer-Encoding"]?.lowercased().hasSuffix("chunked") == true
    }

    /// URLSession does not say the version of HTTP. From 2 on, responses come over TLS and have no
    /// `Connection`; a response of version 1 that ends with its connection has one (RFC 9112, section 9.6).
    private func declaresEnd(_ head: HTTPResponseHead) -> Bool {
      let isSecure = head.url.prefix(6).lowercased() == "https:"
      return head.fields.contentLength != nil || isChunked(head)
        || isSecure && head.fields["Connection"] == nil
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      let transfer = transfers.withLock { transfers in
        transfers[dataTask.taskIdentifier]?.receivedByteCount += data.count
        return transfers[dataTask.taskIdentifier]
      }
      guard let transfer else { return dataTask.cancel() }
      let demand = data.withUnsafeBytes { bytes in
        transfer.exchange.record { $0.received(bytes) }
      }
      switch demand {
      case .more: break
      case .pause: setSuspended(true, dataTask)
      case .stop: dataTask.cancel()
      }
      transfer.exchange.deliver()
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
      guard let transfer = transfers.withLock({ $0.removeValue(forKey: task.taskIdentifier) })
      else { return }
      transfer.exchange.record { $0.ended(failure(of: transfer, error)) }
      transfer.exchange.deliver()
    }

    private func failure(of transfer: Transfer, _ error: (any Error)?) -> TransportError? {
      let url = transfer.request.url
      if transfer.isTruncated(by: error) {
        let message = "the response ended before it was complete; try again"
        return TransportError(.truncated, message, url: url, cause: error)
      }
      return error.map { TransportError($0, url: url) }
    }

    /// Returns redirects as responses, to be followed by ``HTTPRequest/followingRedirects(_:send:)``.
    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }

  extension TransportError {
    /// An error of URLSession, as a failure at `url`.
    fileprivate init(_ error: any Error, url: String) {
      let (code, message) = Self.meaning(of: (error as? URLError)?.code ?? .unknown)
      self.init(code, message, url: url, cause: error)
      let number = (error as? URLError)?.errorUserInfo["_kCFStreamErrorCodeKey"] as? Int
      isRefused = code == .cannotConnect && number == Int(ECONNREFUSED)
    }

    private static func meaning(of code: URLError.Code) -> (Code, String) {
      switch code {
      case .badURL, .unsupportedURL:
        (.invalidURL, "the address is malformed; check it")
      case .cannotFindHost, .dnsLookupFailed:
        (.unresolvedHost, "the host is not known; check its name and the network")
      case .cannotConnectToHost, .notConnectedToInternet:
        (.cannotConnect, "nothing accepts connections there; check host, port and the network")
      case .timedOut:
        (.timedOut, "nothing was sent or received in time; try again, or allow more time")
      case .badServerResponse, .cannotParseResponse, .cannotDecodeRawData,
        .cannotDecodeContentData:
        (.malformedResponse, "the response breaks the rules of HTTP; check that this is its port")
      case .secureConnectionFailed:
        (.connectionLost, "no encrypted connection was made; try again, or check the port")
      case .serverCertificateUntrusted, .serverCertificateHasBadDate,
        .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid:
        (
          .tlsFailure,
          "the server's certificate is not trusted; if it should be, add its authority"
            + " to the keychain"
        )
      case .appTransportSecurityRequiresSecureConnection:
        (.tlsFailure, "this application may use https only; see App Transport Security")
      default:
        (.connectionLost, "the connection broke before the response was complete; try again")
      }
    }
  }
#endif
