import Foundation
import TandemHTTP
import TandemServer
import TestFolder
import TestRandom
import Testing

@Suite struct HTTPServerTests {
  @Test("Requests follow each other on one connection, and each gets its own body back")
  func keepAlive() async throws {
    try await TestHTTP.with { http in
      let connection = try http.connect()
      for number in 1...3 {
        await connection.send(TestHTTP.post("/echo", "body \(number)"))
        let answer = try #require(await connection.answer())
        #expect(answer.status == 200)
        #expect(answer.body == Array("body \(number)".utf8))
      }
      await connection.send(
        "HEAD /echo HTTP/1.1\r\nHost: a\r\n\r\nGET /large HTTP/1.1\r\nHost: a\r\n\r\n")
      let head = await connection.text(until: "\r\n\r\n")
      #expect(head.hasPrefix("HTTP/1.1 200"))
    }
  }

  @Test("A large answer is compressed for a client that accepts gzip, and for no other")
  func compression() async throws {
    try await TestHTTP.with { http in
      for (field, isCompressed) in [
        ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("identity", false),
      ] {
        let connection = try http.connect()
        await connection.send(
          "GET /large HTTP/1.1\r\nHost: a\r\nAccept-Encoding: \(field)\r\n\r\n")
        let answer = try #require(await connection.answer())
        #expect(answer.head.contains("Content-Encoding: gzip") == isCompressed)
        #expect(answer.head.contains("Vary: Accept-Encoding"))
        if isCompressed {
          #expect(answer.body.count < TestHTTP.large.count / 10)
          let decoder = try #require(GzipDecoder())
          var decoded: [UInt8] = []
          _ = try answer.body.withUnsafeBytes { bytes throws(GzipError) in
            try decoder.decode(bytes) {
              decoded += $0
              return true
            }
          }
          #expect(decoded == TestHTTP.large)
        } else {
          #expect(answer.body == TestHTTP.large)
        }
      }
    }
  }

  @Test(
    "Bytes that are no request, of any seed, neither stop the server nor get an error of its own")
  func noise() async throws {
    var limits = HTTPServerLimits.patient
    // A request that never becomes complete.
    limits.maxIdleTime = .seconds(1)
    limits.maxBodyTime = .seconds(1)
    try await TestHTTP.with(limits) { http in
      let valid = Array(TestHTTP.post("/echo?a=b%20c", "{\"a\":1}").utf8)
      for seed in 0..<150 {
        var generator = SplitMix64(seed: seed)
        var bytes = valid
        for _ in 0..<Int.random(in: 1...6, using: &generator) {
          let place = Int.random(in: 0..<bytes.count, using: &generator)
          switch Int.random(in: 0..<4, using: &generator) {
          case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
          case 1: bytes.remove(at: place)
          case 2: bytes.insert(contentsOf: bytes[place...], at: place)
          default: bytes.removeSubrange(place...)
          }
          if bytes.isEmpty { bytes = [0] }
        }
        let connection = try http.connect()
        await connection.send(bytes)
        connection.finish()
        let answer = String(decoding: await connection.receive(), as: UTF8.self)
        #expect(!isServerError(answer), "seed \(seed): \(answer.prefix(200))")
      }
      for line in [
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        "GET /\(String(repeating: "a", count: 100_000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "A: b\r\n", count: 20_000))\r\n",
        "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      ] {
        let connection = try http.connect()
        await connection.send(line)
        connection.finish()
        let answer = String(decoding: await connection.receive(), as: UTF8.self)
        #expect(!isServerError(answer), "\(line.prefix(60)): \(answer.prefix(100))")
      }
      try await http.expectService()
    }
  }

  /// True for the answer of a server in trouble; 505 is about the version of HTTP.
  private func isServerError(_ answer: String) -> Bool {
    answer.hasPrefix("HTTP/1.1 5") && !answer.hasPrefix("HTTP/1.1 505")
  }

  @Test(
    "An address that others can reach is refused where it must be; a port that is taken, always")
  func addresses() throws {
    for host in ["0.0.0.0", "::"] {
      #expect(throws: ServerError.self) {
        try ListeningSocket(host: host, port: 0, allowsOthers: false)
      }
    }
    let socket = try ListeningSocket(host: "localhost", port: 0, allowsOthers: false)
    #expect(socket.isLoopback)
    let server = try HTTPServer(socket, responder: TestResponder())
    #expect(throws: ServerError.self) {
      try ListeningSocket(host: "localhost", port: socket.port, allowsOthers: false)
    }
    withExtendedLifetime(server) {}
  }

  #if os(Linux)
    @Test("A server with a certificate of its own serves TLS; a wrong one is an error")
    func tls() async throws {
      let folder = try TemporaryFolder()
      let identity = try folder.identity("a")
      let http = try TestHTTP(identity: identity)
      let run = Task { await http.server.run() }
      #expect(http.server.url.hasPrefix("https://127.0.0.1:"))
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = folder.path(of: "a.pem")
      let client = try SystemHTTPClient(options: options)
      let request = HTTPRequest("POST", url: http.server.url + "/echo", body: Array("abc".utf8))
      let response = try await client.response(to: request, maxBodyByteCount: 1_000)
      #expect(response.body == Array("abc".utf8))
      for (version, isServed) in [("1", false), ("1_1", false), ("1_2", true), ("1_3", true)] {
        #expect(try connects(http.port, tls: version) == isServed, "TLS \(version)")
      }
      // Bytes that are not TLS get no answer.
      let plain = try http.connect()
      await plain.send(TestHTTP.post("/echo", "a"))
      #expect(!String(decoding: await plain.receive(), as: UTF8.self).contains("200"))
      run.cancel()
      await run.value
      let broken = HTTPServer.Identity(
        certificate: Array("x".utf8), key: folder.bytes(of: "a.key"))
      #expect(throws: ServerError.self) { _ = try TestHTTP(identity: broken) }
    }

    /// True if a client that knows only one version of TLS can connect.
    private func connects(_ port: UInt16, tls version: String) throws -> Bool {
      // Without the security level, this client would refuse the old versions by itself.
      let client = try TestProgram(
        "openssl s_client -connect 127.0.0.1:\(port) -tls\(version) -cipher ALL:@SECLEVEL=0"
          .components(separatedBy: " "), error: .null)
      return client.waitUntilEnd() == 0
    }
  #endif
}
