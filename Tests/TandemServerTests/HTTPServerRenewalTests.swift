import Foundation
import TandemHTTP
import TestFolder
import Testing

@testable import TandemServer

#if os(Linux)
  @Suite(.timeLimit(.minutes(20))) struct HTTPServerRenewalTests {
    @Test("A renewed certificate is used; one that cannot be used changes nothing")
    func renewal() async throws {
      let folder = try TemporaryFolder()
      let (first, second) = (try folder.identity("first"), try folder.identity("second"))
      let http = try TestHTTP(identity: first)
      let run = Task { await http.server.run() }
      #expect(try await isServed(http, trusting: folder.path(of: "first.pem")))
      try http.server.renew(second)
      #expect(try await isServed(http, trusting: folder.path(of: "second.pem")))
      #expect(try await !isServed(http, trusting: folder.path(of: "first.pem")))
      for broken in [
        HTTPServer.Identity(certificate: Array("x".utf8), key: Array("y".utf8)),
        HTTPServer.Identity(
          certificate: folder.bytes(of: "first.pem"), key: folder.bytes(of: "second.key")),
      ] {
        #expect { try http.server.renew(broken) } throws: {
          ($0 as? ServerError)?.code == .certificate
        }
      }
      #expect(try await isServed(http, trusting: folder.path(of: "second.pem")))
      try http.server.renew(first)
      #expect(try await isServed(http, trusting: folder.path(of: "first.pem")))
      run.cancel()
      await run.value
    }

    @Test("There is a warning if a certificate has expired, or is not valid yet")
    func dates() throws {
      let folder = try TemporaryFolder()
      let short = try folder.identity("short")
      let long = try folder.identity("long", days: "20")
      let now = Int(Date().timeIntervalSince1970)
      #expect(short.warning == nil)
      let later = now + 5 * 86_400
      #expect(
        short.warning(at: later)?.hasPrefix("the certificate has expired at 20") == true)
      #expect(long.warning(at: later) == nil)
      let chain = HTTPServer.Identity(
        certificate: folder.bytes(of: "long.pem") + folder.bytes(of: "short.pem"), key: [])
      #expect(
        chain.warning(at: later)?.hasPrefix("certificate 2 of the chain has expired") == true)
      #expect(
        short.warning(at: 0)?.hasPrefix("the certificate is not valid before 20") == true)
      #expect(HTTPServer.Identity(certificate: Array("x".utf8), key: []).warning == nil)
    }

    @Test("After a renewal, event streams end, for clients to connect again; requests do not")
    func connections() async throws {
      let folder = try TemporaryFolder()
      let (first, second) = (try folder.identity("first"), try folder.identity("second"))
      let http = try TestHTTP(identity: first)
      let run = Task { await http.server.run() }
      let client = try client(trusting: folder.path(of: "first.pem"))
      async let streamed = client.response(
        to: HTTPRequest("POST", url: "\(http.server.url)/stream"), maxBodyByteCount: 1_000)
      let stream = await http.responder.stream()
      stream.send(Array("before".utf8))
      async let waiting = client.response(
        to: HTTPRequest("POST", url: "\(http.server.url)/wait"), maxBodyByteCount: 1_000)
      await http.responder.waits(for: 1)
      try http.server.renew(second)
      #expect(try await streamed.body == Array("before".utf8))
      http.responder.release()
      let answer = try await waiting
      #expect(answer.head.status == 200)
      #expect(answer.head.fields["connection"]?.lowercased() == "close")
      run.cancel()
      await run.value
    }

    private func client(trusting file: String) throws -> SystemHTTPClient {
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = file
      return try SystemHTTPClient(options: options)
    }

    private func isServed(_ http: TestHTTP, trusting file: String) async throws -> Bool {
      let request = HTTPRequest("POST", url: "\(http.server.url)/echo", body: Array("abc".utf8))
      do {
        let response = try await client(trusting: file).response(
          to: request, maxBodyByteCount: 1_000)
        return response.body == Array("abc".utf8)
      } catch let error as TransportError where error.code == .tlsFailure {
        return false
      }
    }
  }
#endif

extension TemporaryFolder {
  /// Makes a certificate for this machine, in files `NAME.pem` and `NAME.key`.
  func identity(_ name: String, days: String = "2") throws -> HTTPServer.Identity {
    let maker = try TestProgram(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days \(days) -subj /CN=\(name) -addext subjectAltName=IP:127.0.0.1 -keyout \(name).key -out \(name).pem"
        .components(separatedBy: " "), error: .null, folder: path)
    maker.waitUntilEnd()
    return HTTPServer.Identity(
      certificate: bytes(of: "\(name).pem"), key: bytes(of: "\(name).key"))
  }
}
