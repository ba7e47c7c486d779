import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem channel", .timeLimit(.minutes(20)))
struct ChannelCommandTests {
  let folder: TemporaryFolder
  private var socket: String { folder.path(of: "s") }

  init() throws { folder = try TemporaryFolder() }

  @Test("what is sent is printed, for people and as JSON, over a Unix-domain socket and TCP")
  func sending() async throws {
    for (address, isJSON) in [("unix:\(socket)", false), (":0", true)] {
      let listener = try RunningTool(
        ["channel", "listen", address, "--subject", "User", "--count", "2", "--timeout", "3600"]
          + (isJSON ? ["--json"] : []))
      let note = try #require(await listener.errorLine())
      let actual = try #require(note.split(separator: " ").last.map(String.init))
      #expect(note == "tandem: listening at \(actual)")
      for (subject, id) in [("Car", "1"), ("User", "1"), ("User", "a b")] {
        let sent = try await Tool.run([
          "channel", "send", actual, "--subject", subject, "--id", id, "name=\"Tom\\u001b\"",
          "age=30", "--timeout", "3600",
        ])
        #expect(sent.status == 0 && sent.output.isEmpty && sent.error.isEmpty)
      }
      let lines =
        isJSON
        ? [
          #"{"id":1,"subject":"User","values":{"age":30,"name":"Tom\u001b"}}"#,
          #"{"id":"a b","subject":"User","values":{"age":30,"name":"Tom\u001b"}}"#,
        ]
        : [#"User 1  age=30  name="Tom\u001b""#, #"User "a b"  age=30  name="Tom\u001b""#]
      for line in lines { #expect(await listener.line() == line) }
      #expect(await listener.line() == nil)
      #expect(await listener.end() == 0)
    }
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  @Test("Ctrl-C ends it in good order, with the socket's file", arguments: [SIGINT, SIGTERM])
  func interrupting(signalNumber: Int32) async throws {
    let listener = try RunningTool([
      "channel", "listen", "unix:\(socket)", "--timeout", "3600",
    ])
    #expect(await listener.errorLine() == "tandem: listening at unix:\(socket)")
    let connection = try await SocketConnection.connect(to: .unix(path: socket))
    listener.signal(signalNumber)
    #expect(await listener.end() == 0)
    connection.close()
    #expect(!FileManager.default.fileExists(atPath: socket))

    let connecting = try RunningTool(["channel", "listen", "--connect", "unix:\(socket)"])
    #expect(await connecting.errorLine()?.hasPrefix("tandem: waiting for unix:\(socket): ") == true)
    connecting.signal(signalNumber)
    #expect(await connecting.end() == 0)
  }

  @Test("an id that is typed as a number finds the text of its digits, and no other")
  func ids() async throws {
    let listener = try RunningTool([
      "channel", "listen", "unix:\(socket)", "--id", "1", "--count", "2", "--timeout", "3600",
    ])
    _ = await listener.errorLine()
    // The last one only ends a listener that has missed another.
    for id in ["\"2\"", "\"1\"", "true", "1", "1"] {
      _ = try await Tool.run([
        "channel", "send", socket, "--subject", "User", "--id", id, "age=1", "--timeout", "3600",
      ])
    }
    #expect(await listener.line() == "User \"1\"  age=1")
    #expect(await listener.line() == "User 1  age=1")
    #expect(await listener.end() == 0)
  }

  @Test("a malformed message is reported, and the next one is printed")
  func malformed() async throws {
    let listener = try RunningTool([
      "channel", "listen", "unix:\(socket)", "--count", "1", "--timeout", "3600",
    ])
    _ = await listener.errorLine()
    let inputs: [([UInt8], String)] = [
      (
        Array("GET / HTTP/1.1\r\n\r\n".utf8),
        "tandem: the peer sent a message of 1195725856 bytes"
      ),
      (
        [0, 0, 0, 2, 9, 9],
        "tandem: the peer does not speak version 5; use the same version of Tandem on both sides"
      ),
      ([0, 0, 0, 9, 5], "tandem: the peer ended within a message"),
    ]
    for (bytes, message) in inputs {
      let connection = try await SocketConnection.connect(to: .unix(path: socket))
      try await connection.send(bytes)
      connection.finishSending()
      #expect(await listener.errorLine() == message)
      connection.close()
    }
    let sent = try await Tool.run([
      "channel", "send", socket, "--subject", "User", "--id", "1", "age=1", "--timeout", "3600",
    ])
    #expect(sent.status == 0)
    #expect(await listener.line() == "User 1  age=1")
    #expect(await listener.end() == 0)
  }

  @Test("one that cannot write ends with an error, and without the socket's file")
  func fullOutput() async throws {
    let full = FileManager.default.fileExists(atPath: "/dev/full")
    let result = try await Tool.shell(
      """
      "$tandem" channel listen 'unix:\(socket)' --timeout 3600 >\(full ? "/dev/full" : "&-") 2>error & listener=$!
      while ! grep -q listening error; do :; done
      "$tandem" channel send 'unix:\(socket)' --subject User --id 1 age=1 --timeout 3600
      wait $listener; echo $?
      """, in: folder)
    #expect(result.output == "1\n")
    let error = try folder.text(of: "error")
    #expect(error.split(separator: "\n").count == 2 && error.contains("tandem: "))
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  @Test("where nobody listens, or somebody else does, is trouble: exit status 1")
  func trouble() async throws {
    try folder.write("mine", to: "file")
    let send = ["--subject", "User", "--id", "1", "age=1"]
    // Longer than a part of a name may be, so that no server of names, however slow, is asked.
    let host = String(repeating: "x", count: 64) + ".invalid"
    let refused = [
      ["send", socket] + send, ["send", "127.0.0.1:1"] + send, ["send", "\(host):80"] + send,
      ["listen", folder.path(of: "file")], ["listen", folder.path(of: "missing/s")],
    ]
    for arguments in refused {
      let result = try await Tool.run(["channel"] + arguments)
      #expect(result.status == 1 && result.output.isEmpty, "\(arguments)")
      #expect(result.error.hasPrefix("tandem: "), "\(arguments)")
    }
    #expect(try folder.text(of: "file") == "mine")
  }

  @Test(
    "mistakes are exit status 2, and say what to type",
    arguments: [
      (["listen"], "missing ADDRESS"), (["lsten", ":1"], "did you mean 'listen'?"),
      (["listen", "nowhere"], "'nowhere' is not an address: write unix:PATH, HOST:PORT or :PORT"),
      (["listen", ":1", "x=1"], "unexpected argument 'x=1'"),
      (["listen", ":1", "--count", "0"], "--count takes a number of at least 1"),
      (["listen", ":1", "--timeout", "0"], "--timeout takes seconds"),
      (["send", ":1", "a=1"], "send needs --subject and --id"),
      (["send", ":1", "--subject", "U", "--id", "1"], "send needs values"),
      (["send", ":1", "--subject", "U", "--id", "1", "a"], "'a' is not NAME=JSON"),
      (["send", ":1", "--subject", "U", "--id", "1", "a=1", "a=2"], "'a' is given twice"),
      (["send", ":1", "--subject", "U", "--id", "1", "a=Tom"], "a text needs quotes: a='\"…\"'"),
      (["send", ":1", "--subject", "U", "--id", "1", "a=1", "--json"], "--json is for listen"),
      (
        [
          "send", ":1", "--subject", "U", "--id", "1",
          "a=\(String(repeating: "[", count: 64))\(String(repeating: "]", count: 64))",
        ], "arrays and objects nest deeper than 62"
      ),
    ])
  func mistakes(arguments: [String], words: String) async throws {
    let result = try await Tool.run(["channel"] + arguments)
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.error.contains(words))
  }

  @Test("help has examples")
  func help() async throws {
    let result = try await Tool.run(["channel", "--help"])
    #expect(
      result.status == 0 && result.output.contains("tandem channel send unix:/tmp/app.socket"))
    #expect(result.output.contains("program has read the values"))
    #expect(result.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
  }
}
