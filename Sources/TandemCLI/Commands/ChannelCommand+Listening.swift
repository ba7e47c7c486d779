import Tandem

extension ChannelCommand {
  static func listen(at address: SocketAddress, _ arguments: ParsedArguments) async throws -> Int32
  {
    guard arguments.operands.count == 2 else {
      throw UsageError("unexpected argument '\(arguments.operands[2])'", command: specification)
    }
    let printer = MessagePrinter(
      subject: arguments["subject"], id: arguments["id"].map(id),
      isJSON: arguments.has("json"), count: try count(arguments))
    let isConnecting = arguments.has("connect")
    let (interruptions, interrupted) = AsyncStream.makeStream(of: Void.self)
    let interruption = Interruption { interrupted.finish() }
    defer { interruption.end() }
    try await withThrowingTaskGroup { group in
      group.addTask {
        if isConnecting {
          try await listenConnected(to: address, printer)
        } else {
          try await listenAccepting(at: address, printer)
        }
      }
      group.addTask { for await _ in interruptions {} }
      // Whichever ends first ends the other.
      try await group.next()
      group.cancelAll()
    }
    return 0
  }

  private static func count(_ arguments: ParsedArguments) throws(UsageError) -> Int? {
    guard let text = arguments["count"] else { return nil }
    guard let count = Int(text), count > 0 else {
      throw UsageError("--count needs a number above 0", command: specification)
    }
    return count
  }

  /// Connects, again and again, until enough has been printed or the task is cancelled.
  private static func listenConnected(
    to address: SocketAddress, _ printer: MessagePrinter
  ) async throws {
    var retry = RetryDelay(ChannelLinkOptions())
    var isWaiting = false
    while await !printer.isDone, !Task.isCancelled {
      let start = ContinuousClock.now
      if let connection = try? await SocketConnection.connect(to: address) {
        isWaiting = false
        try await printer.read(connection)
        if await printer.isDone { return }
      }
      if !isWaiting { TandemCLI.report("waiting for \(address)") }
      isWaiting = true
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
  private var remainingCount: Int?

  init(subject: String?, id: JSONValue?, isJSON: Bool, count: Int?) {
    self.subject = subject
    self.id = id
    self.isJSON = isJSON
    remainingCount = count
  }

  var isDone: Bool { remainingCount == 0 }

  /// Prints what arrives until the peer ends, breaks the rules, enough has been printed, or the task is
  /// cancelled.
  func read(_ connection: any ChannelConnection) async throws {
    // Whoever comes too late is to notice.
    if isDone { return connection.refuse() }
    defer { connection.close() }
    var reader = LinkFrameReader(maxFrameByteCount: ChannelLinkOptions().maxFrameByteCount)
    do {
      try await withTaskCancellationHandler {
        try await connection.send(ChannelCommand.hello())
        while !isDone, let bytes = try await connection.receive() {
          for case .values(let message) in try reader.frames(adding: bytes) { try print(message) }
        }
      } onCancel: {
        connection.close()
      }
      if !reader.isComplete, !isDone, !Task.isCancelled {
        throw ChannelLinkError(.malformed, "the peer ended within a message")
      }
    } catch let error as ChannelLinkError {
      TandemCLI.report("\(error)")
    }
  }

  private func print(_ message: ChannelMessage) throws {
    guard !isDone, subject.map({ $0 == message.subject }) ?? true,
      id.map(message.isFor(typedID:)) ?? true
    else { return }
    let line = isJSON ? json(message) : text(message)
    try OutputStream.write(Array("\(line)\n".utf8), to: STDOUT_FILENO)
    remainingCount = remainingCount.map { $0 - 1 }
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
