import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem serve", .serialized, .timeLimit(.minutes(20)))
struct ServeCommandTests {
  @Test("It prints its address, serves until SIGTERM, and ends with 0")
  func wholeLife() async throws {
    let folder = try TemporaryFolder()
    let data = folder.path(of: "spaces")
    let tool = try RunningTool(["serve", "--data", data, "--listen", "127.0.0.1:0", "--json"])
    let line = try #require(await tool.line())
    #expect(line.wholeMatch(of: #/{"event":"listening","url":"http://127\.0\.0\.1:\d+"}/#) != nil)
    #expect(await tool.errorLine()?.contains("without access tokens") == true)
    #expect(await tool.errorLine()?.contains("there are no spaces yet") == true)
    let url = try #require(line.split(separator: "\"").last { $0.hasPrefix("http") })
    #expect(try await answer("\(url)/healthz").text == #"{"status":"ok"}"#)
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
    #expect(await tool.line() == #"{"event":"stopped"}"#)
  }

  @Test(
    "What is not closed is refused with the remedy",
    arguments: [
      ("--data x --listen 0.0.0.0:0", "--tokens"), ("--data x --listen '[::]:0'", "--tokens"),
      ("--data x --tokens nothing", "tandem token create"), ("--data x --tls-cert c", "--tls-key"),
      ("--data x --tls-cert nothing --tls-key nothing", "cannot read nothing"),
      ("--data x --listen unix:x", "HOST:PORT"),
      ("--data x --max-header 511", "at least 512 bytes"),
      ("--data /proc/none", "cannot create the directory"),
    ])
  func refusals(arguments: String, part: String) async throws {
    let folder = try TemporaryFolder()
    let result = try await Tool.shell("\"$tandem\" serve \(arguments)", in: folder)
    #expect(result.status == 1 || result.status == 2)
    #expect(result.error.contains(part), "\(result.error)")
    #expect(result.output == "")
  }

  @Test(
    "A token is printed once, alone on the last line; the file, logs and databases never have it")
  func tokenIsSecret() async throws {
    let folder = try TemporaryFolder()
    let made = try await Tool.shell(
      "\"$tandem\" token create --tokens tokens --account ada --space notes --write", in: folder)
    #expect(made.status == 0)
    let secret = String(made.output.dropLast())
    #expect(secret.wholeMatch(of: #/tandem_[A-Za-z0-9_-]{43}/#) != nil)
    #expect(!made.error.contains(secret))
    let permissions = try FileManager.default.attributesOfItem(
      atPath: folder.path(of: "tokens"))[.posixPermissions]
    #expect(permissions as? Int == 0o600)
    let tool = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "tokens"),
      "--listen", "127.0.0.1:0", "--json",
    ])
    let url = try await tool.servedURL()
    func status(
      _ path: String, _ secret: String, _ body: String? = nil
    ) async throws -> (Int, String) {
      let answer = try await answer("\(url)\(path)", secret: secret, body: body)
      return (answer.status, answer.text)
    }
    let tables = #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#
    #expect(try await status("/v1/spaces/notes/tables", secret, tables).0 == 200)
    #expect(try await status("/v1/spaces/notes", secret + "x").0 == 401)
    var answers = [try await status("/v1/spaces/notes/changes", secret).1]
    answers.append(try await status("/v1/spaces/other", secret).1)
    answers.append(try await status("/metrics", secret).1)
    // A space whose file is damaged makes the server log an error of a request with the token.
    try folder.write(String(repeating: "no database ", count: 100), to: "spaces/notes2.space")
    let all = try await Tool.shell(
      "\"$tandem\" token create --tokens tokens --account eve --space '*'", in: folder)
    let secretOfAll = String(all.output.dropLast())
    let damaged = try await status("/v1/spaces/notes2", secretOfAll)
    #expect(damaged.0 == 503)
    answers.append(damaged.1)
    var logged = try #require(await tool.errorLine())
    while !logged.contains(" error ") {
      answers.append(logged)
      logged = try #require(await tool.errorLine())
    }
    #expect(logged.contains("notes2"))
    let list = try await Tool.shell("\"$tandem\" token list --tokens tokens --json", in: folder)
    #expect(list.output.split(separator: "\n").count == 2)
    answers += [list.output, list.error, logged]
    // A revoked token is refused at once.
    let revoked = try await Tool.shell(
      "\"$tandem\" token revoke --account ada --tokens tokens", in: folder)
    #expect(revoked.status == 0, "\(revoked.error)")
    #expect(try await status("/v1/spaces/notes", secret).0 == 401)
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
    for file in folder.files() {
      answers.append(String(decoding: folder.bytes(of: file), as: UTF8.self))
    }
    while let line = await tool.errorLine() { answers.append(line) }
    for text in answers {
      #expect(!text.contains(secret) && !text.contains(secretOfAll))
    }
  }

  @Test("A second server of the same directory is refused, also with another address")
  func secondServer() async throws {
    let folder = try TemporaryFolder()
    let arguments = ["serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0"]
    let tool = try RunningTool(arguments)
    _ = try #require(await tool.line())
    let second = try await Tool.run(arguments)
    #expect(second.status == 1 && second.output == "")
    #expect(second.error.contains("another server serves the directory"), "\(second.error)")
    tool.signal(SIGKILL)
    #expect(await tool.end() == -SIGKILL)
    let third = try RunningTool(arguments)
    #expect(await third.line()?.contains("listening") == true)
    third.signal(SIGTERM)
    #expect(await third.end() == 0)
  }

  @Test("SIGHUP reads the certificate, the key and the tokens again, and ends nothing")
  func reload() async throws {
    let folder = try TemporaryFolder()
    let make = { (name: String) in
      try await Tool.shell(
        """
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
          -subj /CN=\(name) -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null
        cp cert.pem \(name).pem
        """, in: folder)
    }
    _ = try await make("first")
    let token = try await Tool.shell(
      "\"$tandem\" token create --tokens tokens --account ada --space notes", in: folder)
    let tool = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "tokens"),
      "--listen", "127.0.0.1:0", "--tls-cert", folder.path(of: "cert.pem"),
      "--tls-key", folder.path(of: "key.pem"), "--json",
    ])
    let url = try await tool.servedURL()
    func status(trusting name: String) async throws -> Int? {
      var options = HTTPClientOptions()
      options.certificateAuthorityFile = folder.path(of: "\(name).pem")
      var request = HTTPRequest("GET", url: "\(url)/v1/spaces")
      request.fields["Authorization"] = "Bearer \(token.output.dropLast())"
      do {
        return try await SystemHTTPClient(options: options).response(
          to: request, maxBodyByteCount: 1 << 20
        ).head.status
      } catch let error as TransportError where error.code == .tlsFailure {
        return nil
      }
    }
    #expect(try await status(trusting: "first") == 200)
    _ = try await make("second")
    #expect(try await status(trusting: "second") == nil)
    tool.signal(SIGHUP)
    #expect(await tool.line() == #"{"event":"reloaded"}"#)
    #expect(try await status(trusting: "second") == 200)
    #expect(try await status(trusting: "first") == nil)
    // What cannot be used is reported.
    try folder.write("no certificate", to: "cert.pem")
    tool.signal(SIGHUP)
    func nextError() async -> String {
      while let line = await tool.errorLine() { if line.contains(" error ") { return line } }
      return ""
    }
    #expect(await nextError().contains("The former certificate stays in use"))
    #expect(try await status(trusting: "second") == 200)
    try folder.write("no tokens", to: "tokens")
    tool.signal(SIGHUP)
    #expect(await nextError().contains("certificate"))
    #expect(await nextError().contains("no token is accepted"))
    #expect(try await status(trusting: "second") == 503)
    tool.signal(SIGTERM)
    #expect(await tool.end() == 0)
  }

  @Test("after its terminal has closed, SIGHUP ends the server")
  func closedTerminal() async throws {
    let folder = try TemporaryFolder()
    let terminal = try TestTerminal()
    let tool = try RunningTool(
      ["serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0", "--json"],
      terminal: terminal)
    #expect(await tool.line()?.contains("listening") == true)
    tool.signal(SIGHUP)
    #expect(await tool.line() == #"{"event":"reloaded"}"#)
    try await terminal.close()
    tool.signal(SIGHUP)
    #expect(await tool.line() == #"{"event":"stopped"}"#)
    #expect(await tool.end() == 0)
  }

  #if os(Linux)
    @Test("systemd is notified of the start, of a reload, of the end, and that the server is alive")
    func notifications() async throws {
      let folder = try TemporaryFolder()
      let socket = try NotificationSocket(path: folder.path(of: "notify"))
      let tool = try RunningTool(
        [
          "NOTIFY_SOCKET=\(folder.path(of: "notify"))", "WATCHDOG_USEC=20000", Tool.path, "serve",
          "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0",
        ], executable: "/usr/bin/env")
      #expect(await socket.next() == "READY=1")
      for _ in 0..<3 { #expect(await socket.next() == "WATCHDOG=1") }
      tool.signal(SIGHUP)
      let reload = await socket.next { $0 != "WATCHDOG=1" }
      #expect(reload.wholeMatch(of: #/RELOADING=1\nMONOTONIC_USEC=\d+/#) != nil)
      #expect(await socket.next { $0 != "WATCHDOG=1" } == "READY=1")
      tool.signal(SIGTERM)
      #expect(await socket.next { $0 != "WATCHDOG=1" } == "STOPPING=1")
      #expect(await tool.end() == 0)
    }

    /// Receives what a program sends to systemd.
    private final class NotificationSocket {
      private let messages: AsyncStream<String>
      private var iterator: AsyncStream<String>.Iterator

      init(path: String) throws {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
        try #require(status == 0)
        let (messages, continuation) = AsyncStream<String>.makeStream()
        self.messages = messages
        iterator = messages.makeAsyncIterator()
        Thread.detachNewThread {
          var bytes = [UInt8](repeating: 0, count: 4_096)
          while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            continuation.yield(String(decoding: bytes[..<count], as: UTF8.self))
          }
        }
      }

      /// The next message for which a condition holds.
      func next(where condition: (String) -> Bool = { _ in true }) async -> String {
        while let message = await iterator.next() { if condition(message) { return message } }
        return ""
      }
    }
  #endif

  @Test("A token that could not be printed is removed again", arguments: ["", "--json"])
  func tokenThatIsNotPrinted(option: String) async throws {
    let folder = try TemporaryFolder()
    let create = "\"$tandem\" token create --tokens t --account ada --space x \(option)"
    #expect(try await Tool.shell("\(create) > known", in: folder).status == 0)
    let full = try await Tool.shell("\(create) > /dev/full", in: folder)
    #expect(full.status == 1 && full.error.contains("cannot write output"), "\(full.error)")
    #expect(!full.error.contains("keep it"))
    let list = try await Tool.shell("\"$tandem\" token list --tokens t", in: folder)
    #expect(list.output.split(separator: "\n").count == 1)
  }

  @Test("Tokens are revoked by their ID or account; what does not exist is an error")
  func tokens() async throws {
    let folder = try TemporaryFolder()
    let made = try await Tool.shell(
      """
      for a in ada bob bob; do "$tandem" token create --tokens t --account $a --space x --space y; done
      "$tandem" token list --tokens t
      """, in: folder)
    let lines = made.output.split(separator: "\n")
    #expect(lines.count == 6)
    #expect(lines.last?.wholeMatch(of: #/[0-9a-f]{12} bob read x,y/#) != nil)
    let id = try #require(lines[3].split(separator: " ").first)
    let json = try await Tool.shell(
      "\"$tandem\" token create --tokens t --account eve --space x --json", in: folder)
    let object = try #require(
      try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    #expect((object["token"] as? String)?.hasPrefix("tandem_") == true)
    #expect(object["account"] as? String == "eve" && object["access"] as? String == "read")
    #expect(json.output.split(separator: "\n").count == 1 && json.error.isEmpty)
    let scraper = try await Tool.shell(
      """
      "$tandem" token create --tokens m --account prometheus --metrics && "$tandem" token list --tokens m
      """, in: folder)
    #expect(scraper.error.contains("of prometheus may read /metrics; keep it"), "\(scraper.error)")
    #expect(scraper.output.hasSuffix(" prometheus metrics -\n"))
    let ofBob = try await Tool.shell(
      "\"$tandem\" token list --account bob --tokens t", in: folder)
    #expect(ofBob.output.split(separator: "\n").count == 2)
    _ = try await Tool.shell("\"$tandem\" token revoke --account eve --tokens t", in: folder)
    let revoked = try await Tool.shell("\"$tandem\" token revoke \(id) --tokens t", in: folder)
    #expect(revoked.status == 0)
    let again = try await Tool.shell("\"$tandem\" token revoke \(id) --tokens t", in: folder)
    #expect(again.status == 1)
    #expect(again.error.contains("tandem token list"))
    let rest = try await Tool.shell(
      "\"$tandem\" token revoke --account bob --tokens t; \"$tandem\" token list --tokens t",
      in: folder)
    #expect(rest.output == "")
    for arguments in [
      "create --tokens t --account 'a b' --space x", "create --tokens t --account a --space ../x",
      "create --tokens t --account a --metrics --space x",
      "create --tokens t --account a --metrics --write",
      "create --tokens t --account a --metrics --members",
      "create --tokens t --account a --metrics --create x",
      "create --tokens t --account a", "create --tokens t --account a --space x --space '*'",
      "revoke --tokens t", "drop --tokens t", "list", "list x --tokens t",
      "revoke --account bob --space x --tokens t", "list --write --tokens t",
    ] {
      #expect(try await Tool.shell("\"$tandem\" token \(arguments)", in: folder).status == 2)
    }
  }

  @Test("A token has an end and a note, and is rotated without a gap")
  func tokensWithEnds() async throws {
    let folder = try TemporaryFolder()
    func token(_ arguments: String, status: Int32 = 0) async throws -> Tool.Result {
      let result = try await Tool.shell("\"$tandem\" token \(arguments)", in: folder)
      #expect(result.status == status, "\(arguments): \(result.error)")
      return result
    }
    let first = try await token(
      "create --tokens t --account ada --space 'n-*' --write --expires 9000-01-31T01:00+01:00 --note \"Ada's #1\""
    )
    let line = try await token("list --tokens t").output
    let id = String(line.prefix(12))
    #expect(line == "\(id) ada write n-* expires=9000-01-31T00:00:00Z # Ada's #1\n")
    for arguments in [
      "create --tokens t --account a --space x --expires 2020-01-01",
      "create --tokens t --account a --space x --expires 0d",
      "create --tokens t --account a --space x --expires 2027-02-29",
      "create --tokens t --account a --space x --expires soon",
      "create --tokens t --account a --space x --note \"$(printf 'a\\nb')\"",
      "create --tokens t --account a --space x --note a --note b",
      "create --tokens t --account a --space 'x*y'",
      "create --tokens t --account a --space x --overlap 1d",
      "create --tokens t --store x --account a --space x", "rotate --tokens t",
      "create --tokens t --create-store --account a --space x", "rotate \(id) --tokens t",
      "list --tokens t --expires 1d", "rotate \(id) --account ada --tokens t --expires 1d",
    ] { _ = try await token(arguments, status: 2) }
    let second = try await token("rotate \(id) --tokens t --expires 90d --overlap 30m")
    let lines = try await token("list --tokens t").output.split(separator: "\n")
    #expect(lines.count == 2 && lines.allSatisfy { $0.contains("ada write n-* expires=") })
    #expect(
      lines[0].hasPrefix(id) && !lines[0].contains("9000") && lines[1].hasSuffix("# Ada's #1"))
    _ = try await token("rotate 000000000000 --tokens t", status: 1)
    // A line of a person is named, and stops no other one.
    _ = try await Tool.shell("echo tandem_secret ada write >> t", in: folder)
    let server = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--tokens", folder.path(of: "t"), "--listen",
      "127.0.0.1:0", "--json",
    ])
    let url = try await server.servedURL()
    for secret in [first.output, second.output] {
      let answer = try await answer(
        "\(url)/v1/spaces", secret: String(secret.dropLast()), body: nil)
      #expect(answer.status == 200)
    }
    _ = try await token("rotate \(id) --tokens t --expires 90d --overlap 0m")
    _ = try await Tool.shell("sed -i 's/expires=[^ ]*/expires=2020-01-01/' t", in: folder)
    let refused = try await answer(
      "\(url)/v1/spaces", secret: String(second.output.dropLast()), body: nil)
    #expect(refused.status == 401)
    server.signal(SIGTERM)
    #expect(await server.end() == 0)
    var errors = ""
    while let line = await server.errorLine() { errors += line + "\n" }
    #expect(errors.contains("line 4 is not") && !errors.contains("tandem_secret"), "\(errors)")
    let list = try await token("list --tokens t --json")
    #expect(list.error.contains("line 4 is not") && !list.error.contains("tandem_secret"))
    let objects = try list.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
    #expect(objects.count == 3 && objects.allSatisfy { $0["note"] as? String == "Ada's #1" })
    #expect(objects.map { $0["used"] is String } == [true, true, false])
  }

  @Test("The log shows the commits of a space, with accounts and overruled versions")
  func log() async throws {
    let folder = try TemporaryFolder()
    let tool = try RunningTool([
      "serve", "--data", folder.path(of: "spaces"), "--listen", "127.0.0.1:0",
    ])
    let line = try #require(await tool.line())
    let url = String(line.split(separator: " ").last ?? "")
    func post(_ path: String, _ body: String? = nil) async throws -> String {
      try await answer("\(url)/v1/spaces/notes\(path)", body: body).text
    }
    _ = try await post(
      "/tables", #"[{"name":"t","key":["id"],"columns":["a"],"granularity":"field"}]"#)
    let state = try SyncMessageReader().state(Array(try await post("").utf8))
    let token = String(repeating: "a0", count: 16)
    let outcome = try await post(
      "/commits",
      """
      {"replica":"\(token)","sequence":1,"commit":"\(token)","base":"\(state.head)",
      "changes":[{"table":"t","id":[1],"insert":{"a":"x"}}],
      "overruled":[{"table":"t","id":[2],"version":0,"fields":{"a":"lost"}}]}
      """)
    #expect(outcome.contains("accepted"))
    let text = try await Tool.shell("\"$tandem\" log --data spaces --space notes", in: folder)
    let lines = text.output.split(separator: "\n")
    #expect(
      lines.dropFirst().first?.wholeMatch(
        of: #/1 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  - +(a0){16}  1 in t/#) != nil,
      "\(text.output) \(text.error)")
    #expect(lines.last?.contains(#"{"a":"lost"}"#) == true)
    let json = try await Tool.shell(
      "\"$tandem\" log --data spaces --space notes --json", in: folder)
    #expect(
      json.output.contains(
        #""overruled":[{"table":"t","id":[2],"version":0,"fields":{"a":"lost"}}]"#))
    let unknown = try await Tool.shell("\"$tandem\" log --data spaces --space note", in: folder)
    #expect(unknown.status == 1)
    #expect(unknown.error.contains("did you mean notes?"))
    tool.signal(SIGINT)
    #expect(await tool.end() == 0)
  }
}
