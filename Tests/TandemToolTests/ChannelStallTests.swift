import TestTool

#if os(Linux)
  import Foundation
  import Tandem
  import TestFolder
  import Testing

  /// What `tandem channel` does while somebody else takes nothing.
  @Suite("tandem channel: stalls", .timeLimit(.minutes(20)))
  struct ChannelStallTests {
    let folder: TemporaryFolder
    private var socket: String { folder.path(of: "s") }

    init() throws { folder = try TemporaryFolder() }

    @Test(
      "listen: a signal ends it while the reader of its output takes nothing",
      arguments: [SIGINT, SIGTERM])
    func stalledOutput(signalNumber: Int32) async throws {
      let pipe = folder.path(of: "pipe")
      try #require(mkfifo(pipe, 0o600) == 0)
      let reader = open(pipe, O_RDWR | O_NONBLOCK)
      defer { close(reader) }
      let listener = try RunningTool(
        [
          "-c",
          "exec '\(Tool.path)' channel listen 'unix:\(socket)' --timeout 3600 >'\(pipe)'",
        ], executable: "/bin/sh")
      #expect(await listener.errorLine() == "tandem: listening at unix:\(socket)")
      let connection = try await SocketConnection.connect(to: .unix(path: socket))
      try await connection.send(longMessage())
      // It has begun a line that the pipe has no room for.
      while byteCount(reader) == 0 { try await Task.sleep(for: .milliseconds(1)) }
      listener.signal(signalNumber)
      #expect(await listener.errorLine() == nil)
      #expect(await listener.end() == 0)
      #expect(!FileManager.default.fileExists(atPath: socket))
      connection.close()
    }

    /// A greeting, and a message longer than a pipe.
    private func longMessage() throws -> [UInt8] {
      let maxByteCount = ChannelLinkOptions().maxFrameByteCount
      let text = String(repeating: "x", count: 512 << 10)
      let message = ChannelMessage(
        subject: "User", id: .string("1"), values: ["name": .string(text)])
      return try LinkFrame.hello(.connecting(client: nil, epoch: nil, sequence: nil)).bytes(
        maxByteCount: maxByteCount)
        + LinkFrame.values(LinkValues([message])).bytes(maxByteCount: maxByteCount)
    }

    @Test("send: a listener that has no room is waited for no longer than was said")
    func noRoom() async throws {
      let listener = try SocketListener(at: .unix(path: socket))
      var waiting: [SocketConnection] = []
      // One more than may wait, as Linux counts.
      for _ in 0...SocketListener.maxWaitingConnectionCount {
        waiting.append(try await SocketConnection.connect(to: .unix(path: socket)))
      }
      let sent = try await Tool.run([
        "channel", "send", "unix:\(socket)", "--subject", "User", "--id", "1", "age=1",
        "--timeout", "0.25",
      ])
      #expect(sent.status == 1)
      #expect(sent.error == "tandem: unix:\(socket) has not answered within 0.25 seconds\n")
      withExtendedLifetime(waiting) { listener.close() }
    }
  }
#endif
