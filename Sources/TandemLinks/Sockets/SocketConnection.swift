import Dispatch

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A connection of a ``ChannelLink`` over a Unix-domain socket or TCP.
///
/// Calls that wait do so on two queues of the connection's own, never on a thread of Swift's
/// concurrency. A peer that does not read for ten seconds while bytes wait for it counts as gone, and so
/// does a host that has not answered the system's probes for a minute.
public final class SocketConnection: ChannelConnection {
  let descriptor: SocketDescriptor
  private let sending = DispatchQueue(label: "tandem.channel.send")
  private let receiving = DispatchQueue(label: "tandem.channel.receive")

  /// The most bytes that ``receive()`` hands out at a time.
  public static let maxReceivedByteCount = 64 << 10

  init(_ descriptor: SocketDescriptor) { self.descriptor = descriptor }

  /// Connects to a listening process; waits for an answer at most ten seconds at each of its addresses.
  /// Gives up soon once the task is cancelled, unless the system looks up a name just then.
  ///
  /// - Throws: `ChannelLinkError` with the code `connection`, or `address` for one that can never be
  ///   connected to: a path that is too long, or of a file that is no socket.
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

  /// Waits for bytes; `nil` once the peer sends no more.
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

  /// Tells the peer that nothing more will be sent.
  public func finishSending() { _ = shutdown(descriptor.number, CInt(SHUT_WR)) }

  /// Ends the connection.
  public func close() { descriptor.shutDown() }

  /// Ends the connection with a reset in place of an end, as soon as nobody holds it any more: a
  /// shutdown would tell a peer that waits for an end that all was read.
  public func refuse() { descriptor.reset() }
}
