import Tandem

/// The peer of a connection, for a program that has no clock: it keeps no values, and hands none on.
struct LinkPeerSession {
  private let connection: any ChannelConnection
  private var reader = LinkFrameReader(maxFrameByteCount: ChannelLinkOptions().maxFrameByteCount)

  init(_ connection: any ChannelConnection) { self.connection = connection }

  /// Greets, and waits for the peer's greeting; returns the messages that came with it.
  ///
  /// - Throws: `ChannelLinkError` if none has come in time, or none of this version.
  mutating func greet(by deadline: PeerDeadline) async throws -> [ChannelMessage] {
    let hello = try LinkFrame.hello(counter: nil)
      .bytes(maxByteCount: ChannelLinkOptions().maxFrameByteCount)
    let (connection, reader) = (connection, reader)
    let answer = try await connection.result(by: deadline) {
      try await connection.send(hello)
      var reader = reader
      while let bytes = try await connection.receive() {
        let frames = try reader.frames(adding: bytes)
        if !frames.isEmpty { return (reader: reader, frames: frames) }
      }
      throw ChannelLinkError(
        reader.isComplete ? .connection : .malformed,
        reader.isComplete
          ? "the peer has ended the connection without a greeting"
          : "the peer ended within a message")
    }
    guard let answer else {
      throw ChannelLinkError(.silent, "the peer has not answered within \(deadline.limit)")
    }
    self.reader = answer.reader
    return answer.frames.flatMap(\.messages)
  }

  /// The messages that arrive next, perhaps none; `nil` at the end, and once the task is cancelled.
  mutating func messages() async throws -> [ChannelMessage]? {
    let connection = connection
    let bytes = try await withTaskCancellationHandler {
      try await connection.receive()
    } onCancel: {
      connection.close()
    }
    if let bytes { return try reader.frames(adding: bytes).flatMap(\.messages) }
    if !reader.isComplete, !Task.isCancelled {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
    return nil
  }
}
