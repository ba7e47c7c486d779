public import TandemChannels
import TandemRecords

/// Joins a hub to others, in this process or elsewhere: values that are sent on one are delivered on all.
///
/// **Shape.** Linked hubs form a star: one hub listens (``run(accepting:onBreak:)``), any number of others connect
/// to it (``run(onBreak:connecting:)``). A hub that connects for a subject has no other link for the same
/// subject, so there are no chains and no rings of links; a link that would make one ends with
/// ``ChannelLinkError/Code/role``. A hub that listens may do so at several addresses, with one link or more.
///
/// **Order.** The listening hub orders all writes, and the last one wins on all hubs. A connected hub delivers
/// its own write at once; values of others that were ordered before this write are not delivered after
/// it. Values that arrive from a script, through `tandem channel send`, are ordered when they arrive.
///
/// **Batches.** Values that were sent together arrive together, on several channels and of several subjects.
/// If a newer batch replaces a value of an older one before it was sent, the two arrive as one. A batch
/// that is larger than a frame (``ChannelLinkOptions/maxFrameByteCount``) arrives in parts, and so may a
/// snapshot of what a hub remembers.
///
/// **Breaks.** A connected hub connects again, with growing delays. Both hubs then exchange what the other one
/// missed: the listening hub sends all that it remembers, if it ordered anything meanwhile, and the
/// connected hub sends its waiting writes, which count as written now. On the first connection, and
/// after the listening hub was started again, the connected hub also offers what it remembers; the
/// listening hub takes it if it remembers no value itself. `LinkSession` has the exact rules.
///
/// **Limits.** Senders never wait for a peer. The latest value of each property of each channel
/// waits for a peer that is slow or away, within ``ChannelLinkOptions/maxWaitingChannelCount`` and
/// ``ChannelLinkOptions/maxWaitingByteCount``. Beyond these limits, values are read from the hub's
/// memory once there is room, if the hub remembers at least as many values as channels may wait
/// (``/TandemChannels/ChannelLimits/maxRememberedValueCount``). All others are lost, with a
/// ``/TandemChannels/ChannelDiagnostic``.
///
/// **Errors.** A peer that sends malformed frames, uses another version, or does not greet within
/// ``ChannelLinkOptions/handshakeTimeout`` is disconnected.
///
/// <!-- Snippets/ChannelSenders.swift link -->
/// ```swift
/// @MainActor final class Phone {
///   let hub = ChannelHub()
///   lazy var link = ChannelLink(hub, subjects: [users])
///
///   func stayLinked(to address: SocketAddress) async {
///     await link.run { try await SocketConnection.connect(to: address) }  // until cancelled
///   }
/// }
/// ```
public final class ChannelLink: Sendable {
  let sender: ChannelSender
  let subjects: [String: LinkedSubject]
  let options: ChannelLinkOptions
  private let now: @Sendable () -> ContinuousClock.Instant
  let wait: @Sendable (Duration) async -> Void

  /// A link for a hub, made where the hub lives, which has to be an actor
  /// (see ``/TandemChannels/ChannelHub/sender(isolation:)``).
  ///
  /// - Precondition: no two subjects have the same name or the same type.
  public convenience init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions = .init(),
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.init(
      hub, subjects: subjects, options: options, now: { .now },
      waiting: { try? await Task.sleep(for: $0) }, isolation: isolation)
  }

  /// A link with a clock of its own, for tests.
  package init(
    _ hub: ChannelHub, subjects: [LinkedSubject], options: ChannelLinkOptions,
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    waiting wait: @escaping @Sendable (Duration) async -> Void,
    isolation: isolated (any Actor)? = #isolation
  ) {
    self.now = now
    self.wait = wait
    sender = hub.sender(isolation: isolation)
    self.subjects = Dictionary(uniqueKeysWithValues: subjects.map { ($0.name, $0) })
    self.options = options
  }
}

/// The part of a hub in a link; see ``ChannelLink``.
public enum ChannelLinkRole: Hashable, Sendable {
  /// The hub orders all writes.
  case listening
  /// The hub sends its writes to the one that listens.
  case connecting
}

// MARK: - Running

extension ChannelLink {
  /// Connects, and connects again whenever the connection ends, until the task is cancelled.
  ///
  /// Returns at once, after a call of `onBreak`, if the hub has another link for one of the subjects.
  ///
  /// - Parameters:
  ///   - onBreak: called with the reason whenever a connection ends or cannot be made; `nil` if the peer
  ///     closed the connection in good order.
  ///   - connect: makes a connection.
  public func run(
    onBreak: @Sendable (ChannelLinkError?) -> Void = { _ in },
    connecting connect: @Sendable () async throws -> any ChannelConnection
  ) async {
    do {
      try await withPeer(as: .connecting) { peer in
        let backoff = options.backoff
        var failureCount = 0
        while !Task.isCancelled {
          let start = now()
          do {
            try await exchange(on: try await connect(), with: peer)
            onBreak(nil)
          } catch {
            onBreak(Self.linkError(error))
          }
          // A short connection does not count: a peer may close each one because of the values that it gets.
          failureCount = start.duration(to: now()) < backoff.max ? failureCount + 1 : 1
          await wait(backoff.delay(afterFailure: failureCount, chance: 1))
        }
      }
    } catch {
      onBreak(Self.linkError(error))
    }
  }

  /// Serves the connections of a listener until it is closed or the task is cancelled.
  ///
  /// More connections than ``ChannelLinkOptions/maxConnectionCount`` are refused, unless one of those that are served
  /// was idle for ``ChannelLinkOptions/maxIdleDuration``: then that one is closed.
  ///
  /// - Parameters:
  ///   - listener: accepts the connections, and is closed at the end.
  ///   - onBreak: called with the reason whenever a connection ends; `nil` if it ended in good order.
  /// - Throws: the error of the listener, or ``ChannelLinkError/Code/role``.
  public func run(
    accepting listener: any ChannelListener,
    onBreak: @escaping @Sendable (ChannelLinkError?) -> Void = { _ in }
  ) async throws {
    try await withRun(as: .listening) {
      try await withTaskCancellationHandler {
        try await serve(listener, onBreak: onBreak)
      } onCancel: {
        listener.close()
      }
    }
  }

  private func serve(
    _ listener: any ChannelListener, onBreak: @escaping @Sendable (ChannelLinkError?) -> Void
  ) async throws {
    try await withThrowingDiscardingTaskGroup { group in
      let places = ConnectionPlaces(options, now: now)
      while let accepted = try await listener.accept() {
        guard let connection = places.admit(accepted) else { continue }
        group.addTask {
          do {
            try await self.run(on: connection, as: .listening)
            onBreak(connection.lossOfPlace)
          } catch {
            onBreak(connection.lossOfPlace ?? Self.linkError(error))
          }
          places.leave(connection)
        }
      }
      group.cancelAll()
    }
  }

  /// Exchanges values over one connection until it ends or the task is cancelled, and closes it.
  ///
  /// - Parameters:
  ///   - connection: a connection that no other link uses.
  ///   - role: exactly one of the two ends is ``ChannelLinkRole/listening``.
  /// - Throws: the reason why it ended, unless the peer closed it in good order.
  public func run(
    on connection: any ChannelConnection, as role: ChannelLinkRole
  ) async throws {
    try await withPeer(as: role) { try await exchange(on: connection, with: $0) }
  }

  private static func linkError(_ error: any Error) -> ChannelLinkError {
    error as? ChannelLinkError ?? ChannelLinkError(.connection, "\(error)")
  }

  private func withRun(
    as role: ChannelLinkRole, _ body: () async throws -> Void
  ) async throws {
    try await sender.perform { try $0.beginRun(of: self, as: role) }
    do {
      try await body()
    } catch {
      await sender.perform { $0.endRun(of: self) }
      throw error
    }
    await sender.perform { $0.endRun(of: self) }
  }

  /// Runs `body` while values of the hub wait for a peer.
  private func withPeer(
    as role: ChannelLinkRole, _ body: (_ peer: Int) async throws -> Void
  ) async throws {
    try await withRun(as: role) {
      guard let peer = await sender.perform({ $0.feed(of: self)?.attach(in: $0) }) else { return }
      do {
        try await body(peer)
      } catch {
        await sender.perform { $0.feed(of: self)?.detach(peer) }
        throw error
      }
      await sender.perform { $0.feed(of: self)?.detach(peer) }
    }
  }
}
