import Tandem

extension ChannelCommand {
  static func listen(at address: SocketAddress, _ arguments: ParsedArguments) async throws -> Int32
  {
    guard arguments.operands.count == 2 else {
      throw UsageError("unexpected argument '\(arguments.operands[2])'", command: specification)
    }
    let printer = MessagePrinter(
      subject: arguments[Option.subject], id: arguments[Option.id].map(id),
      isJSON: arguments[Option.json], count: arguments[Option.count],
      maxGreetingWait: timeout(arguments))
    let isConnecting = arguments[Option.connect]
    try await Stop.ending {
      if isConnecting {
        try await listenConnected(to: address, printer)
      } else {
        try await listenAccepting(at: address, printer)
      }
    }
    return 0
  }

  /// Connects, again and again, until enough has been printed or the task is cancelled. Says what it waits
  /// for, and why, whenever that is another reason than before.
  ///
  /// - Throws: what can never be connected to.
  private static func listenConnected(
    to address: SocketAddress, _ printer: MessagePrinter
  ) async throws {
    var retry = RetryDelay(ChannelLinkOptions())
    var lastReason: String?
    while await !printer.isDone, !Task.isCancelled {
      let start = ContinuousClock.now
      var reason = "the peer has ended the connection"
      do {
        try await printer.read(SocketConnection.connect(to: address))
      } catch let error as ChannelLinkError where error.code != .address {
        reason = "\(error)"
      }
      if await printer.isDone || Task.isCancelled { return }
      if reason != lastReason { TandemCLI.report("waiting for \(address): \(reason)") }
      lastReason = reason
      try? await Task.sleep(for: retry.delay(after: start.duration(to: .now)))
    }
  }

  /// Serves whoever connects until enough has been printed or the task is cancelled.
  private static func listenAccepting(
    at address: SocketAddress, _ printer: MessagePrinter
  ) async throws {
    let listener = try SocketListener(at: address)
    defer { listener.close() }
    TandemCLI.report("listening at \(listener.address)")
    try await withTaskCancellationHandler {
      try await withThrowingDiscardingTaskGroup { group in
        let places = ConnectionPlaces(count: ChannelLinkOptions().maxPeerCount)
        while let connection = try await listener.accept() {
          guard await places.take() else {
            connection.refuse()
            continue
          }
          group.addTask {
            do {
              try await printer.read(connection)
            } catch let error as ChannelLinkError {
              TandemCLI.report("\(error)")
            } catch {
              // The one who waits for connections does not notice that the group has failed.
              listener.close()
              throw error
            }
            await places.giveBack()
            if await printer.isDone { listener.close() }
          }
        }
        group.cancelAll()
      }
    } onCancel: {
      listener.close()
    }
  }
}

/// Counts the connections that are read at a time.
private actor ConnectionPlaces {
  private var freeCount: Int

  init(count: Int) { freeCount = count }

  /// Takes a place; returns whether there was one.
  func take() -> Bool {
    guard freeCount > 0 else { return false }
    freeCount -= 1
    return true
  }

  func giveBack() { freeCount += 1 }
}

/// Prints the messages that are asked for, until there were enough.
private actor MessagePrinter {
  private let subject: String?
  private let id: JSONValue?
  private let isJSON: Bool
  private let maxGreetingWait: Duration
  private let output = OutputStream(descriptor: STDOUT_FILENO, endsWhenCancelled: true)
  private var remainingCount: Int?

  init(
    subject: String?, id: JSONValue?, isJSON: Bool, count: Int?, maxGreetingWait: Duration
  ) {
    self.subject = subject
    self.id = id
    self.isJSON = isJSON
    self.maxGreetingWait = maxGreetingWait
    remainingCount = count
  }

  var isDone: Bool { remainingCount == 0 }

  /// Prints what arrives until the peer ends, enough has been printed, or the task is cancelled.
  ///
  /// - Throws: `ChannelLinkError` if the peer breaks the rules; `OutputError`.
  func read(_ connection: any ChannelConnection) async throws {
    // Whoever comes too late is to notice.
    if isDone { return connection.refuse() }
    defer { connection.close() }
    var peer = LinkPeerSession(connection)
    do {
      for message in try await peer.greet(by: PeerDeadline(maxGreetingWait)) { try print(message) }
      while !isDone, let messages = try await peer.messages() {
        for message in messages { try print(message) }
      }
    } catch let error as ChannelLinkError {
      // What was closed because there is enough is no failure.
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
      // Its reader had stalled when it was to end: nothing may follow a line that was begun.
      remainingCount = 0
    }
  }

  private func json(_ message: ChannelMessage) -> String {
    JSONValue.object([
      "subject": .string(message.subject), "id": message.id, "values": .object(message.values),
    ]).description
  }

  /// As in: User 1  age=30  name="Ann".
  private func text(_ message: ChannelMessage) -> String {
    let values = message.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    return (["\(message.subject) \(message.id)"] + values).joined(separator: "  ")
      .escapingControls()
  }
}
