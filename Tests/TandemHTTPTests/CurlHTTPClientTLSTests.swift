#if os(Linux)
  import Foundation
  import Synchronization
  import TandemHTTP
  import TestFolder
  import Testing

  /// `openssl s_server`, serving files that hold whole responses.
  private final class TLSServer {
    private static let program = URL(fileURLWithPath: "/usr/bin/openssl")
    static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: program.path) }

    let folder: TemporaryFolder
    private var server: TestProgram?
    private(set) var url = ""
    var certificate: String { folder.path(of: "cert.pem") }

    init(files: [String: String]) throws {
      folder = try TemporaryFolder()
      for (name, content) in files { try folder.write(content, to: name) }
      try makeCertificate()
      try start()
    }

    private func makeCertificate() throws {
      let maker = try openssl(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=a"
          + " -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem")
      maker.waitUntilEnd()
    }

    private func openssl(
      _ arguments: String, output: TestProgram.Stream = .null
    ) throws -> TestProgram {
      try TestProgram(
        [Self.program.path] + arguments.components(separatedBy: " "), output: output, error: .null,
        folder: folder.path)
    }

    /// Starts the server, which chooses a port and prints "ACCEPT 127.0.0.1:port".
    private func start() throws {
      let output = Pipe()
      server = try openssl(
        "s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -HTTP", output: .pipe(output))
      var text = ""
      while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { throw CocoaError(.fileReadUnknown) }
        text += String(decoding: data, as: UTF8.self)
      }
      let port = text.split(separator: ":").last.map { $0.trimmingCharacters(in: .newlines) }
      url = "https://127.0.0.1:\(port ?? "")"
    }
  }

  @Suite(
    "HTTP client on libcurl: TLS", .timeLimit(.minutes(20)), .enabled(if: TLSServer.isAvailable))
  struct CurlHTTPClientTLSTests {
    private let server: TLSServer
    init() throws {
      server = try TLSServer(files: [
        "hello": "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "two": "HTTP/2 200 \r\n\r\ncut",
        "down": "HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:1/x\r\nContent-Length: 0\r\n\r\n",
      ])
    }

    private func response(
      _ path: String, trusting file: String?
    ) async throws -> HTTPResponse {
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = file
      let client = try CurlHTTPClient(options: options)
      return try await client.response(
        to: HTTPRequest(url: server.url + path), maxBodyByteCount: 100)
    }

    @Test("a certificate that the named file vouches for is trusted")
    func trusted() async throws {
      let response = try await response("/hello", trusting: server.certificate)
      #expect(response.body == Array("hello".utf8))
    }

    @Test("a certificate that the system does not know is refused")
    func untrusted() async throws {
      let error = try await #require(throws: TransportError.self) {
        try await response("/hello", trusting: nil)
      }
      #expect(error.code == .tlsFailure)
      #expect((error.cause as? CurlError)?.description.isEmpty == false)
    }

    @Test("a file of certificates that is not there is named")
    func missingFile() async throws {
      let error = try await #require(throws: TransportError.self) {
        try await response("/hello", trusting: "/no/such/file.pem")
      }
      #expect(error.code == .tlsFailure)
      #expect(error.message.contains("/no/such/file.pem"))
    }

    @Test("HTTP/2 on a connection that TLS did not negotiate it for is malformed")
    func untrueVersion() async throws {
      let error = try await #require(throws: TransportError.self) {
        try await response("/two", trusting: server.certificate)
      }
      #expect(error.code == .malformedResponse)
      #expect(error.message.contains("HTTP/2"))
    }

    @Test("a client certificate that cannot be used is named")
    func clientCertificate() async throws {
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = server.certificate
      options.clientCertificateFile = server.folder.path(of: "hello")
      let client = try CurlHTTPClient(options: options)
      let error = try await #require(throws: TransportError.self) {
        try await client.response(to: HTTPRequest(url: server.url + "/hello"), maxBodyByteCount: 9)
      }
      #expect(error.code == .tlsFailure)
      #expect(error.message.contains(server.folder.path(of: "hello")))
      options.clientCertificateFile = server.certificate
      options.clientKeyFile = server.folder.path(of: "key.pem")
      let response = try await CurlHTTPClient(options: options).response(
        to: HTTPRequest(url: server.url + "/hello"), maxBodyByteCount: 9)
      #expect(response.body == Array("hello".utf8))
    }

    @Test("a redirect never leads from https to http")
    func downgrade() async throws {
      let error = try await #require(throws: TransportError.self) {
        try await response("/down", trusting: server.certificate)
      }
      #expect(error.code == .refusedRedirect)
      #expect(error.message.contains("http://127.0.0.1:1/x"))
    }
  }
#endif
