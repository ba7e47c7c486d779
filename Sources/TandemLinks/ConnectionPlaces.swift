import Synchronization

/// The connections that are served at a time, up to ``ChannelLinkOptions/maxConnectionCount``.
///
/// If all places are taken, a new connection gets the place of the one from which nothing was read for the longest
/// time, if that is ``ChannelLinkOptions/maxIdleDuration`` or more. Otherwise it is refused.
package final class ConnectionPlaces: Sendable {
  private let options: ChannelLinkOptions
  private let now: @Sendable () -> ContinuousClock.Instant
  private let served: Mutex<[ObjectIdentifier: PlacedConnection]> = Mutex([:])

  package init(
    _ options: ChannelLinkOptions, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) {
    self.options = options
    self.now = now
  }

  /// Gives a connection a place, or refuses it.
  ///
  /// - Returns: the connection to use instead; `nil` if it was refused.
  package func admit(_ connection: any ChannelConnection) -> PlacedConnection? {
    let placed = PlacedConnection(connection, now: now)
    let (isAdmitted, idle) = served.withLock { served in
      let idle = served.count < options.maxConnectionCount ? nil : longestIdle(of: served.values)
      if let idle { served[ObjectIdentifier(idle)] = nil }
      let isAdmitted = served.count < options.maxConnectionCount
      if isAdmitted { served[ObjectIdentifier(placed)] = placed }
      return (isAdmitted, idle)
    }
    idle?.giveUp(after: options.maxIdleDuration)
    if !isAdmitted { connection.refuse() }
    return isAdmitted ? placed : nil
  }

  /// Gives the place of a connection back, if it still has one.
  package func leave(_ connection: PlacedConnection) {
    served.withLock { $0[ObjectIdentifier(connection)] = nil }
  }

  private func longestIdle(of connections: some Sequence<PlacedConnection>) -> PlacedConnection? {
    let longest = connections.min { $0.lastRead < $1.lastRead }
    guard let longest, longest.lastRead.duration(to: now()) >= options.maxIdleDuration else {
      return nil
    }
    return longest
  }
}
