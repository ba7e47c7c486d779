import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem diff and merge: lists at URLs", .timeLimit(.minutes(20)))
struct ListURLTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// Calls `test` with a server whose list comes in two pages, to those who know the token.
  private func withPages(_ test: (MisbehavingServer) async throws -> Void) async throws {
    try await withServer { request, connection in
      guard request.fields["X-Token"] == "secret" else {
        return connection.respond(403, [:], Array(#"{"message":"who are you"}"#.utf8))
      }
      return request.path == "/list"
        ? connection.respond(
          200, [:], Array(#"{"data":{"items":[{"id":1,"n":"a"}],"next":"/2"}}"#.utf8))
        : connection.respond(200, [:], Array(#"{"data":{"items":[{"id":2,"n":1.50}]}}"#.utf8))
    } test: {
      try await test($0)
    }
  }

  private func options() throws -> [String] {
    let token = try folder.write("X-Token: secret\n", to: "token")
    return [
      "--items", "data.items", "--page", "cursor=data.next", "--header", "@\(token)", "--retries",
      "0",
    ]
  }

  @Test("diff compares a file with all pages of a URL")
  func diff() async throws {
    let old = try folder.write(#"[{"id":1,"n":"b"},{"id":3}]"#, to: "old.json")
    try await withPages { server in
      let url = server.url + "/list"
      let result = try await Tool.run(["diff", old, url] + options())
      #expect(result.status == 1)
      for line in ["~ id=1", "+ id=2", "- id=3"] { #expect(result.output.contains(line)) }
      let same = try await Tool.run(["diff", url, url, "-q"] + options())
      #expect(same.status == 0 && same.error.isEmpty)
      let refused = try await Tool.run(["diff", old, url, "--retries", "0"])
      #expect(refused.status == 2 && refused.error.contains(#"the server says: "who are you""#))
      let first = try await Tool.run(
        ["diff", old, url] + options().filter { !["--page", "cursor=data.next"].contains($0) })
      #expect(first.status == 2 && first.error.contains("--page cursor=data.next,"))
    }
  }

  @Test("merge takes versions from URLs, and keeps the text of their values")
  func merge() async throws {
    let base = try folder.write(#"[{"id":1,"n":"b"}]"#, to: "base.json")
    let local = try folder.write(#"[{"id":1,"n":"b"},{"id":3}]"#, to: "local.json")
    try await withPages { server in
      let versions = ["--base", base, "--local", local, "--remote", server.url + "/list"]
      let result = try await Tool.run(["merge"] + versions + ["--key", "id"] + options())
      #expect(result.status == 0, "\(result.error)")
      for text in [#"{"id":1,"n":"a"}"#, #"{"id":2,"n":1.50}"#, #"{"id":3}"#] {
        #expect(result.output.contains(text), "\(result.output)")
      }
    }
  }

  @Test("options of requests have no effect without a URL, and a secret goes to one server only")
  func misuse() async throws {
    let a = try folder.write("[]", to: "a.json")
    let url = "http://127.0.0.1:1/"
    for (arguments, words) in [
      (["diff", a, a, "--header", "A: b"], "--header is for a list from a URL"),
      (["diff", a, a, "--timeout", "1"], "--timeout is for a list from a URL\n"),
      (["diff", url, "http://127.0.0.1:2/", "--user", "a:b"], "--user would go to two servers"),
      (["diff", url, a, "--text", "--page", "link"], "--text does not combine with --page"),
      (
        ["merge", "--unknown-base", "--local", a, "--remote", a, "--key", "id", "--items", "x"],
        "--items is for a list from a URL"
      ),
    ] {
      let result = try await Tool.run(arguments)
      #expect(result.status == 2 && result.error.contains(words), "\(result.error)")
    }
  }

  @Test("a gzip file is compared like the list in it")
  func gzipFile() async throws {
    let lines = """
      printf 'id,n\\n1,a\\n' > a.csv; gzip -k a.csv
      $tandem diff a.csv a.csv.gz --key id && echo same
      """
    let result = try await Tool.shell(lines, in: folder)
    #expect(result.output == "same\n", "\(result.error)")
  }
}
