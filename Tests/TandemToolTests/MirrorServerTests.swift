import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: servers as they are", .timeLimit(.minutes(20)))
struct MirrorServerTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func mirror(_ source: String, _ options: [String] = []) async throws -> Tool.Result {
    try await Tool.run(
      ["mirror", source, folder.path(of: "a.db"), "--table", "t", "--key", "id", "--retries", "0"]
        + options)
  }

  private static let list = Array(#"[{"id":1}]"#.utf8)

  @Test("a list that goes on is refused without --page, and the named option reads the rest")
  func unreadPages() async throws {
    try await withServer { request, connection in
      request.path == "/2"
        ? connection.respond(200, [:], Array(#"[{"id":2}]"#.utf8))
        : connection.respond(200, ["Link": "</2>; rel=next"], Self.list)
    } test: { server in
      let refused = try await mirror(server.url + "/list")
      #expect(refused.status == 1 && refused.output.isEmpty)
      #expect(refused.error.contains("; read all pages with --page link, or only"))
      #expect(folder.names().isEmpty)
      let all = try await mirror(server.url + "/list", ["--page", "link"])
      #expect(all.output.contains("2 inserted"))
      let first = try await mirror(server.url + "/list", ["--page", "first"])
      #expect(first.output.contains("1 deleted") && first.error.isEmpty)
    }
  }

  @Test("a token, a name and a password come from files, and go to the list's server")
  func secrets() async throws {
    let fields = try folder.write("X-Token: to:ken\n\nX-Other: b\n", to: "fields")
    let user = try folder.write("me:pass:word\n", to: "user")
    let netrc = try folder.write("machine 127.0.0.1 login me password pass:word\n", to: "netrc")
    try await withServer { request, connection in
      let isKnown =
        request.fields["Authorization"] == "Basic bWU6cGFzczp3b3Jk"
        || request.fields["X-Token"] == "to:ken" && request.fields["X-Other"] == "b"
      return isKnown
        ? connection.respond(200, [:], Self.list)
        : connection.respond(401, [:], Array(#"{"detail":"log\nin"}"#.utf8))
    } test: { server in
      for options in [
        ["--header", "@\(fields)"], ["--user", "@\(user)"], ["--user", "me:pass:word"],
        ["--netrc-file", netrc],
      ] {
        let result = try await mirror(server.url, options)
        #expect(result.status == 0, "\(options) \(result.error)")
      }
      let refused = try await mirror(server.url)
      #expect(refused.status == 1)
      #expect(refused.error.contains(#"answered 401: access is refused; check the credentials"#))
      #expect(refused.error.contains(#"the server says: "log\u000ain""#))
      #expect(try await mirror("http://me:no@127.0.0.1:\(server.port)/").status == 1)
    }
  }

  @Test("files of secrets that cannot be used are usage errors, which do not repeat a secret")
  func misuse() async throws {
    let file = try folder.write("hunter2\n", to: "file")
    let url = "http://127.0.0.1:1/"
    for (source, options, words) in [
      (url, ["--header", "@\(file)"], "each line must be 'Name: value'"),
      (url, ["--header", "@/no/such"], "/no/such: cannot be read: no such file"),
      (url, ["--user", "@\(file)"], "--user takes NAME:PASSWORD"),
      (url, ["--netrc-file", "/no/such"], "/no/such cannot be read"),
      (url, ["--cert-key", file], "--cert-key needs --cert"),
      ("http://a:b@127.0.0.1/", ["--user", "c:d"], "exclude each other"),
      ("-", ["--user", "c:d"], "--user is for a list from a URL"),
      ("-", ["--cacert", file], "--cacert is for a list from a URL, or for --content"),
      (url, ["--page", "last=id"], "--page takes link"),
    ] {
      let result = try await mirror(source, options)
      #expect(result.status == 2, "\(options)")
      #expect(result.error.contains(words), "\(result.error)")
      #expect(!result.error.contains("hunter2"))
    }
  }

  @Test("line feeds in a server's keys and addresses do not begin lines of the report")
  func lineFeeds() async throws {
    try await withServer { _, connection in
      let list = #"[{"id":"a\ntandem: all is well","url":"http://127.0.0.1:1/\n\u001b[2Jx"}]"#
      return connection.respond(200, [:], Array(list.utf8))
    } test: { server in
      let result = try await mirror(
        server.url, ["--content", "url", "--into", folder.path(of: "into")])
      #expect(result.status == 1)
      let lines = result.error.split(separator: "\n")
      #expect(!lines.contains { $0.hasPrefix("tandem: all is well") || $0.contains("\u{1B}") })
      #expect(result.error.contains(#"\u000a\u001b[2Jx"#))
    }
  }

  @Test("a proxy that is dead or refuses is named, and not the server")
  func proxies() async throws {
    let dead = try ReservedPort()
    let command = "$tandem mirror http://a.example/ a.db --table t --key id --retries 0"
    let result = try await Tool.shell(
      "no_proxy= http_proxy=http://127.0.0.1:\(dead.number) \(command)", in: folder)
    #expect(result.status == 1)
    #expect(result.error.contains("the proxy 127.0.0.1:\(dead.number) accepts no connections"))
    withExtendedLifetime(dead) {}
    try await withServer { _, connection in
      connection.respond(407)
    } test: { server in
      let secure = command.replacing("http://", with: "https://")
      let result = try await Tool.shell(
        "no_proxy= https_proxy=http://127.0.0.1:\(server.port) \(secure)", in: folder)
      #expect(result.error.contains("the proxy answered 407 instead of connecting"))
    }
  }

  @Test("a gzip file is read like the list in it, also through a pipe")
  func gzipFile() async throws {
    let lines = """
      printf 'id,name\\n1,a\\n' | gzip > a.csv.gz
      $tandem mirror a.csv.gz a.db --table t --key id
      $tandem mirror - b.db --table t --key id < a.csv.gz
      head -c 30 a.csv.gz > cut.csv.gz
      $tandem mirror cut.csv.gz c.db --table t --key id
      """
    let result = try await Tool.shell(lines, in: folder)
    #expect(
      result.output.split(separator: "\n").filter { $0.hasPrefix("1 inserted") }.count == 2)
    #expect(result.error.contains("cut.csv.gz: the compressed content ended before"))
  }

  @Test("SSL_CERT_FILE and CURL_CA_BUNDLE are used like --cacert")
  func authorities() async throws {
    // Certificates are read once the connection is there, before anything is sent.
    try await withServer { _, _ in
      false
    } test: { server in
      for variables in ["CURL_CA_BUNDLE= SSL_CERT_FILE", "CURL_CA_BUNDLE"] {
        let result = try await Tool.shell(
          "\(variables)=/no/such.pem $tandem mirror https://127.0.0.1:\(server.port)/ a.db --table t "
            + "--key id --retries 0", in: folder)
        #expect(result.error.contains("/no/such.pem"), "\(result.error)")
      }
    }
  }
}
