import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

/// What `tandem channel` makes of peers that answer wrongly, or not at all, and of readers that go away.
@Suite("tandem channel: answers", .timeLimit(.minutes(20)))
struct ChannelAnswerTests {
  let folder: TemporaryFolder
  private var socket: String { folder.path(of: "s") }

  init() throws { folder = try TemporaryFolder() }

  private func send(timeout: String) async throws -> Tool.Result {
    try await Tool.run([
      "channel", "send", "unix:\(socket)", "--subject", "User", "--id", "1", "age=1", "--timeout",
      timeout,
    ])
  }

  @Test("send: who does not speak this version, or says something else, is trouble")
  func otherAnswers() async throws {
    let hello = try LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(maxByteCount: 100)
    let answers: [([UInt8], String)] = [
      (
        [0, 0, 0, 2, 3, 0x7B],
        "tandem: the peer does not speak version 5; use the same version of Tandem on both sides\n"
      ),
      (Array("HTTP/1.0 400 Bad Request\r\n\r\n".utf8), "tandem: the peer sent a message of "),
      (
        [],
        "tandem: the peer has ended the connection without a greeting; perhaps all places of the peer are taken\n"
      ),
      (hello.dropLast(), "tandem: the peer ended within a message\n"),
    ]
    for (answer, message) in answers {
      let listener = try SocketListener(at: .unix(path: socket))
      let peer = Task {
        let connection = try await listener.accept()
        _ = try await connection?.receive()
        try await connection?.send(answer)
        connection?.close()
      }
      let sent = try await send(timeout: "3600")
      #expect(sent.status == 1 && sent.error.hasPrefix(message), "\(sent.error)")
      try await peer.value
      listener.close()
    }
  }

  @Test("send: a refused connection is named as one")
  func refusal() async throws {
    let listener = try SocketListener(at: .unix(path: socket))
    let peer = Task { while let connection = try await listener.accept() { connection.refuse() } }
    let sent = try await send(timeout: "3600")
    #expect(sent.status == 1)
    #expect(
      sent.error.hasSuffix(" the connection; perhaps all places of the peer are taken\n")
        || sent.error.hasSuffix(" without a greeting; perhaps all places of the peer are taken\n"),
      "\(sent.error)")
    listener.close()
    try await peer.value
  }

  @Test("send: who does not answer, or does not read, is given up", arguments: [false, true])
  func silence(greets: Bool) async throws {
    let listener = try SocketListener(at: .unix(path: socket))
    let peer = Task {
      var connections: [any ChannelConnection] = []
      while let connection = try await listener.accept() {
        connections.append(connection)
        let hello = try LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(
          maxByteCount: 100)
        // Whoever has waited long enough for it has gone.
        if greets { try? await connection.send(hello) }
      }
    }
    let silence = "tandem: the peer has not answered within "
    var (timeout, error) = (0.0625, silence)
    // However long either process takes to connect or to greet.
    repeat {
      timeout *= 2
      let sent = try await send(timeout: "\(timeout)")
      #expect(sent.status == 1)
      error = sent.error
    } while error.hasPrefix("tandem: unix:") || greets && error.hasPrefix(silence)
    #expect(
      error
        == (greets ? "tandem: the peer has not read the values within " : silence)
        + "\(timeout) seconds\n")
    listener.close()
    try await peer.value
  }

  @Test("listen: who connects and says nothing is told of, and makes room")
  func idle() async throws {
    let listener = try RunningTool(["channel", "listen", "unix:\(socket)", "--timeout", "0.05"])
    _ = await listener.errorLine()
    let connection = try await SocketConnection.connect(to: .unix(path: socket))
    #expect(await listener.errorLine() == "tandem: the peer has not answered within 0.05 seconds")
    // The end.
    while try await connection.receive() != nil {}
    listener.signal(SIGTERM)
    #expect(await listener.end() == 0)
  }

  @Test("listen --connect: says why it waits, once for each reason")
  func reasons() async throws {
    let listener = try RunningTool([
      "channel", "listen", "--connect", "unix:\(socket)", "--timeout", "3600",
    ])
    let waiting = "tandem: waiting for unix:\(socket): "
    #expect(
      await listener.errorLine()
        == waiting + "cannot use unix:\(socket): No such file or directory")
    let peer = try SocketListener(at: .unix(path: socket))
    let connection = try #require(await peer.accept())
    _ = try await connection.receive()
    try await connection.send([0, 0, 0, 2, 3, 0x7B])
    #expect(
      await listener.errorLine() == waiting
        + "the peer does not speak version 5; use the same version of Tandem on both sides")
    connection.close()
    let next = try #require(await peer.accept())
    try await next.send(
      LinkFrame.hello(.listening(epoch: 1, acknowledged: 0)).bytes(maxByteCount: 100))
    // What is not read by then would make this an end in bad order.
    _ = try await next.receive()
    next.close()
    #expect(await listener.errorLine() == waiting + "the peer has ended the connection")
    listener.signal(SIGTERM)
    #expect(await listener.end() == 0)
    peer.close()
  }

  @Test("listen --connect: what can never be connected to is trouble at once")
  func impossible() async throws {
    try folder.write("mine", to: "file")
    let long = folder.path(of: String(repeating: "x", count: 120))
    for (path, words) in [
      (long, "the path of a socket has at most"), (folder.path(of: "file"), "no socket"),
    ] {
      let result = try await Tool.run(["channel", "listen", "--connect", "unix:\(path)"])
      #expect(result.status == 1 && result.output.isEmpty)
      #expect(result.error.contains(words) && !result.error.contains("waiting"))
    }
  }

  @Test("listen: ends when nobody reads its output any more", arguments: ["", "--connect"])
  func closure(option: String) async throws {
    let result = try await Tool.shell(
      """
      ("$tandem" channel listen \(option) 'unix:\(socket)' 2>error; echo $? >status) | true
      while ! [ -s status ]; do :; done; cat status
      """, in: folder)
    #expect(result.output == "\(128 + SIGPIPE)\n")
    #expect(!FileManager.default.fileExists(atPath: socket))
  }
}
