#if canImport(CCurl) && !canImport(Darwin)
  import CCurl

  extension CurlTransfer {
    /// Sets the easy handle's options. Failures are ignored: libcurl 7.85, which is required, knows all of
    /// these options.
    func configure(
      errorText: UnsafeMutablePointer<CChar>, socketError: UnsafeMutablePointer<CInt>
    ) {
      ccurl_set_pointer(easy, CURLOPT_PRIVATE, Unmanaged.passUnretained(self).toOpaque())
      ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
      ccurl_set_socket_error(easy, socketError)
      ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
      setTarget()
      ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(timeouts.connect))
      setMethodAndBody()
      setFields()
      setCallbacks()
    }

    private func setTarget() {
      ccurl_set_string(easy, CURLOPT_URL, request.url)
      ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
      ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
      ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
      if let file = options.certificateAuthorityFile {
        ccurl_set_string(easy, CURLOPT_CAINFO, file)
        ccurl_set_string(easy, CURLOPT_CAPATH, nil)
      }
      if let file = options.clientCertificateFile { ccurl_set_string(easy, CURLOPT_SSLCERT, file) }
      if let file = options.clientKeyFile { ccurl_set_string(easy, CURLOPT_SSLKEY, file) }
      if let file = options.netrcFile {
        ccurl_set_long(easy, CURLOPT_NETRC, Int(CURL_NETRC_OPTIONAL.rawValue))
        ccurl_set_string(easy, CURLOPT_NETRC_FILE, file)
      }
    }

    /// At least 1, because libcurl takes 0 for its default, and no more than libcurl takes.
    private func milliseconds(_ duration: Duration) -> Int {
      let seconds = min(max(0, duration.components.seconds), Int64(Int32.max) / 1000 - 1)
      let rest = max(0, duration.components.attoseconds) / 1_000_000_000_000_000
      return Int(max(1, seconds * 1000 + rest))
    }

    private func setMethodAndBody() {
      if let body = request.body {
        ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
        // Copied by libcurl. The last byte is not sent: it gives an empty body an address, without
        // which libcurl would take it for none.
        (body + [0]).withUnsafeBytes {
          _ = ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, $0.baseAddress)
        }
      }
      switch request.method {
      case .get where request.body == nil: ccurl_set_long(easy, CURLOPT_HTTPGET, 1)
      case .head: ccurl_set_long(easy, CURLOPT_NOBODY, 1)
      default: ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method.rawValue)
      }
    }

    private func setFields() {
      for field in request.fields {
        // libcurl takes "name:" for the wish to send no such field, and "name;" for an empty one.
        appendField(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
      }
      // Decoded by ``GzipDecoder``, which verifies its end.
      if request.fields["Accept-Encoding"] == nil, !request.isBrief {
        appendField("Accept-Encoding: gzip")
      }
      if request.fields["Accept"] == nil, request.isBrief { appendField("Accept:") }
      // Of its own accord libcurl would ask first whether to send a long body, and wait a second.
      if request.fields["Expect"] == nil { appendField("Expect:") }
      ccurl_set_list(easy, CURLOPT_HTTPHEADER, fieldList)
    }

    /// An entry that cannot be stored for lack of memory would change the request, so that ends here.
    private func appendField(_ line: String) {
      guard let list = curl_slist_append(fieldList, line) else {
        preconditionFailure("out of memory for a header field of \(line.utf8.count) bytes")
      }
      fieldList = list
    }

    private func setCallbacks() {
      let context = Unmanaged.passUnretained(self).toOpaque()
      ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context)
      ccurl_set_data_callback(easy, CURLOPT_HEADERFUNCTION) { data, size, count, context in
        forward(data, size * count, context) { $0.received(line: $1) }
      }
      ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context)
      ccurl_set_data_callback(easy, CURLOPT_WRITEFUNCTION) { data, size, count, context in
        forward(data, size * count, context) { $0.received(bytes: $1) }
      }
    }
  }

  /// Passes bytes from libcurl to the transfer in `context`; any result but `byteCount` ends it.
  private func forward(
    _ data: UnsafeMutablePointer<CChar>?, _ byteCount: Int, _ context: UnsafeMutableRawPointer?,
    to receive: (CurlTransfer, UnsafeRawBufferPointer) -> Bool
  ) -> Int {
    guard let context else { return 0 }
    let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    let bytes = UnsafeRawBufferPointer(start: data, count: byteCount)
    return bytes.isEmpty || receive(transfer, bytes) ? byteCount : 0
  }
#endif
