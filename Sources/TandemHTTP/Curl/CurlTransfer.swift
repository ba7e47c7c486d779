#if canImport(CCurl) && !canImport(Darwin)
  import CCurl

  /// One transfer on its easy handle, used by the thread that runs the transfers only.
  final class CurlTransfer {
    let id: CurlOrder.ID
    let easy: UnsafeMutableRawPointer
    let exchange: ResponseExchange
    /// True if the reader has not been woken for the latest events.
    var hasNews = false
    private(set) var isPaused = false
    /// All timeouts but that for the connection. libcurl's own total does not end a transfer that waits for a
    /// connection, and its own lowest rate counts the time in which the reader is behind.
    private var watch: TimeoutWatch

    let request: HTTPRequest
    let timeouts: HTTPTimeouts
    let options: HTTPClientOptions
    /// The length of all header lines so far, those of interim responses and trailers included.
    private var headerByteCount = 0
    private var headerLineCount = 0
    /// True once the head of the final response has arrived.
    private var hasHead = false
    private let news: CurlNews
    private let errorText: UnsafeMutablePointer<CChar>
    /// The `errno` of the last socket that could not be made; 0 if there is none.
    private let socketError: UnsafeMutablePointer<CInt>
    /// The request's fields in libcurl's form.
    var fieldList: UnsafeMutablePointer<curl_slist>?
    /// The reason why this transfer was stopped by Tandem and not by libcurl.
    private var ownFailure: TransportError?
    private var decoding = Decoding.none

    /// The decoding of the body. libcurl would decode more encodings, but accept a gzip that was cut off.
    private enum Decoding {
      case none
      case gzip(GzipDecoder)
      /// An encoding, by its name, that was not asked for.
      case unknown(String)
    }

    /// Takes over `easy`, which is in its initial state, and makes it ready for a multi handle.
    init(
      _ order: CurlOrder, easy: UnsafeMutableRawPointer, options: HTTPClientOptions,
      news: CurlNews, now: ContinuousClock.Instant
    ) {
      id = order.id
      self.easy = easy
      exchange = order.exchange
      request = order.request
      timeouts = order.request.timeouts ?? options.timeouts
      self.options = options
      self.news = news
      watch = TimeoutWatch(timeouts, now: now)
      errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
      errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
      socketError = .allocate(capacity: 1)
      socketError.initialize(to: 0)
      configure(errorText: errorText, socketError: socketError)
    }

    deinit {
      curl_slist_free_all(fieldList)
      errorText.deallocate()
      socketError.deallocate()
    }

    // MARK: Events

    /// The maximum number of lines in front of a body: finding a field takes libcurl time in
    /// proportion to their number.
    private static let maxHeaderLineCount = 2_000

    /// Takes a header line of any response of this transfer, or of a trailer; returns false to end it.
    func received(line: UnsafeRawBufferPointer) -> Bool {
      headerByteCount += line.count
      headerLineCount += 1
      guard headerByteCount <= options.maxFieldByteCount, headerLineCount <= Self.maxHeaderLineCount
      else {
        ownFailure = headTooLarge
        return false
      }
      let isBlank = line.first == UInt8(ascii: "\r") || line.first == UInt8(ascii: "\n")
      guard isBlank, !hasHead else { return true }
      let status = long(CURLINFO_RESPONSE_CODE)
      if 100..<200 ~= status { return true }
      hasHead = true
      var head = head(status: status)
      if let defect = defect(of: head) {
        ownFailure = TransportError(.malformedResponse, defect, url: request.url)
        return false
      }
      decoding = decoding(of: head)
      if case .gzip = decoding { head.verifiesEncoding = !head.isTransferEncoded }
      exchange.record { [head] in $0.received(head: head) }
      announce()
      return true
    }

    /// Takes bytes of the body; returns whether to go on.
    func received(bytes: UnsafeRawBufferPointer) -> Bool {
      switch decoding {
      case .none: return received(decoded: bytes)
      case .gzip(let decoder):
        do throws(GzipError) {
          return try decoder.decode(bytes) { received(decoded: $0) }
        } catch {
          ownFailure = TransportError(
            error.isMalformed ? .malformedResponse : .unavailable, error.message, url: request.url)
          return false
        }
      case .unknown(let name):
        ownFailure = TransportError(
          .malformedResponse,
          "the server sent the encoding \"\(name)\", which cannot be decoded; have it sent as gzip, or as"
            + " it is", url: request.url)
        return false
      }
    }

    private func received(decoded bytes: UnsafeRawBufferPointer) -> Bool {
      let demand = exchange.record { $0.received(bytes) }
      announce()
      if demand == .pause && !isPaused {
        isPaused = true
        curl_easy_pause(easy, CURLPAUSE_RECV)
      }
      return demand != .stop
    }

    /// Goes on after a pause. More bytes may arrive before this returns.
    func resume() {
      guard isPaused else { return }
      isPaused = false
      curl_easy_pause(easy, CURLPAUSE_RECV_CONT)
    }

    /// The transfer is over.
    func ended(_ code: CURLcode) {
      let error = ownFailure ?? (code == CURLE_OK ? cut : failure(code))
      exchange.record { $0.ended(error) }
      announce()
    }

    /// The next moment at which to call ``hasTimedOut(at:)``.
    var nextLook: ContinuousClock.Instant { watch.nextLook }

    /// Returns true if a timeout has run out; the caller then ends the transfer.
    func hasTimedOut(at now: ContinuousClock.Instant) -> Bool {
      guard let message = watch.expiry(of: progress, now: now) else { return false }
      ownFailure = TransportError(.timedOut, message, url: request.url)
      return true
    }

    private func announce() {
      if !hasNews { news.transfers.append(self) }
      hasNews = true
    }

    // MARK: What libcurl knows

    private var progress: TimeoutWatch.Progress {
      let count =
        offset(CURLINFO_SIZE_UPLOAD_T) &+ offset(CURLINFO_SIZE_DOWNLOAD_T)
        &+ Int64(headerByteCount)
      return TimeoutWatch.Progress(
        byteCount: count, isConnected: hasConnected, hasHead: hasHead, isPaused: isPaused)
    }

    private var hasConnected: Bool { offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }

    private func head(status: Int) -> HTTPResponseHead {
      var fields = HTTPFields()
      var last: UnsafeMutablePointer<curl_header>?
      while let field = curl_easy_nextheader(easy, UInt32(CURLH_HEADER), Self.lastResponse, last) {
        fields.append(String(cString: field.pointee.name), value(of: field))
        last = field
      }
      var head = HTTPResponseHead(status: status, fields: fields, url: request.url)
      head.declaresEnd =
        long(CURLINFO_HTTP_VERSION) >= Int(CURL_HTTP_VERSION_2_0) || fields.contentLength != nil
        || fields["Transfer-Encoding"]?.lowercased().hasSuffix("chunked") == true
      return head
    }

    /// The reason why the head must not be trusted; `nil` if there is none.
    private func defect(of head: HTTPResponseHead) -> String? {
      if head.fields.hasConflictingLengths {
        return "the server sent two different lengths (Content-Length); ask its owner why"
      }
      // libcurl takes the version that a status line names, on any connection.
      guard long(CURLINFO_HTTP_VERSION) >= Int(CURL_HTTP_VERSION_2_0) else { return nil }
      let isSecure = request.url.prefix(6).lowercased() == "https:"
      return isSecure && ccurl_agreed_on_http1(easy) == 0
        ? nil
        : "the server answered in HTTP/2 on a connection for HTTP/1; check that this is its port"
    }

    private func decoding(of head: HTTPResponseHead) -> Decoding {
      let names = head.contentEncodings
      if names.isEmpty { return .none }
      guard names == ["gzip"] || names == ["x-gzip"] else {
        return .unknown(names.joined(separator: ", "))
      }
      return GzipDecoder().map { .gzip($0) } ?? .unknown(names[0])
    }

    /// The error if the encoded body was cut off before it was sent.
    private var cut: TransportError? {
      guard case .gzip(let decoder) = decoding, !decoder.isComplete else { return nil }
      if decoder.isEmpty, !expectsBody { return nil }
      return TransportError(
        .truncated, "the compressed content ended before it was complete; try again",
        url: request.url)
    }

    /// True if there must be a body, so that an empty one is no gzip.
    private var expectsBody: Bool {
      request.method != .head && ![204, 304].contains(long(CURLINFO_RESPONSE_CODE))
        && offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) != 0
    }

    /// The number by which libcurl means the last response of several.
    private static let lastResponse: CInt = -1

    /// libcurl 7.88 returns a carriage return as the value of a field that has none.
    private func value(of field: UnsafeMutablePointer<curl_header>) -> String {
      let value = String(cString: field.pointee.value)
      return value == "\r" ? "" : value
    }

    private func long(_ info: CURLINFO) -> Int {
      var value = 0
      ccurl_get_long(easy, info, &value)
      return value
    }

    private func offset(_ info: CURLINFO) -> Int64 {
      var value: curl_off_t = 0
      ccurl_get_offset(easy, info, &value)
      return Int64(value)
    }

    // MARK: Failures

    private var headTooLarge: TransportError {
      let message =
        "the response's header is too long: over \(options.maxFieldByteCount) bytes, or"
        + " one line over libcurl's limit; ask the server's owner why"
      return TransportError(.tooLarge, message, url: request.url)
    }

    private func failure(_ code: CURLcode) -> TransportError {
      // How libcurl says that one line is too long for it.
      if code == CURLE_OUT_OF_MEMORY, hasConnected, !hasHead { return headTooLarge }
      let cause = CurlError(code, detail: String(cString: errorText))
      let (kind, text) = TransportError.meaning(of: code, socketError: socketError.pointee)
      let failure = proxyFailure(code, kind)
      var error = TransportError(
        failure?.0 ?? kind, failure?.1 ?? message(of: code, text), url: request.url, cause: cause)
      error.isRefused =
        failure == nil && code == CURLE_COULDNT_CONNECT
        && long(CURLINFO_OS_ERRNO) == CurlError.refusedConnection
      return error
    }

    /// The message for `code`, with the limits and files that it is about.
    private func message(of code: CURLcode, _ text: String) -> String {
      var message = text
      if code == CURLE_OPERATION_TIMEDOUT {
        message = "no connection within \(timeouts.connect); " + message
      }
      if code == CURLE_SSL_CACERT_BADFILE, let file = options.certificateAuthorityFile {
        message += ": \(file)"
      }
      if code == CURLE_SSL_CERTPROBLEM, let file = options.clientCertificateFile {
        message =
          "the client's certificate or its key cannot be used; check their paths and form: \(file)"
      }
      return message
    }

    /// The failure if it is that of a proxy and not of the server.
    private func proxyFailure(
      _ code: CURLcode, _ kind: TransportError.Code
    ) -> (TransportError.Code, String)? {
      let text = String(cString: errorText)
      let advice = "check it, and the variables http_proxy, https_proxy, all_proxy and no_proxy"
      if code == CURLE_COULDNT_CONNECT, kind == .cannotConnect, let peer = CurlError.peer(in: text),
        let url = HTTPURL(request.url), !url.isReached(at: peer.host, port: peer.port)
      {
        return (kind, "the proxy \(peer.host):\(peer.port) accepts no connections; \(advice)")
      }
      let refusal = "CONNECT tunnel failed, response "
      guard text.hasPrefix(refusal) else { return nil }
      let status = text.dropFirst(refusal.count)
      return (.cannotConnect, "the proxy answered \(status) instead of connecting; \(advice)")
    }
  }

  /// The transfers whose readers are to be woken.
  final class CurlNews {
    var transfers: [CurlTransfer] = []
  }
#endif
