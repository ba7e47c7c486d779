#if canImport(Darwin)
  import Foundation
  import Synchronization

  /// Passes what a URLSession receives on to the exchanges of its tasks.
  ///
  /// URLSession calls it on a serial queue.
  final class URLSessionReceiver: NSObject, URLSessionDataDelegate {
    private struct Transfer: Sendable {
      var request: HTTPRequest
      var exchange: ResponseExchange
      var redirectCount = 0
      var declaredByteCount: Int?
      var receivedByteCount = 0

      /// Whether the body ended before its declared end.
      var isTruncated: Bool { declaredByteCount.map { receivedByteCount < $0 } ?? false }
    }

    private let maxRedirectCount: Int
    private let transfers = Mutex<[Int: Transfer]>([:])

    init(maxRedirectCount: Int) { self.maxRedirectCount = maxRedirectCount }

    /// Awaits events of `task`, until the one that ends it.
    func add(_ task: URLSessionTask, _ request: HTTPRequest, _ exchange: ResponseExchange) {
      let transfer = Transfer(request: request, exchange: exchange)
      transfers.withLock { $0[task.taskIdentifier] = transfer }
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
      for (name, value) in response.allHeaderFields { fields.append("\(name)", "\(value)") }
      let url = transfer.redirectCount > 0 ? response.url?.absoluteString : nil
      var head = HTTPResponseHead(
        status: response.statusCode, fields: fields, url: url ?? transfer.request.url)
      head.declaresEnd = declaresEnd(head)
      if transfer.request.method != .head && head.status != 304 {
        transfers.withLock {
          $0[dataTask.taskIdentifier]?.declaredByteCount = head.bodyByteCount
        }
      }
      transfer.exchange.record { $0.received(head: head) }
      transfer.exchange.deliver()
      completionHandler(.allow)
    }

    /// URLSession does not tell the version of HTTP. From 2 on, responses come over TLS and have no
    /// `Connection`; one of version 1 that ends with its connection has (RFC 9112, section 9.6).
    private func declaresEnd(_ head: HTTPResponseHead) -> Bool {
      let isSecure = head.url.prefix(6).lowercased() == "https:"
      return head.fields.contentLength != nil || head.fields["Transfer-Encoding"] != nil
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
      case .pause: dataTask.suspend()
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
      let code = (error as? URLError)?.code
      if transfer.isTruncated, error == nil || code == .networkConnectionLost {
        let message = "the response ended before it was complete; try again"
        return TransportError(.truncated, message, url: url, cause: error)
      }
      return error.map { TransportError($0, url: url) }
    }

    // MARK: Redirects

    func urlSession(
      _ session: URLSession, task: URLSessionTask,
      willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
      completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      let transfer = transfers.withLock { transfers in
        transfers[task.taskIdentifier]?.redirectCount += 1
        return transfers[task.taskIdentifier]
      }
      guard let transfer, transfer.request.method.followsRedirects else {
        return completionHandler(nil)
      }
      if let refusal = refusal(of: request.url, transfer) {
        transfer.exchange.record { $0.ended(refusal) }
        transfer.exchange.deliver()
        completionHandler(nil)
        return task.cancel()
      }
      completionHandler(withoutSecrets(request, unlessFor: task.originalRequest?.url))
    }

    private func refusal(of target: URL?, _ transfer: Transfer) -> TransportError? {
      let url = transfer.request.url
      if transfer.redirectCount > maxRedirectCount {
        let message = "too many redirects, perhaps in a circle; ask for the final address"
        return TransportError(.tooManyRedirects, message, url: url)
      }
      let isSecure = url.prefix(6).lowercased() == "https:"
      let scheme = target?.scheme?.lowercased()
      if scheme == "https" || (scheme == "http" && !isSecure) { return nil }
      let message =
        "this leads elsewhere, and is not followed there; ask for that address yourself"
        + " if you trust it (redirected to \(target?.absoluteString ?? "an invalid address"))"
      return TransportError(.refusedRedirect, message, url: url)
    }

    private func withoutSecrets(_ request: URLRequest, unlessFor origin: URL?) -> URLRequest {
      let isSameOrigin =
        request.url?.scheme == origin?.scheme
        && request.url?.host == origin?.host && request.url?.port == origin?.port
      if isSameOrigin { return request }
      var request = request
      for name in (request.allHTTPHeaderFields ?? [:]).keys where !HTTPRequest.isPublic(name) {
        request.setValue(nil, forHTTPHeaderField: name)
      }
      return request
    }
  }

  extension TransportError {
    /// What URLSession reported, as a failure at `url`.
    fileprivate init(_ error: any Error, url: String) {
      let (code, message) = Self.meaning(of: (error as? URLError)?.code ?? .unknown)
      self.init(code, message, url: url, cause: error)
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
      case .httpTooManyRedirects:
        (.tooManyRedirects, "too many redirects, perhaps in a circle; ask for the final address")
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
