import Dispatch
import Foundation
import Synchronization
import Tandem
import TandemServer
import TestFolder
import TestTool
import Testing

@testable import TandemCLI

@Suite("The log of tandem serve", .timeLimit(.minutes(20)))
struct ServeLogTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func make(token account: String, _ options: String) async throws -> String {
    let made = try await Tool.shell(
      "$tandem token create --tokens tokens --account \(account) \(options)", in: folder)
    return String(made.output.dropLast())
  }

  private func serve(_ options: [String]) throws -> RunningTool {
    try RunningTool(
      [
        "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0", "--tokens",
        folder.path(of: "tokens"),
      ] + options)
  }

  /// Sends a request; returns the status.
  private func status(
    _ url: String, _ secret: String? = nil, body: String? = nil
  ) async throws -> Int {
    try await answer(url, secret: secret, body: body).status
  }

  /// Ends the server; returns all lines that it logs until then.
  private func lines(after signal: Int32, to tool: RunningTool) async -> [String] {
    tool.signal(signal)
    #expect(await tool.end() == 0)
    var lines: [String] = []
    while let line = await tool.errorLine() { lines.append(line) }
    return lines
  }

  /// The lines that a server logs of hostile requests, some of them with a secret.
  private func linesOfHostileRequests(
    _ form: String
  ) async throws -> (lines: [String], secret: String) {
    let secret = try await make(token: "ada", "--space notes --write")
    let tool = try serve(["--log", form, "--log-level", "info"])
    let url = try await tool.servedURL()
    let port = try #require(url.split(separator: ":").last)
    let tables = #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#
    #expect(try await status("\(url)/v1/spaces/notes/tables", secret, body: tables) == 200)
    #expect(try await status("\(url)/v1/spaces/notes", secret) == 200)
    #expect(try await status("\(url)/v1/spaces/other", secret) == 404)
    let commit = #"{"changes":[{"table":"t","id":["rowvalue"],"insert":{"a":"rowvalue"}}]}"#
    #expect(try await status("\(url)/v1/spaces/notes/commits", secret, body: commit) == 400)
    let authorization = "Authorization: Bearer \(secret)"
    let long = String(repeating: "y", count: 5_000)
    for (line, fields) in [
      (#"GET /a\x1b[2Jb\x7f\x9b HTTP/1.1"#, ""),
      (#"GET /\xe2\x80\xae\xc2\x85\xe2\x80\xa8\xff HTTP/1.1"#, ""),
      (#"GET /a%0d%0a2026-01-01T00:00:00.000Z%20error HTTP/1.1"#, ""),
      (#"GET /a"b\\ c level=error status=200 HTTP/1.1"#, ""),
      (#"GET /a\r2026-01-01T00:00:00.000Z error forged HTTP/1.1"#, ""),
      ("GET /a/eyJhbGciOi.rowvalue HTTP/1.1", ""), ("GET /\(secret) HTTP/1.1", ""),
      ("GET /v1/spaces/\(secret) HTTP/1.1", "\(authorization)\\r\\n"),
      ("GET /v1/spaces/%74\(secret.dropFirst()) HTTP/1.1", "\(authorization)\\r\\n"),
      ("GET / HTTP/1.1", "\(authorization)\\x00\\r\\n"),
      ("GET /v1/spaces?token=\(secret) HTTP/1.1", ""),
      ("GET /v1/spaces/notes/changes?since=\(secret) HTTP/1.1", "\(authorization)\\r\\n"),
      ("GET http://\(secret)@a/ HTTP/1.1", ""), ("\(secret) / HTTP/1.1", ""),
      ("GET /\(long) HTTP/1.1", ""), ("GET / HTTP/1.1", "X: \(long)\(long)\\r\\n"),
      (#"\x00\x01\x02 / HTTP/1.1"#, ""), ("GET / HTTP/9.9", ""), ("GET /", ""), ("", ""),
      ("GET / HTTP/1.1", #"Authorization: Bearer a\r\n \#(secret)\r\n"#),
      ("POST /v1/spaces/notes/commits HTTP/1.1", "\(authorization)\\r\\nContent-Length: 9\\r\\n"),
    ] {
      let request = line + #"\r\nHost: 127.0.0.1\r\nConnection: close\r\n"# + fields + #"\r\n"#
      // The body of the last one never comes.
      let timeout = line.hasPrefix("POST") ? 1 : 60
      _ = try await Tool.shell(
        """
        bash -c 'exec 3<>/dev/tcp/127.0.0.1/\(port); printf "%b" "$1" >&3
          timeout \(timeout) cat <&3 >/dev/null' - '\(request)'
        """, in: folder)
    }
    return (await lines(after: SIGTERM, to: tool), secret)
  }

  @Test(
    "Hostile requests neither add nor forge a line, and no line has a token or a field of a record",
    arguments: ["text", "json"])
  func hostileRequests(form: String) async throws {
    let (lines, secret) = try await linesOfHostileRequests(form)
    for line in lines {
      try #require(line.wholeMatch(of: #/[^\p{Cc}\u{2028}\u{2029}\u{202E}]*/#) != nil, "\(line)")
      #expect(!line.contains(secret.dropFirst(7)) && !line.contains("rowvalue"), "\(line)")
      #expect(line.utf8.count < 1_500)
      let event = form == "json" ? try Self.event(json: line) : try Self.event(text: line)
      #expect(!event.message.contains("forged"))
      let isServer = event.status == nil
      #expect(isServer || event.address == "127.0.0.1", "\(line)")
    }
    let all = try lines.map { try form == "json" ? Self.event(json: $0) : Self.event(text: $0) }
    // The levels of some events, with account and space.
    func count(_ level: String, _ status: Int, _ account: String?, _ space: String?) -> Int {
      all.count {
        $0.level == level && $0.status == status && $0.account == account && $0.space == space
      }
    }
    #expect(count("info", 200, "ada", "notes") == 2)
    #expect(count("warning", 404, "ada", "other") == 1)
    #expect(count("notice", 400, "ada", "notes") == 2)
    #expect(count("warning", 401, nil, nil) == 1)
    // What the library has refused itself.
    for status in [431, 505] { #expect(count("notice", status, nil, nil) == 1, "\(status)") }
    #expect(all.contains { $0.status == nil && $0.message.contains("client left") })
    #expect(all.last?.message == "the server has stopped")
    // A client that is still connected then is logged between the two.
    #expect(all.contains { $0.message == "the server stops after SIGTERM" })
  }

  @Test("fail2ban's filter finds the refused client among hostile requests, once")
  func fail2ban() async throws {
    let filter = try Self.fail2banFilter()
    let clients = try await linesOfHostileRequests("text").lines.compactMap {
      try filter.prefixMatch(in: $0)?.output[1].substring
    }
    #expect(clients == ["127.0.0.1"])
  }

  /// The filter that Documentation/Operations.md shows.
  private static func fail2banFilter() throws -> Regex<AnyRegexOutput> {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let text = try String(
      contentsOf: root.appendingPathComponent("Documentation/Operations.md"), encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("failregex = ") })
    return try Regex(
      line.dropFirst("failregex = ".count).replacingOccurrences(of: "<HOST>", with: #"(\S+)"#))
  }

  private struct Event {
    var level: String
    var address, account, space: String?
    var status: Int?
    var message: String
  }

  private static func event(json line: String) throws -> Event {
    let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
    let object = try #require(value as? [String: Any], "\(line)")
    let names: Set = [
      "time", "level", "address", "account", "space", "status", "reason", "milliseconds", "bytes",
      "method", "path", "message",
    ]
    #expect(names.isSuperset(of: object.keys), "\(line)")
    let time = try #require(object["time"] as? String)
    #expect(time.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
    if object["method"] != nil { #expect(object["milliseconds"] is Double, "\(line)") }
    return Event(
      level: try #require(object["level"] as? String), address: object["address"] as? String,
      account: object["account"] as? String, space: object["space"] as? String,
      status: object["status"] as? Int, message: object["message"] as? String ?? "")
  }

  private static func event(text line: String) throws -> Event {
    let pattern =
      #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (error|warning|notice|info)(?: address=(\S+))?(?: account=(\S+))?(?: space=(\S+))?(?: status=(\d+))?(?: reason=\S+)?(?: duration=\d+\.\d{3}ms)?(?: bytes=\d+)?(?: "(?:[^"\\]|\\.)*")?(?: (.*))?/#
    let match = try #require(try pattern.wholeMatch(in: line), "\(line)")
    return Event(
      level: String(match.1), address: match.2.map(String.init), account: match.3.map(String.init),
      space: match.4.map(String.init), status: match.5.flatMap { Int($0) },
      message: match.6.map(String.init) ?? "")
  }

  @Test("By default it has what was refused, the start and the stop; --log-level changes that")
  func levels() async throws {
    let secret = try await make(token: "ada", "--space notes --write")
    for (options, hasStart, hasAccess) in [
      ([], true, false), (["--log-level", "warning"], false, false),
      (["--log-level", "info"], true, true),
    ] {
      let tool = try serve(options)
      let url = try await tool.servedURL()
      #expect(try await status("\(url)/v1/spaces", secret) == 200)
      #expect(try await status("\(url)/v1/spaces", "wrong") == 401)
      let lines = await lines(after: SIGINT, to: tool)
      #expect(lines.contains { $0.contains(" serves on ") } == hasStart)
      #expect(lines.contains { $0.contains("stops after SIGINT") } == hasStart)
      #expect(lines.contains { $0.contains(" status=200 ") } == hasAccess)
      let refused = lines.filter { $0.contains(" status=401 reason=unauthenticated ") }
      #expect(refused.count == 1 && refused[0].contains(" warning address=127.0.0.1 "))
    }
  }

  @Test("An error that ends the server is logged in the chosen form")
  func error() async throws {
    let result = try await Tool.shell(
      "$tandem serve --data /proc/none --listen 127.0.0.1:0 --log json", in: folder)
    #expect(result.status == 1 && result.output == "")
    let event = try Self.event(json: String(result.error.dropLast()))
    #expect(event.level == "error" && event.message.hasPrefix("the server stops: cannot create"))
  }

  @Test("In the journal of systemd, lines begin with their level and have no time")
  func journal() async throws {
    let result = try await Tool.shell(
      """
      : >log; JOURNAL_STREAM=$(stat -c %d:%i log) $tandem serve --data /proc/none 2>log
      : >other; JOURNAL_STREAM=$(stat -c %d:%i log) $tandem serve --data /proc/none 2>other; cat log other
      """, in: folder)
    let lines = result.output.split(separator: "\n")
    try #require(lines.count == 2)
    #expect(lines[0].hasPrefix("<3>error the server stops: cannot create"))
    #expect(lines[1].contains("Z error the server stops: cannot create"))
  }

  @Test("After the end of the reader of the log, the server goes on")
  func brokenPipe() async throws {
    let tool = try RunningTool(
      [
        "-c",
        """
        cd "$0" && mkfifo log && (read line <log) & cd "$0"; while ! [ -p log ]; do :; done
        exec "$1" serve --data spaces --listen 127.0.0.1:0 --log-level info 2>log
        """, folder.path, Tool.path,
      ], executable: "/bin/sh")
    let url = try await tool.servedURL()
    for _ in 0..<20 { #expect(try await status("\(url)/healthz") == 200) }
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
  }

  @Test("A reader that is too slow holds nobody up; the log says how many lines it lost")
  func slowReader() {
    let lines = Mutex<[String]>([])
    let reader = DispatchSemaphore(value: 0)
    let log = ServerLog(ServerLogFormat(isJSON: false, isForJournal: true), level: .info) { line in
      reader.wait()
      reader.signal()
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    for number in 1...ServerLog.maxWaitingCount + 5 { log.add(ServerEvent(.info, "\(number)")) }
    reader.signal()
    var all: [String] = []
    while all.count <= ServerLog.maxWaitingCount {
      log.flush()
      all = lines.withLock { $0 }
    }
    #expect(all[0] == "<6>info 1\n")
    #expect(all[1] == "<4>warning the log lost 5 lines: its reader is too slow\n")
    #expect(all.last == "<6>info \(ServerLog.maxWaitingCount)\n")
    #expect(all.count == ServerLog.maxWaitingCount + 1)
  }
}
