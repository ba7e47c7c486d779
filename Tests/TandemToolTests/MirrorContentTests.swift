import Foundation
import Synchronization
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: pages and contents", .timeLimit(.minutes(20)))
struct MirrorContentTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func mirror(_ url: String, _ options: String...) async throws -> Tool.Result {
    try await Tool.run(
      ["mirror", url, folder.path(of: "list.db"), "--table", "item", "--key", "id"] + options)
  }

  private func contents(_ source: String, _ options: String...) async throws -> Tool.Result {
    try await Tool.run(contentArguments(source) + options)
  }

  private func contentArguments(_ source: String) -> [String] {
    ["mirror", source, folder.path(of: "list.db"), "--table", "item", "--key", "id"]
      + ["--content", "url", "--into", folder.path(of: "files")]
  }

  @Test("a list in pages is asked for with the headers that were given")
  func pages() async throws {
    try await withServer { request, connection in
      let hasFields =
        request.fields["X-Token"] == "a: b" && request.fields["Accept"] == "application/json"
      guard hasFields else { return connection.respond(401) }
      let text =
        request.path == "/list"
        ? #"{"data":[{"id":1}],"meta":{"next":"x y"}}"#
        : request.path == "/list?after=x%20y" ? #"{"data":[{"id":2}],"meta":{}}"# : "?"
      return connection.respond(200, [:], Array(text.utf8))
    } test: { server in
      let result = try await mirror(
        server.url + "/list", "--items", "data", "--page", "cursor=meta.next,after", "--header",
        "X-Token: a: b", "--header=Accept:application/json")
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(result.output.hasSuffix("2 inserted, 0 updated, 0 deleted; table item created\n"))
    }
  }

  @Test(
    "requests are repeated after busy and broken responses, and interrupted downloads resume")
  func misbehaviour() async throws {
    let content = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 7 ^ $0 >> 9) }
    let counts = Mutex<[String: Int]>([:])
    try await withServer { request, connection in
      let attempt = counts.withLock { counts in
        counts[request.path, default: 0] += 1
        return counts[request.path, default: 0]
      }
      switch (request.path, attempt) {
      case ("/list", 1): return connection.respond(503, ["Retry-After": "0"])
      case ("/list", 2):
        connection.send(200, ["Content-Length": "900"], Array("[{\"id\"".utf8))
        return false
      case ("/list", _):
        return connection.respond(
          200, [:], Array(#"[{"id":1,"url":"/long"},{"id":2,"url":"/moved"}]"#.utf8))
      case ("/moved", 1): return connection.respond(429, ["Retry-After": "0"])
      case ("/moved", _): return connection.respond(302, ["Location": "/here"])
      case ("/here", _): return connection.respond(200, [:], [1, 2, 3])
      default:
        let start = request.fields["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
        let fields: HTTPFields = [
          "ETag": "\"1\"", "Content-Length": "\(content.count - start)",
          "Content-Range": "bytes \(start)-\(content.count - 1)/\(content.count)",
        ]
        let end = min(start + 150_000, content.count)
        connection.send(start == 0 ? 200 : 206, fields, Array(content[start..<end]))
        return end == content.count
      }
    } test: { server in
      let result = try await contents(server.url + "/list")
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(try Data(contentsOf: file("content/1")) == Data(content))
      #expect(try Data(contentsOf: file("content/2")) == Data([1, 2, 3]))
      let ranges = server.requests.filter { $0.path == "/long" }.map { $0.fields["Range"] }
      #expect(ranges == [nil, "bytes=150000-", "bytes=300000-"])
    }
  }

  @Test("a page that names the next one as behind a proxy is followed on request")
  func sameOrigin() async throws {
    try await withServer { request, connection in
      let text =
        request.path == "/list"
        ? #"{"data":[{"id":1}],"next":"https://127.0.0.1/2"}"# : #"{"data":[{"id":2}]}"#
      return connection.respond(200, [:], Array(text.utf8))
    } test: { server in
      let options = ["--items", "data", "--page", "cursor=next", "--retries", "0"]
      let arguments =
        ["mirror", server.url + "/list", folder.path(of: "list.db"), "--table", "item"]
        + ["--key", "id"] + options
      let refused = try await Tool.run(arguments)
      #expect(refused.status == 1 && refused.error.contains("--same-origin"))
      let result = try await Tool.run(arguments + ["--same-origin"])
      #expect(result.output.hasSuffix("2 inserted, 0 updated, 0 deleted; table item created\n"))
    }
  }

  @Test("contents are asked for again by two options, one with conditions and one without")
  func revalidation() async throws {
    let version = Mutex("1")
    try await withServer { request, connection in
      let version = version.withLock { $0 }
      let tag = request.path == "/list" ? "\"0\"" : "\"\(version)\""
      if request.fields["If-None-Match"] == tag { return connection.respond(304) }
      let text = request.path == "/list" ? #"[{"id":1,"url":"/a b"}]"# : version
      return connection.respond(200, ["ETag": tag], Array(text.utf8))
    } test: { server in
      _ = try await contents(server.url + "/list")
      version.withLock { $0 = "2" }
      let same = try await contents(server.url + "/list")
      #expect(same.output.contains("1 item up to date"), "\(same)")
      #expect(try Data(contentsOf: file("content/1")) == Data("1".utf8))
      for (option, count) in [("--revalidate", 1), ("--revalidate", 0), ("--unconditional", 1)] {
        let result = try await contents(server.url + "/list", option)
        #expect(result.status == 0 && result.output.contains("(\(count) B received)"), "\(result)")
        #expect(try Data(contentsOf: file("content/1")) == Data("2".utf8))
      }
      #expect(server.requests.contains { $0.path == "/a%20b" })
    }
  }

  private func file(_ name: String) -> URL {
    URL(fileURLWithPath: folder.path(of: "files/\(name)"))
  }

  @Test("a content that is cut, or is not there, fails, and each failure is listed")
  func failures() async throws {
    try await withServer { request, connection in
      switch request.path {
      case "/list":
        return connection.respond(
          200, ["ETag": "\"1\""],
          Array(
            #"[{"id":1,"url":"/ok"},{"id":2,"url":"/cut"},{"id":3,"url":"/404"}]"#.utf8))
      case "/ok": return connection.respond(200, [:], [1])
      case "/cut":
        connection.send(200, ["Content-Length": "100"], [1, 2, 3])
        connection.reset()
        return false
      default: return connection.respond(404)
      }
    } test: { server in
      let result = try await contents(
        server.url + "/list", "--continue-on-error", "--retries", "1")
      #expect(result.status == 1)
      #expect(result.error.split(separator: "\n").count == 2)
      for words in ["content of 2: ", "content of 3: ", "(2 attempts)", "404"] {
        #expect(result.error.contains(words), "\(words) in \(result.error)")
      }
      #expect(result.output.contains("1 content fetched ("))
      #expect(result.output.contains(" received), 0 items up to date, 2 failed"))
      #expect(try folder.rows("list.db", "SELECT * FROM item") == [#"1|"/ok"|"content/1""#])
      // What failed is asked for again although the list is the same.
      let next = try await contents(server.url + "/list", "--retries", "0")
      #expect(next.status == 1)
      #expect(next.error.contains("did not change the table"))
    }
  }

  @Test("a content that stops dripping fails in time")
  func stalled() async throws {
    try await withServer { _, connection in
      connection.send(200, ["Content-Length": "100"], [1])
      connection.waitForClose()
      return false
    } test: { server in
      // Nothing else is asked for within that time.
      let list = try folder.write(#"[{"id":2,"url":"\#(server.url)/drip"}]"#, to: "list.json")
      let result = try await contents(list, "--retries", "0", "--timeout", "1")
      #expect(result.status == 1)
      #expect(result.error.contains("content of 2: "), "\(result.error)")
      #expect(result.error.contains("no answer within 1.0 seconds"), "\(result.error)")
    }
  }

  @Test("a thousand items are mirrored, with previews, and --json tells how it goes")
  func manyItems() async throws {
    // The last phase is always told; so each lasts until it has been.
    let (listing, previewing, fetching) = (Signal(), Signal(), Signal())
    let ends = ["/list": listing, "/t/1000": previewing, "/1000.txt": fetching]
    let items = (1...1_000).map { #"{"id":\#($0),"url":"/\#($0).txt","thumb":"/t/\#($0)"}"# }
    let list = Array("[\(items.joined(separator: ","))]".utf8)
    try await withServer { request, connection in
      ends[request.path]?.waitBlockingThread()
      return connection.respond(
        200, ["ETag": "\"1\""], request.path == "/list" ? list : Array(request.path.utf8))
    } test: { server in
      let tool = try RunningTool(
        contentArguments(server.url + "/list")
          + ["--preview", "thumb", "--concurrency", "16", "--json"])
      var events: [Record] = []
      while let line = await tool.line() {
        let event = try #require(
          RecordReader.records(in: Array(line.utf8), format: .ndjson).first)
        events.append(event)
        if event["phase"] == "listing" { listing.fire() }
        if event["stage"] == "preview" { previewing.fire() }
        if event["stage"] == "content" { fetching.fire() }
      }
      #expect(await tool.errorLine() == nil)
      #expect(await tool.end() == 0)
      #expect(events.first == ["event": "phase", "phase": "listing"])
      #expect(
        events.last
          == [
            "event": "end", "ok": 1, "inserted": 1_000, "updated": 0, "deleted": 0,
            "transferred": 2_000, "removed": 0, "skipped": 0, "failed": 0, "bytes": 13_786,
          ])
      let stages = events.filter { $0["event"] == "progress" }.map { $0["stage"] }
      #expect(stages.first == "preview" && stages.last == "content")
      #expect(
        try folder.rows("list.db", "SELECT count(*) FROM item WHERE url_file IS NOT NULL") == [
          "1000"
        ])
      #expect(try String(contentsOf: file("content/77.txt"), encoding: .utf8) == "/77.txt")
      #expect(try String(contentsOf: file("preview/77"), encoding: .utf8) == "/t/77")
    }
  }

  @Test("removed files are counted, and a run that was refused at once counts nothing")
  func removedFiles() async throws {
    let list = Mutex(#"[{"id":1,"url":"/1"},{"id":2,"url":"/2"},{"id":3,"url":"/3"}]"#)
    try await withServer { request, connection in
      connection.respond(
        200, [:], Array((request.path == "/list" ? list.withLock { $0 } : request.path).utf8))
    } test: { server in
      _ = try await contents(server.url + "/list")
      list.withLock { $0 = #"[{"id":1,"url":"/1"},{"id":2,"url":"/2"}]"# }
      let text = try await contents(server.url + "/list")
      #expect(
        text.output.hasSuffix(
          "\n0 contents fetched (0 B received), 2 items up to date, 1 file removed\n"),
        "\(text.output)")
      list.withLock { $0 = #"[{"id":1,"url":"/1"}]"# }
      let events = try await contents(server.url + "/list", "--json")
      #expect(events.output.contains(#""transferred":0,"removed":1,"skipped":1"#))
      list.withLock { $0 = "[]" }
      let refused = try await contents(server.url + "/list")
      #expect(refused.status == 1 && refused.output.isEmpty, "\(refused.output)")
      #expect(refused.error.contains("would delete the only row; "))
    }
  }

  @Test("--dry-run says what would be fetched and removed, and touches nothing")
  func dryRun() async throws {
    let list = Mutex(#"[{"id":1,"url":"/1.txt"},{"id":2,"url":"/2.txt"}]"#)
    try await withServer { request, connection in
      connection.respond(
        200, [:], Array((request.path == "/list" ? list.withLock { $0 } : request.path).utf8))
    } test: { server in
      let first = try await contents(server.url + "/list", "--dry-run")
      #expect(first.status == 0 && first.error.isEmpty)
      #expect(
        first.output == """
          + id=1  url="/1.txt"  url_file="content/1.txt"
          + id=2  url="/2.txt"  url_file="content/2.txt"
          dry run: 2 inserted, 0 updated, 0 deleted; table item would be created
          fetch \(server.url)/1.txt as content/1.txt
          fetch \(server.url)/2.txt as content/2.txt
          dry run: 2 contents would be fetched, 0 files removed, 0 items up to date

          """)
      #expect(try folder.contents().isEmpty)
      #expect(server.requests.map(\.path) == ["/list"])
      _ = try await contents(server.url + "/list", "--max-deletes", "1")
      list.withLock { $0 = #"[{"id":2,"url":"/2.txt"},{"id":3,"url":"/3.txt"}]"# }
      let json = try await contents(server.url + "/list", "-n", "--json")
      let events = try RecordReader.records(in: Array(json.output.utf8), format: .ndjson)
      #expect(
        events.filter { $0["event"] != "phase" } == [
          [
            "event": "wouldFetch", "stage": "content", "key": "3",
            "url": .text("\(server.url)/3.txt"), "file": "content/3.txt",
          ],
          ["event": "wouldRemove", "file": "content/1.txt"],
          [
            "event": "end", "ok": 1, "dryRun": 1, "inserted": 1, "updated": 0, "deleted": 1,
            "wouldFetch": 1, "wouldRemove": 1, "skipped": 1,
          ],
        ])
      #expect(json.output.contains(#""ok":true,"dryRun":true"#), "records read true as 1")
      list.withLock { $0 = "[]" }
      let refused = try await contents(server.url + "/list", "-n")
      #expect(refused.status == 1 && refused.error.contains("--allow-empty"))
    }
  }

  @Test("--dry-run --json ends with an event, even if the list cannot be had")
  func failedDryRun() async throws {
    try await withServer { _, connection in
      connection.respond(404)
    } test: { server in
      let result = try await contents(server.url + "/list", "--dry-run", "--json")
      #expect(result.status == 1)
      let events = try RecordReader.records(in: Array(result.output.utf8), format: .ndjson)
      #expect(events.map { $0["event"] }.filter { $0 != "phase" } == ["failed", "end"])
      #expect(events.last?["ok"] == 0 && events.last?["dryRun"] == 1)
      let text = try await contents(server.url + "/list", "--dry-run")
      #expect(text.status == 1 && text.output.isEmpty && text.error.contains("404"))
    }
  }

  @Test("a field that was misspelt is named with those that there are, and nothing is used up")
  func misspelling() async throws {
    try await withServer { request, connection in
      connection.respond(
        200, ["ETag": "\"1\""],
        Array((request.path == "/list" ? #"[{"id":1,"url":"/1"},{"id":2,"url":""}]"# : "one").utf8))
    } test: { server in
      let path = folder.path(of: "list.db")
      for (option, name) in [("--sha256", "sah"), ("--length", "n")] {
        let result = try await contents(server.url + "/list", option, name)
        #expect(result.status == 1)
        #expect(
          result.error.contains(
            "\(path): no record of the list has the field \(name); its fields are id, url; "
              + "nothing was changed"), "\(result.error)")
      }
      let other = try await Tool.run(
        [
          "mirror", server.url + "/list", path, "--table", "item", "--key", "id", "--content",
          "ulr",
        ]
          + ["--into", folder.path(of: "files")])
      #expect(
        other.status == 1 && other.error.contains("has the field ulr; its fields are id, url"))
      let result = try await contents(server.url + "/list")
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(result.output.hasSuffix("\n1 content fetched (3 B received), 0 items up to date\n"))
    }
  }

  @Test("a table that changes what is written into it stays as it was, and the files do not")
  func changedValue() async throws {
    try folder.execute(
      "list.db", "CREATE TABLE item (id INTEGER PRIMARY KEY, url TEXT)",
      "CREATE TRIGGER a AFTER INSERT ON item BEGIN UPDATE item SET url = '' WHERE id = new.id; END")
    try await withServer { request, connection in
      connection.respond(
        200, [:], Array((request.path == "/list" ? #"[{"id":1,"url":"/1"}]"# : "one").utf8))
    } test: { server in
      let result = try await contents(server.url + "/list")
      #expect(result.status == 1 && result.output.contains("1 content fetched"))
      #expect(
        result.error.hasSuffix("change what is written; the table was not changed\n"),
        "\(result.error)")
      #expect(try folder.rows("list.db", "SELECT * FROM item").isEmpty)
    }
  }

  @Test("options that are forgotten are named, and nothing is changed")
  func forgottenOptions() async throws {
    let list = Array(#"[{"id":1,"url":"/1","thumb":"/2"}]"#.utf8)
    try await withServer { request, connection in
      connection.respond(200, [:], request.path == "/list" ? list : Array(request.path.utf8))
    } test: { server in
      let url = server.url + "/list"
      #expect(try await contents(url, "--preview", "thumb").status == 0)
      let rows = try folder.rows("list.db", "SELECT * FROM item")
      let results = [
        (try await mirror(url), "--preview thumb --content url"),
        (try await mirror(url, "--dry-run"), "--preview thumb --content url"),
        (try await contents(url), "--preview thumb"),
        (try await contents(url, "--dry-run"), "--preview thumb"),
      ]
      for (result, options) in results {
        #expect(result.status == 1)
        #expect(result.error.contains(": give \(options) again"), "\(result.error)")
        #expect(result.error.hasSuffix("; nothing was changed\n"))
      }
      #expect(try folder.rows("list.db", "SELECT * FROM item") == rows)
      #expect(try String(contentsOf: file("preview/1"), encoding: .utf8) == "/2")
    }
  }

  @Test("a content with a wrong digest is fetched again")
  func wrongOnce() async throws {
    let digest = SHA256Digest(of: Array("right".utf8))
    let count = Mutex(0)
    try await withServer { request, connection in
      guard request.path == "/1" else {
        return connection.respond(200, [:], Array(#"[{"id":1,"url":"/1","d":"\#(digest)"}]"#.utf8))
      }
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 { return connection.respond(202, ["Retry-After": "0"], Array("wait".utf8)) }
      return connection.respond(200, [:], Array((number == 2 ? "wrong" : "right").utf8))
    } test: { server in
      let result = try await contents(server.url + "/list", "--sha256", "d")
      #expect(result.status == 0 && result.error.isEmpty)
      #expect(try String(contentsOf: file("content/1"), encoding: .utf8) == "right")
      #expect(count.withLock { $0 } == 3)
    }
  }

  @Test("an option that is changed is not answered by a list that is not")
  func changedOptions() async throws {
    try await withServer { request, connection in
      guard request.path != "/1" else { return connection.respond(200, [:], Array("one".utf8)) }
      if request.path == "/list?p=2" {
        return connection.respond(
          200, ["ETag": "\"2\""], Array(#"{"a":[{"id":2}],"b":[{"id":3}]}"#.utf8))
      }
      let isCurrent = request.fields["If-None-Match"] != nil
      return connection.respond(
        isCurrent ? 304 : 200, ["ETag": "\"1\"", "Link": "</list?p=2>; rel=next"],
        isCurrent ? [] : Array(#"{"a":[{"id":1,"url":"/1"}],"b":[{"id":4,"url":"/1"}]}"#.utf8))
    } test: { server in
      func ids() throws -> [String] { try folder.rows("list.db", "SELECT id FROM item ORDER BY 1") }
      let url = server.url + "/list"
      _ = try await mirror(url, "--items", "a", "--page", "first")
      #expect(try ids() == ["1"])
      _ = try await mirror(url, "--items", "a", "--page", "link")
      #expect(try ids() == ["1", "2"])
      _ = try await mirror(url, "--items", "b", "--page", "link")
      #expect(try ids() == ["3", "4"])
      let result = try await contents(url, "--items", "b", "--page", "link")
      #expect(result.output.contains("1 content fetched"))
      #expect(
        try folder.rows("list.db", "SELECT url_file FROM item WHERE id = 4") == ["\"content/4\""])
      _ = try await contents(url, "--items", "b", "--page", "link")
      #expect(server.requests.suffix(2).map(\.path) == ["/list", "/list?p=2"])
      #expect(server.requests.suffix(2).first?.fields["If-None-Match"] == "\"1\"")
    }
  }

  @Test("--every mirrors again until it is interrupted, and ends well")
  func watch() async throws {
    let count = Mutex(0)
    let seen = Signal()
    try await withServer { request, connection in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 4 { seen.fire() }
      if number == 2 { return connection.respond(404) }
      return connection.respond(200, [:], Array(#"[{"id":\#(number)}]"#.utf8))
    } test: { server in
      let tool = try TestProgram(
        [
          Tool.path, "mirror", server.url + "/list", folder.path(of: "list.db"), "--table", "item",
          "--key", "id", "--every", "0.05",
        ], output: .file(folder.newFile("output")), error: .file(folder.newFile("error")))
      DispatchQueue.global().async {
        seen.waitBlockingThread()
        tool.send(SIGINT)
      }
      #expect(await tool.end() == 0)
      #expect(try folder.text(of: "error").contains("404"))
      let output = try folder.text(of: "output")
      #expect(output.contains("1 inserted, 0 updated, 1 deleted"))
      let summary = try #require(output.split(separator: "\n").last?.split(separator: " "))
      #expect(summary.first == "mirrored" && Int(summary[1]).map { $0 >= 3 } == true)
      #expect(summary.dropFirst(2).joined(separator: " ") == "times, 1 of them with errors")
    }
  }

  @Test(
    "mistakes are exit status 2, and say what is meant",
    arguments: [
      (["--page", "links"], "--page takes link, header=NAME"),
      (["--page", "cursor=next"], "--page cursor needs --items"),
      (["--header", "X"], "--header takes 'Name: value'"),
      (["--content", "a"], "--into is missing"),
      (["--into", "a"], "--into needs --content or --preview"),
      (["--concurrency", "3"], "--concurrency needs --content or --preview"),
      (["--content", "a", "--into", "b", "--concurrency", "0"], "--concurrency takes a number"),
      (["--length", "n"], "--length needs --content"),
      (["--content", "a", "--preview", "a", "--into", "b"], "different fields"),
      (["--timeout", "x"], "--timeout takes seconds"), (["--every", "0"], "--every takes seconds"),
      (["--retries", "-1"], "--retries takes a number from 0"),
      (["--quiet", "--json"], "--quiet prints nothing, and --json something"),
    ])
  func usage(options: [String], words: String) async throws {
    let result = try await Tool.run(
      ["mirror", "list.json", "a.db", "--table", "t", "--key", "id"] + options)
    #expect(result.status == 2)
    #expect(result.error.contains(words), "\(result.error)")
    let input = try await Tool.run(
      ["mirror", "-", "a.db", "--table", "t", "--key", "id", "--every", "1"])
    #expect(input.status == 2)
  }
}
