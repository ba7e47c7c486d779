#if canImport(CCurl) && !canImport(Darwin)
  import CCurl
  import Glibc
  import Testing

  @testable import TandemHTTP

  @Suite("Errors of libcurl")
  struct CurlErrorTests {
    @Test(
      "what breaks on the way may be tried again, and what is wrong with an end may not",
      arguments: [
        (CURLE_SSL_CONNECT_ERROR, true), (CURLE_HTTP2, true), (CURLE_HTTP2_STREAM, true),
        (CURLE_RECV_ERROR, true), (CURLE_GOT_NOTHING, true), (CURLE_PARTIAL_FILE, true),
        (CURLE_COULDNT_CONNECT, true), (CURLE_OPERATION_TIMEDOUT, true),
        (CURLE_PEER_FAILED_VERIFICATION, false), (CURLE_SSL_CACERT_BADFILE, false),
        (CURLE_SSL_CERTPROBLEM, false), (CURLE_SSL_CIPHER, false), (CURLE_SSL_ISSUER_ERROR, false),
        (CURLE_WEIRD_SERVER_REPLY, false), (CURLE_URL_MALFORMAT, false),
        (CURLE_OUT_OF_MEMORY, false),
      ])
    func transience(code: CURLcode, isTransient: Bool) {
      let meaning = TransportError.meaning(of: code)
      let error = TransportError(meaning.code, meaning.message, url: "https://a")
      #expect(error.isTransient == isTransient)
    }

    @Test(
      "a socket that the system refuses is not the server's fault",
      arguments: [
        (EMFILE, TransportError.Code.tooManyOpenFiles, true), (ENFILE, .tooManyOpenFiles, true),
        (ENOBUFS, .tooManyOpenFiles, true), (EAFNOSUPPORT, .cannotConnect, false),
        (0, .cannotConnect, false),
      ])
    func localFailure(number: CInt, expected: TransportError.Code, isLocal: Bool) {
      let (code, message) = TransportError.meaning(of: CURLE_COULDNT_CONNECT, socketError: number)
      #expect(code == expected)
      #expect(message.contains("ulimit -n") == isLocal)
      #expect(TransportError(code, message, url: "http://a").isTransient)
      #expect(
        TransportError.meaning(of: CURLE_RECV_ERROR, socketError: number).code == .connectionLost)
    }

    @Test("the host that could not be connected to is the one that libcurl names")
    func peer() {
      let message = "Failed to connect to proxy.example port 8080 after 3 ms: Couldn't connect"
      let peer = CurlError.peer(in: message)
      #expect(peer?.host == "proxy.example" && peer?.port == "8080")
      for other in ["", "Failed to connect to a", "Could not resolve host: a"] {
        #expect(CurlError.peer(in: other) == nil)
      }
      let url = HTTPURL("http://[::1]/")
      #expect(url?.isReached(at: "::1", port: "80") == true)
      #expect(url?.isReached(at: "::1", port: "81") == false)
      #expect(HTTPURL("https://A/")?.isReached(at: "a", port: "443") == true)
    }
  }
#endif
