public import TandemChannels

/// Joins a hub to others, in this process or elsewhere: what is sent on one is sent on all.
///
/// A link carries the properties of the subjects it is told of. What came from a peer is not sent back
/// to it, but on to all others, in any shape: tree, ring, or two links between the same hubs.
///
/// **Order.** Of each property of each channel, the last write wins: a value carries a stamp, later than
/// those of all values that its hub had sent or received before, and what is no later than the value
/// that a hub has is neither delivered nor passed on. Of writes that did not know of each other, all
/// hubs choose the same one. What a hub sent before its first link was made is older than all others;
/// a value without a stamp, as scripts send it, counts as sent by the hub that receives it. When a
/// connection begins, each side tells how far its clock has come, and whoever is behind follows. So what
/// is sent on a connected hub is later than all that the others have, also on one that has just been
/// started again; what such a hub sent before it was connected is later, too.
///
/// Stamps are known for the ``ChannelLinkOptions/maxStampCount`` values that were sent last. A value whose
/// stamp is forgotten is taken to have been sent with the last one that was forgotten of the hub that
/// sends it: a new value is delivered, and what has been passed on once is not passed on again.
///
/// Senders never wait for a peer: the latest value of each property of each channel waits for one that
/// is slow or away; what is dropped beyond ``ChannelLinkOptions/maxWaitingChannelCount`` and
/// ``ChannelLinkOptions/maxWaitingByteCount`` is told as a ``ChannelDiagnostic``. A hub whose memory
/// (``ChannelLimits/maxRememberedValueCount``) is no smaller than the former drops nothing that it
/// remembers, however much it sends at a time.
/// On each new connection, the hub sends all that it remembers; of one that does not, what was under way when
/// a connection broke may be lost, and what a peer missed meanwhile.
///
/// What was sent together arrives together, on several channels and of several subjects: as one batch.
/// Batches of which the second has replaced values of the first before it was sent are one. What is more
/// than fits into a message (``ChannelLinkOptions/maxFrameByteCount``) arrives in parts, and so may what a
/// hub sends from its memory: to a new peer, or to one that was too slow.
///
/// A peer that sends anything but well-formed messages, whose clock is further ahead than one that counts
/// can be, or that does not greet within ``ChannelLinkOptions/maxGreetingWait``, is disconnected.
///
/// ```swift
/// let link = ChannelLink(hub, subjects: [users])
/// await link.run { try await SocketConnection.connect(to: address) }   // until cancelled
/// ```
public final class ChannelLink: Sendable {
  let sender: ChannelSender
  let subjects: [String: LinkedSubject]
  let options: ChannelLinkOptions
  private let now: @Sendable () -> ContinuousClock.Instant
  let wait: @Sendable (Duration) async -> Void

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
      hub, subjects: subjects, options: options, now: { .now },
      waiting: { try? await Task.sleep(for: $0) }, isolation: isolation)
  }

  /// A link that reads the time, and waits between attempts to connect and for greetings, as it is told.
  package init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions,
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    waiting wait: @escaping @Sendable (Duration) async -> Void,
    isolation: isolated any Actor = #isolation
  ) {
    self.now = now
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
    await sender.perform { attach(peer, to: $0) }
    var retry = RetryDelay(options)
    while !Task.isCancelled {
      let start = now()
      do {
        try await exchange(on: try await connect(), with: peer)
        onBreak(nil)
      } catch {
        onBreak(error as? ChannelLinkError ?? ChannelLinkError(.connection, "\(error)"))
      }
      await wait(retry.delay(after: start.duration(to: now())))
    }
    await sender.perform { detach(peer, from: $0) }
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
            connection.refuse()
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
    await sender.perform { attach(peer, to: $0) }
    do {
      try await exchange(on: connection, with: peer)
    } catch {
      await sender.perform { detach(peer, from: $0) }
      throw error
    }
    await sender.perform { detach(peer, from: $0) }
  }
}
