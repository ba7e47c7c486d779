import Tandem

/// Prints the messages of a subject and id, up to a number of them.
actor MessagePrinter {
  private let subject: String?
  private let id: JSONValue?
  private let isJSON: Bool
  private let handshakeTimeout: Duration
  private let output = OutputStream(descriptor: STDOUT_FILENO, endsWhenCancelled: true)
  private var remainingCount: Int?

  init(
    subject: String?, id: JSONValue?, isJSON: Bool, count: Int?, handshakeTimeout: Duration
  ) {
    self.subject = subject
    self.id = id
    self.isJSON = isJSON
    self.handshakeTimeout = handshakeTimeout
    remainingCount = count
  }

  var isDone: Bool { remainingCount == 0 }

  /// Prints messages until the peer ends the connection, enough was printed, or the task is cancelled.
  ///
  /// - Throws: `ChannelLinkError` for a malformed frame; `OutputError`.
  func read(_ connection: any ChannelConnection, as role: ChannelLinkRole) async throws {
    // A program that connects too late then notices it.
    if isDone { return connection.refuse() }
    defer { connection.close() }
    var peer = LinkPeerSession(connection, as: role)
    do {
      var next = try await peer.greet(by: PeerDeadline(handshakeTimeout)) as [ChannelMessage]?
      while let messages = next {
        for message in messages { try print(message) }
        if role == .listening { try await peer.acknowledge() }
        next = isDone ? nil : try await peer.messages()
      }
    } catch let error as ChannelLinkError {
      // A connection that was closed because enough was printed is no failure.
      if !isDone, !Task.isCancelled { throw error }
    }
  }

  private func print(_ message: ChannelMessage) throws {
    guard !isDone, subject.map({ $0 == message.subject }) ?? true,
      id.map(message.isFor(typedID:)) ?? true
    else { return }
    let line = isJSON ? json(message) : text(message)
    do {
      try output.write("\(line)\n")
      try output.flush()
      remainingCount = remainingCount.map { $0 - 1 }
    } catch {
      guard error.isCancellation else { throw error }
      // The reader of the output had stalled when the task was cancelled: a line may be incomplete.
      remainingCount = 0
    }
  }

  private func json(_ message: ChannelMessage) -> String {
    JSONValue.object([
      "subject": .string(message.subject), "id": message.id, "values": .object(message.values),
    ]).description
  }

  /// A line such as `User 1  age=30  name="Ann"`.
  private func text(_ message: ChannelMessage) -> String {
    let values = message.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return (["\(message.subject) \(message.id)"] + values).joined(separator: "  ")
      .escapingControls()
  }
}
