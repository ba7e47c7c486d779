import Tandem

/// A connection of a link for a program without a hub, which prints values or sends some.
struct LinkPeerSession {
  private let connection: any ChannelConnection
  private let role: ChannelLinkRole
  private var reader = LinkFrameReader(maxFrameByteCount: Self.maxFrameByteCount)
  /// The number of the last frame, if it is not acknowledged.
  private var unacknowledged: UInt64?

  private static let maxFrameByteCount = ChannelLinkOptions().maxFrameByteCount

  init(_ connection: any ChannelConnection, as role: ChannelLinkRole) {
    self.connection = connection
    self.role = role
  }

  /// Exchanges greetings; returns the messages that came with the peer's greeting.
  ///
  /// - Throws: `ChannelLinkError` if the peer has not greeted in time, or uses another version.
  mutating func greet(by deadline: PeerDeadline) async throws -> [ChannelMessage] {
    do {
      return try await exchangeGreetings(by: deadline)
    } catch var error as ChannelLinkError where error.code == .connection && role == .connecting {
      // A listener refuses a connection without a message.
      error.message += "; perhaps all places of the peer are taken"
      throw error
    }
  }

  private mutating func exchangeGreetings(
    by deadline: PeerDeadline
  ) async throws -> [ChannelMessage] {
    let (connection, role, reader) = (connection, role, reader)
    let answer = try await connection.result(by: deadline) {
      var reader = reader
      if role == .connecting {
        try await connection.send(
          .hello(.connecting(client: nil, epoch: nil, sequence: nil)))
      }
      while let bytes = try await connection.receive() {
        let frames = try reader.frames(adding: bytes)
        guard let first = frames.first else { continue }
        try Self.check(first, for: role)
        if role == .listening {
          try await connection.send(
            .hello(.listening(epoch: .random(in: .min ... .max), acknowledged: 0)))
        }
        return (reader: reader, frames: frames)
      }
      throw reader.isComplete
        ? ChannelLinkError(.connection, "the peer has ended the connection without a greeting")
        : ChannelLinkError(.malformed, "the peer ended within a message")
    }
    guard let answer else {
      throw ChannelLinkError(.timedOut, "the peer has not answered within \(deadline.limit)")
    }
    self.reader = answer.reader
    return messages(in: answer.frames)
  }

  private static func check(_ frame: LinkFrame, for role: ChannelLinkRole) throws {
    switch (frame, role) {
    case (.hello(.listening), .connecting), (.hello(.connecting), .listening): return
    case (.hello, .connecting):
      throw ChannelLinkError(.role, "the peer connects, too; it does not listen")
    case (.hello, .listening):
      throw ChannelLinkError(.role, "the peer listens, too; use --connect")
    case (.values, _):
      throw ChannelLinkError(.malformed, "the peer sent values before its greeting")
    }
  }

  /// Waits for messages; returns `nil` at the end of the connection, or if the task is cancelled.
  mutating func messages() async throws -> [ChannelMessage]? {
    let connection = connection
    let bytes = try await withTaskCancellationHandler {
      try await connection.receive()
    } onCancel: {
      connection.close()
    }
    if let bytes { return messages(in: try reader.frames(adding: bytes)) }
    if !reader.isComplete, !Task.isCancelled {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
    return nil
  }

  private mutating func messages(in frames: [LinkFrame]) -> [ChannelMessage] {
    for case .values(let values) in frames { unacknowledged = values.number ?? unacknowledged }
    return frames.flatMap(\.messages)
  }

  /// Acknowledges all messages so far.
  mutating func acknowledge() async throws {
    guard let number = unacknowledged else { return }
    unacknowledged = nil
    var values = LinkValues([])
    values.acknowledged = number
    try await connection.send(.values(values))
  }

  /// Sends a message, and waits until the peer has acknowledged it.
  ///
  /// - Throws: `ChannelLinkError` if the peer has not acknowledged it in time, or has ended the connection.
  func send(_ message: ChannelMessage, by deadline: PeerDeadline) async throws {
    let (connection, reader) = (connection, reader)
    let isRead: Bool? = try await connection.result(by: deadline) {
      try await connection.send(.values(LinkValues([message], number: 1)))
      var reader = reader
      while let bytes = try await connection.receive() {
        for case .values(let values) in try reader.frames(adding: bytes)
        where values.acknowledged != nil { return true }
      }
      throw ChannelLinkError(
        .connection, "the peer has ended the connection without taking the values")
    }
    guard isRead == true else {
      throw ChannelLinkError(
        .timedOut, "the peer has not read the values within \(deadline.limit)")
    }
  }
}

extension ChannelConnection {
  fileprivate func send(_ frame: LinkFrame) async throws {
    try await send(frame.bytes(maxByteCount: ChannelLinkOptions().maxFrameByteCount))
  }
}
