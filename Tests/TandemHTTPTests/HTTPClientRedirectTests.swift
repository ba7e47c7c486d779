import TandemHTTP
import TestHTTPServer
import Testing

@Suite("HTTP client: redirects", .timeLimit(.minutes(20)))
struct HTTPClientRedirectTests {
  let client: TestedHTTPClient
  init() throws { client = try TestedHTTPClient() }

  private func failure(of request: HTTPRequest) async throws -> TransportError {
    try await #require(throws: TransportError.self) {
      try await client.response(to: request, maxBodyByteCount: 100)
    }
  }

  @Test(
    "a redirect is followed, and the response says where it led", arguments: [301, 302, 303, 307])
  func followed(status: Int) async throws {
    try await withServer { request, connection in
      request.path == "/old"
        ? connection.respond(status, ["Location": "/new?x=1"], Array("moved".utf8))
        : connection.respond(200, ["X-Here": "yes"], [1])
    } test: { server in
      let request = HTTPRequest(url: server.url + "/old", fields: ["Authorization": "secret"])
      let response = try await client.response(to: request, maxBodyByteCount: 1)
      #expect(response.head.status == 200)
      #expect(response.head.url == server.url + "/new?x=1")
      #expect(response.body == [1])
      #expect(server.requests.map(\.path) == ["/old", "/new?x=1"])
      #expect(server.requests.map { $0.fields["Authorization"] } == ["secret", "secret"])
    }
  }

  @Test("nothing that may be a secret goes to another host: not even to another port")
  func credentials() async throws {
    try await withServer { _, connection in
      connection.respond(200, [:], [1])
    } test: { other in
      let target = other.url
      try await withServer { _, connection in
        connection.respond(302, ["Location": target + "/elsewhere"])
      } test: { server in
        let url = server.url.replacing("http://", with: "http://user:password@")
        for request in [
          HTTPRequest(
            url: server.url,
            fields: ["Authorization": "secret", "Cookie": "a=b", "Accept": "text/csv"]),
          HTTPRequest(url: url, fields: ["X-Api-Key": "secret", "Accept": "text/csv"]),
          HTTPRequest(url: url, fields: ["Accept": "text/csv"]),
        ] {
          let response = try await client.response(to: request, maxBodyByteCount: 1)
          #expect(response.body == [1])
        }
        #expect(server.requests.allSatisfy { $0.fields["Authorization"] != nil })
        #expect(server.requests.map { $0.fields["X-Api-Key"] } == [nil, "secret", nil])
        #expect(other.requests.count == 3)
        #expect(other.requests.allSatisfy { $0.fields["Authorization"] == nil })
        #expect(other.requests.allSatisfy { $0.fields["Cookie"] == nil })
        #expect(other.requests.allSatisfy { $0.fields["X-Api-Key"] == nil })
        #expect(other.requests.allSatisfy { $0.fields["Accept"] == "text/csv" })
      }
    }
  }

  @Test("a circle of redirects ends at the limit", arguments: [[:], ["X-Api-Key": "secret"]])
  func circle(fields: HTTPFields) async throws {
    try await withServer { _, connection in
      connection.respond(302, ["Location": "/again"])
    } test: { server in
      let error = try await failure(of: HTTPRequest(url: server.url, fields: fields))
      #expect(error.code == .tooManyRedirects)
      #expect(server.requests.count == 1 + HTTPClientOptions().maxRedirectCount)
    }
  }

  @Test(
    "a redirect to anything but the web is refused, and named",
    arguments: ["file:///etc/passwd", "ftp://a.example/x", "gopher://a.example"])
  func refused(location: String) async throws {
    try await withServer { _, connection in
      connection.respond(302, ["Location": location])
    } test: { server in
      let error = try await failure(of: HTTPRequest(url: server.url))
      #expect(error.code == .refusedRedirect)
      #expect(error.message.contains(location))
    }
  }

  @Test("a redirect of anything but GET and HEAD is the response")
  func unfollowedMethod() async throws {
    try await withServer { _, connection in
      connection.respond(307, ["Location": "/elsewhere"], [1])
    } test: { server in
      let request = HTTPRequest(.post, url: server.url, body: [1, 2])
      let response = try await client.response(to: request, maxBodyByteCount: 1)
      #expect(response.head.status == 307)
      #expect(response.body == [1])
      #expect(server.requests.count == 1)
    }
  }

  @Test(
    "a redirect to what is no address is refused, and named",
    .unlessURLSessionOnLinux("the response is lost"))
  func malformed() async throws {
    try await withServer { _, connection in
      connection.respond(302, ["Location": "http://a b:x/"])
    } test: { server in
      let error = try await failure(of: HTTPRequest(url: server.url))
      #expect(error.code == .refusedRedirect)
      #expect(error.message.contains("http://a b:x/"))
    }
  }

  @Test("a password in a redirect is not shown")
  func password() async throws {
    try await withServer { _, connection in
      connection.respond(302, ["Location": #"ftp://user:sec\ret@a.example/"#])
    } test: { server in
      let error = try await failure(of: HTTPRequest(url: server.url))
      #expect(error.code == .refusedRedirect)
      #expect(error.message.contains("a.example") && !error.message.contains("ret"))
    }
  }

  @Test("a connection is used again after a redirect")
  func connectionReuse() async throws {
    try await withServer { request, connection in
      request.path == "/old"
        ? connection.respond(302, ["Location": "/new"], Array("moved".utf8))
        : connection.respond(200, [:], [1])
    } test: { server in
      for _ in 0..<3 {
        let request = HTTPRequest(url: server.url + "/old")
        _ = try await client.response(to: request, maxBodyByteCount: 5)
      }
      #expect(server.connectionCount == 1)
    }
  }
}
