import Synchronization

/// Joins a hub to others, in this process or elsewhere: what is sent on one is sent on all.
///
/// A link carries the properties of the subjects it is told of. What came from a peer is not sent back
/// to it, but on to all others, in any shape: tree, ring, or two links between the same hubs.
///
/// **Order.** Of each property of each channel, the last write wins: a value carries a stamp, later than
/// those of all values that its hub had sent or received before, and what is no later than the value
/// that a hub has is neither delivered nor passed on. Of writes that did not know of each other, all
/// hubs choose the same one. What a hub sent before its first link was made is older than all others;
/// a value without a stamp, as scripts send it, counts as sent by the hub that receives it. Stamps are
/// known for the ``ChannelLinkOptions/maxStampCount`` values that were sent last; a value whose stamp
/// is forgotten counts as never sent.
///
/// Senders never wait for a peer: the latest value of each property of each channel waits for one that
/// is slow or away; what is dropped beyond that is told as a ``ChannelDiagnostic``. On each new
/// connection, the hub sends all that it remembers (``ChannelLimits/maxRememberedValueCount``); of one
/// that does not, what was under way when a connection broke may be lost, and what a peer missed
/// meanwhile. A peer that sends anything but well-formed messages is disconnected.
///
/// ```swift
/// let link = ChannelLink(hub, subjects: [users])
/// await link.run { try await SocketConnection.connect(to: address) }   // until cancelled
/// ```
public final class ChannelLink: Sendable {
  private let sender: ChannelSender
  private let subjects: [String: LinkedSubject]
  private let options: ChannelLinkOptions
  private let wait: @Sendable (Duration) async -> Void

  /// A link for a hub, made where the hub lives, which has to be an actor.
  ///
  /// From now on, the hub stamps what is sent of these subjects, connected or not.
  ///
  /// - Precondition: no two subjects have the same name.
  public convenience init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions = .init(),
    isolation: isolated any Actor = #isolation
  ) {
    self.init(
      hub, subjects: subjects, options: options, waiting: { try? await Task.sleep(for: $0) },
      isolation: isolation)
  }

  /// A link that waits as it is told between attempts to connect.
  package init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions,
    waiting wait: @escaping @Sendable (Duration) async -> Void,
    isolation: isolated any Actor = #isolation
  ) {
    self.wait = wait
    sender = hub.sender()
    self.subjects = Dictionary(uniqueKeysWithValues: subjects.map { ($0.name, $0) })
    self.options = options
    hub.startClock(for: subjects, maxStampCount: options.maxStampCount)
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
    var retry = RetryDelay(options)
    while !Task.isCancelled {
      let start = ContinuousClock.now
      do {
        try await exchange(on: try await connect(), with: peer)
        onBreak(nil)
      } catch {
        onBreak(error as? ChannelLinkError ?? ChannelLinkError(.connection, "\(error)"))
      }
      let hasReceived = peer.hasReceived.exchange(false, ordering: .relaxed)
      await wait(retry.delay(hasReceived: hasReceived, after: start.duration(to: .now)))
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
      let messages = try reader.messages(adding: bytes)
      if !messages.isEmpty { peer.hasReceived.store(true, ordering: .relaxed) }
      let batches = try messages.compactMap(batch)
      guard !batches.isEmpty else { continue }
      await sender.perform { hub in
        for batch in batches { hub.receive(batch, from: peer) }
      }
    }
    guard reader.isComplete else {
      throw ChannelLinkError(.malformed, "the peer ended within a message")
    }
  }

  /// The values of a message, or `nil` if its subject is not known here.
  @Sendable private func batch(_ message: ChannelMessage) throws -> StampedBatch? {
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
      for subject in subjects.values { LinkTap(subject, peer).refresh(from: hub) }
    }
  }
}

extension ChannelHub {
  /// Delivers what is later than what the hub has.
  fileprivate func receive(_ received: StampedBatch, from peer: LinkPeer) {
    let news = zip(received.batch.entries, received.stamps).filter { entry, stamp in
      linkClock?.accept(entry, stamp) == true
    }
    if !news.isEmpty { send(news.map(\.0), excluding: peer) }
  }
}
