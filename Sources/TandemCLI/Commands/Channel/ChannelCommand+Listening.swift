import Tandem

extension ChannelCommand {
  static func listen(at address: SocketAddress, _ arguments: ParsedArguments) async throws -> Int32
  {
    guard arguments.operands.count == 2 else {
      throw arguments.error("unexpected argument '\(arguments.operands[2])'")
    }
    let printer = MessagePrinter(
      subject: arguments[Option.subject], id: arguments[Option.id].map(id),
      isJSON: arguments[Option.json], count: arguments[Option.count],
      handshakeTimeout: timeout(arguments))
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

  /// Connects, and connects again after each break, until enough was printed or the task is cancelled. Reports
  /// the reason of each break, unless it equals the previous one.
  ///
  /// - Throws: an error if no connection to the address is possible.
  private static func listenConnected(
    to address: SocketAddress, _ printer: MessagePrinter
  ) async throws {
    let backoff = ChannelLinkOptions().backoff
    var failureCount = 0
    var lastReason: String?
    while await !printer.isDone, !Task.isCancelled {
      let start = ContinuousClock.now
      var reason = "the peer has ended the connection"
      do {
        try await printer.read(SocketConnection.connect(to: address), as: .connecting)
      } catch let error as ChannelLinkError where error.code != .address {
        reason = "\(error)"
      }
      if await printer.isDone || Task.isCancelled { return }
      if reason != lastReason { TandemCLI.report("waiting for \(address): \(reason)") }
      lastReason = reason
      failureCount = start.duration(to: .now) < backoff.max ? failureCount + 1 : 1
      try? await Task.sleep(for: backoff.delay(afterFailure: failureCount, chance: 1))
    }
  }

  /// Serves connections until enough was printed or the task is cancelled.
  private static func listenAccepting(
    at address: SocketAddress, _ printer: MessagePrinter
  ) async throws {
    let listener = try SocketListener(at: address)
    defer { listener.close() }
    let place = "\(listener.address)"
    let isLocal = ["unix:", "127.", "[::1]"].contains(where: place.hasPrefix)
    TandemCLI.report(
      "listening at \(place)" + (isLocal ? "" : "; any machine that reaches it may send and read"))
    try await withTaskCancellationHandler {
      try await withThrowingDiscardingTaskGroup { group in
        let places = ConnectionPlaces(ChannelLinkOptions())
        while let accepted = try await listener.accept() {
          guard let connection = places.admit(accepted) else { continue }
          group.addTask {
            do {
              try await printer.read(connection, as: .listening)
              if let reason = connection.lossOfPlace { TandemCLI.report("\(reason)") }
            } catch let error as ChannelLinkError {
              TandemCLI.report("\(connection.lossOfPlace ?? error)")
            } catch {
              // `accept` does not notice that the group has failed.
              listener.close()
              throw error
            }
            places.leave(connection)
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
