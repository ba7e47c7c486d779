/// A two-way stream of bytes to another process, or to another hub of this one.
///
/// At most one `send` and one `receive` are under way at a time.
public protocol ChannelConnection: Sendable {
  /// Sends all of the bytes, in order; returns once they are on their way.
  func send(_ bytes: [UInt8]) async throws
  /// Waits for at least one byte; returns `nil` once the peer sends no more.
  func receive() async throws -> [UInt8]?
  /// Ends the connection from any thread; calls that wait for it return or throw soon.
  func close()
  /// Ends a connection of which nothing was read, in a way that lets the peer know, if there is one. Like
  /// ``close()`` by default.
  func refuse()
}

extension ChannelConnection {
  /// Ends the connection.
  public func refuse() { close() }
}

/// A source of connections, such as a listening socket.
public protocol ChannelListener: Sendable {
  /// Waits for the next connection; returns `nil` after ``close()``.
  func accept() async throws -> (any ChannelConnection)?
  /// Accepts no more connections, from any thread.
  func close()
}
