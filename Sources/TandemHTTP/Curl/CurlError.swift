#if canImport(CCurl) && !canImport(Darwin)
  import CCurl
  import Glibc

  /// An error of libcurl, the cause of a ``TransportError``.
  package struct CurlError: Error, Hashable, CustomStringConvertible {
    /// The `CURLcode`.
    package var code: UInt32
    /// libcurl's message about this occurrence, or else about the code.
    package var description: String

    init(_ code: CURLcode, detail: String = "") {
      self.code = code.rawValue
      description = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    }

    /// The `errno` of a connection that the machine of the server refuses, as if nobody listens there.
    static let refusedConnection = Int(ECONNREFUSED)

    /// The host and the port that could not be connected to, by libcurl's message, "Failed to connect to a
    /// port 80 after 1 ms: …"; with a proxy, those of the proxy. `nil` for another message.
    static func peer(in message: String) -> (host: String, port: String)? {
      let words = message.split(separator: " ")
      guard words.count > 6, words[..<4] == ["Failed", "to", "connect", "to"],
        words[5] == "port"
      else { return nil }
      return (String(words[4]), String(words[6]))
    }
  }

  extension TransportError {
    /// The kind of failure, and a message with the remedy.
    ///
    /// - Parameter socketError: The `errno` of a socket that could not be made, or 0.
    static func meaning(
      of code: CURLcode, socketError: CInt = 0
    ) -> (code: Code, message: String) {
      switch code {
      case CURLE_COULDNT_CONNECT where [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(socketError):
        (
          .tooManyOpenFiles,
          "no connection can be made from here: \(String(cString: strerror(socketError)).lowercased()); "
            + "do less at a time, or allow more open files (ulimit -n)"
        )
      case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT:
        (.invalidURL, "the address is malformed; check it")
      case CURLE_COULDNT_RESOLVE_HOST:
        (.unresolvedHost, "the host is not known; check its name and the network")
      case CURLE_COULDNT_RESOLVE_PROXY:
        (.unresolvedHost, "the proxy is not known; check the variables http_proxy and https_proxy")
      case CURLE_COULDNT_CONNECT:
        (.cannotConnect, "nothing accepts connections there; check host, port and the server")
      case CURLE_OPERATION_TIMEDOUT:
        (.timedOut, "check host, port and network, or allow more time")
      case CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM:
        (.truncated, "the response ended before it was complete; try again")
      case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR:
        (
          .connectionLost,
          "the server closed the connection before the response; try again, or write https:// if it "
            + "uses TLS"
        )
      case CURLE_SSL_CONNECT_ERROR:
        (.connectionLost, "no encrypted connection was made; try again, or check the port")
      case CURLE_HTTP2:
        (.connectionLost, "the server broke the rules of HTTP/2; try again")
      case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL,
        CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR:
        (.malformedResponse, "the response breaks the rules of HTTP; check that this is its port")
      case CURLE_SSL_CACERT_BADFILE:
        (.tlsFailure, "the file of trusted certificates cannot be read; check its path and form")
      case CURLE_PEER_FAILED_VERIFICATION:
        (
          .tlsFailure,
          "the server's certificate is not trusted; if it should be, name a file of "
            + "trusted certificates (`certificateAuthorityFile`)"
        )
      case CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
        CURLE_SSL_INVALIDCERTSTATUS:
        (.tlsFailure, "no encrypted connection can be made; check that the port speaks https")
      case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_NOT_BUILT_IN, CURLE_UNKNOWN_OPTION:
        (.unavailable, "libcurl lacks memory or a feature")
      default:
        (.connectionLost, "the transfer failed; try again")
      }
    }
  }
#endif
