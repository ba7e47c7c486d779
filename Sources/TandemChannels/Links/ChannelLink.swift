/// Joins a hub to others, in this process or elsewhere: what is sent on one is sent on all.
///
/// A link carries the properties of the subjects it is told of. What came from a peer is not sent back
/// to it, but on to all others, so that hubs may form a tree; in a ring, values that are equal have to
/// be suppressed, or they go round.
///
/// Senders never wait for a peer: the latest value of each property of each channel waits for one that
/// is slow or away; what is dropped beyond that is told as a ``ChannelDiagnostic``. On each new connection, the hub sends all that it remembers
/// (``ChannelLimits/maxRememberedValueCount``); of one that does not, what was under way when a
/// connection broke may be lost. A peer that sends anything but well-formed messages is disconnected.
///
/// ```swift
/// let link = ChannelLink(hub, subjects: [users])
/// await link.run { try await SocketConnection.connect(to: address) }   // until cancelled
/// ```
public final class ChannelLink: Sendable {
  private let sender: ChannelSender
  private let subjects: [String: LinkedSubject]
  private let options: ChannelLinkOptions

  /// A link for a hub, made where the hub lives, which has to be an actor.
  ///
  /// - Precondition: no two subjects have the same name.
  public init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions = .init(),
    isolation: isolated any Actor = #isolation
  ) {
    sender = hub.sender()
    self.subjects = Dictionary(uniqueKeysWithValues: subjects.map { ($0.name, $0) })
    self.options = options
  }

  /// Connects, and connects again whenever the connection breaks, until the task is cancelled.
  ///
  /// - Parameters:
  ///   - onBreak: told why, each time; `nil` if the peer closed the connection in good order.
  ///   - connect: makes a connection.
  public func run(
    onBreak: @Sendable (ChannelLinkError?) -> Void = { _ in },
    connecting connect: @Sendable () async throws -> any ChannelConnection
  ) async {
    let peer = LinkPeer(options)
    await attach(peer)
    var delay = options.firstRetryDelay
    while !Task.isCancelled {
      do {
        let connection = try await connect()
        delay = options.firstRetryDelay
        try await exchange(on: connection, with: peer)
        onBreak(nil)
      } catch {
        onBreak(error as? ChannelLinkError ?? ChannelLinkError(.connection, "\(error)"))
      }
      try? await Task.sleep(for: delay)
      delay = min(delay * 2, options.maxRetryDelay)
    }
    await detach(peer)
  }

  /// Serves the connections of a listener until it is closed or the task is cancelled.
  ///
  /// - Throws: what the listener throws.
  public func run(
    accepting listener: any ChannelListener,
    onBreak: @escaping @Sendable (ChannelLinkError?) -> Void = { _ in }
  ) async throws {
    try await withTaskCancellationHandler {
      try await withThrowingDiscardingTaskGroup { group in
        let places = PeerPlaces(count: options.maxPeerCount)
        while let connection = try await listener.accept() {
          guard places.take() else {
            connection.close()
            continue
          }
          group.addTask {
            do {
              try await self.run(on: connection)
              onBreak(nil)
            } catch {
              onBreak(error as? ChannelLinkError ?? ChannelLinkError(.connection, "\(error)"))
            }
            places.giveBack()
          }
        }
        group.cancelAll()
      }
    } onCancel: {
      listener.close()
    }
  }

  /// Exchanges values over one connection until it ends or the task is cancelled, and closes it.
  ///
  /// - Throws: why it ended, if not in good order.
  public func run(on connection: any ChannelConnection) async throws {
    let peer = LinkPeer(options)
    await attach(peer)
    do {
      try await exchange(on: connection, with: peer)
    } catch {
      await detach(peer)
      throw error
    }
    await detach(peer)
  }
}

// MARK: - One connection

extension ChannelLink {
  private func exchange(
    on connection: any ChannelConnection, with peer: LinkPeer
  ) async throws {
    defer { connection.close() }
    await refresh(peer)
    try await withTaskCancellationHandler {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.write(to: connection, from: peer) }
        group.addTask { try await self.read(from: connection, for: peer) }
        // Whichever ends first ends the other, which may wait for the connection.
        defer { connection.close() }
        _ = try await group.next()
        connection.close()
        group.cancelAll()
      }
    } onCancel: {
      connection.close()
    }
  }

  private func write(to connection: any ChannelConnection, from peer: LinkPeer) async throws {
    for await _ in peer.outbox.news() {
      let messages = peer.outbox.takeAll()
      var bytes: [UInt8] = []
      var misfits: [ChannelMessage] = []
      for message in messages {
        if let frame = try? message.frame(maxByteCount: options.maxFrameByteCount) {
          bytes += frame
        } else {
          misfits.append(message)
        }
      }
      await report(misfits, .tooLargeForLink)
      do {
        if !bytes.isEmpty { try await connection.send(bytes) }
      } catch {
        await report(peer.outbox.putBack(messages), .peerTooSlow)
        throw error
      }
    }
  }

  /// Tells the hub what was not sent.
  private func report(_ messages: [ChannelMessage], _ kind: ChannelDiagnostic.Kind) async {
    guard !messages.isEmpty else { return }
    await sender.perform { hub in
      for message in messages { hub.report(message.diagnostic(kind)) }
    }
  }

  private func read(from connection: any ChannelConnection, for peer: LinkPeer) async throws {
    var reader = ChannelMessageReader(maxFrameByteCount: options.maxFrameByteCount)
    while let bytes = try await connection.receive() {
      let batches = try reader.messages(adding: bytes).compactMap(batch)
      guard !batches.isEmpty else { continue }
      await sender.perform { hub in
        for batch in batches { hub.send(batch, excluding: peer) }
      }
    }
    guard reader.isComplete else {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
  }

  /// The values of a message, or `nil` if its subject is not known here.
  @Sendable private func batch(_ message: ChannelMessage) throws -> ChannelBatch? {
    do {
      return try subjects[message.subject]?.decode(message)
    } catch {
      throw ChannelLinkError(.malformed, "the peer sent what is no \(message.subject): \(error)")
    }
  }
}

// MARK: - The hub's end

extension ChannelLink {
  private func attach(_ peer: LinkPeer) async {
    let subjects = subjects
    await sender.perform { hub in
      for subject in subjects.values {
        hub.taps[subject.type, default: []].append(LinkTap(subject, peer))
      }
    }
  }

  private func detach(_ peer: LinkPeer) async {
    let subjects = subjects
    await sender.perform { hub in
      for subject in subjects.values { hub.removeTaps(of: subject.type) { $0.isFor(peer) } }
    }
  }

  /// Lets a peer have all that the hub remembers.
  private func refresh(_ peer: LinkPeer) async {
    let subjects = subjects
    await sender.perform { hub in
      for subject in subjects.values {
        for entry in hub.rememberedEntries(of: subject.type) {
          if let dropped = subject.encode(entry).flatMap(peer.outbox.add) {
            hub.report(dropped.diagnostic(.peerTooSlow))
          }
        }
      }
    }
  }
}

/// The other end of a connection, or of one that is made again and again.
private final class LinkPeer: Sendable {
  let outbox: LinkOutbox

  init(_ options: ChannelLinkOptions) {
    outbox = LinkOutbox(maxChannelCount: options.maxWaitingChannelCount)
  }
}

/// Puts what a hub sends into the outbox of a peer.
private final class LinkTap: SubjectTap {
  private let subject: LinkedSubject
  private let peer: LinkPeer

  init(_ subject: LinkedSubject, _ peer: LinkPeer) {
    self.subject = subject
    self.peer = peer
  }

  override func isFor(_ listener: AnyObject) -> Bool { peer === listener }

  override func sent(_ entries: [BatchEntry], excluding sender: AnyObject?, in hub: ChannelHub) {
    guard sender !== peer else { return }
    var joined: [ChannelMessage] = []
    for message in entries.compactMap(subject.encode) {
      if let last = joined.last, last.id == message.id {
        joined[joined.count - 1].values.merge(message.values) { $1 }
      } else {
        joined.append(message)
      }
    }
    for message in joined {
      if let dropped = peer.outbox.add(message) { hub.report(dropped.diagnostic(.peerTooSlow)) }
    }
  }
}

extension ChannelMessage {
  /// Says that these values were not sent.
  fileprivate func diagnostic(_ kind: ChannelDiagnostic.Kind) -> ChannelDiagnostic {
    ChannelDiagnostic(
      kind: kind, channel: "\(subject) \(id)",
      property: values.keys.sorted().joined(separator: ", "))
  }
}
