import Dispatch
import SystemLibrary

/// A connection of a ``ChannelLink`` over a Unix-domain socket or TCP.
///
/// Calls that wait do so on two queues of the connection, never on a thread of Swift's concurrency. The connection
/// breaks if the peer does not read for ten seconds while bytes wait for it, or if its host has not answered
/// the system's probes for a minute.
public final class SocketConnection: ChannelConnection {
  let descriptor: SocketDescriptor
  private let sending = DispatchQueue(label: "tandem.channel.send")
  private let receiving = DispatchQueue(label: "tandem.channel.receive")

  /// The maximum number of bytes that ``receive()`` returns.
  static let maxReceivedByteCount = 64 << 10

  init(_ descriptor: SocketDescriptor) { self.descriptor = descriptor }

  /// Connects to a listening process; waits at most ten seconds for an answer at each of its addresses.
  ///
  /// When the task is cancelled, the call returns soon, or after the system's look-up of a host name.
  ///
  /// - Throws: ``ChannelLinkError`` with the code ``ChannelLinkError/Code/connection``, or
  ///   ``ChannelLinkError/Code/address`` for a path that is too long or of a file that is no socket.
  public static func connect(to address: SocketAddress) async throws -> SocketConnection {
    try await connect(to: address, by: ConnectAttempt())
  }

  /// Connects as ``connect(to:)`` does, but waits for an answer until the task is cancelled.
  package static func connectUntilCancelled(
    to address: SocketAddress
  ) async throws -> SocketConnection {
    try await connect(to: address, by: ConnectAttempt(maxWait: nil))
  }

  static func connect(
    to address: SocketAddress, by attempt: ConnectAttempt
  ) async throws -> SocketConnection {
    let queue = DispatchQueue(label: "tandem.channel.connect")
    let result: Result<SocketDescriptor, ChannelLinkError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        queue.async {
          continuation.resume(
            returning: Result { () throws(ChannelLinkError) in
              try SystemSockets.open(
                address, isPassive: false, { attempt.connect($0, to: $1, $2) })
            })
        }
      }
    } onCancel: {
      attempt.cancel()
    }
    return SocketConnection(try result.get())
  }

  /// Sends all of the bytes.
  public func send(_ bytes: [UInt8]) async throws {
    let failure = await withCheckedContinuation { continuation in
      sending.async { [descriptor] in
        continuation.resume(returning: SystemSockets.sendAll(bytes, to: descriptor))
      }
    }
    if let failure { throw failure }
  }

  /// Waits for bytes; returns `nil` once the peer sends no more.
  public func receive() async throws -> [UInt8]? {
    let result = await withCheckedContinuation { continuation in
      receiving.async { [descriptor] in
        continuation.resume(
          returning: SystemSockets.receive(
            from: descriptor, maxByteCount: Self.maxReceivedByteCount))
      }
    }
    let bytes = try result.get()
    return bytes.isEmpty ? nil : bytes
  }

  /// Ends this direction: the peer's ``receive()`` returns `nil` after the last bytes.
  package func finishSending() { _ = shutdown(descriptor.number, CInt(SHUT_WR)) }

  /// Ends the connection.
  public func close() { descriptor.shutDown() }

  /// Ends the connection with a reset when its last reference is released. After a normal end, the peer would
  /// conclude that all bytes were read.
  public func refuse() { descriptor.reset() }
}
