import Dispatch
public import TandemChannels

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

  /// Connects to a listening process.
  ///
  /// - Throws: `ChannelLinkError` with the code `connection`.
  public static func connect(to address: SocketAddress) async throws -> SocketConnection {
    let queue = DispatchQueue(label: "tandem.channel.connect")
    let result: Result<SocketDescriptor, ChannelLinkError> = await withCheckedContinuation {
      continuation in
      queue.async {
        continuation.resume(
          returning: Result { () throws(ChannelLinkError) in
            try SystemSockets.open(address, isPassive: false) { descriptor, name, count in
              systemConnect(descriptor.number, name, count) == 0
            }
          })
      }
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
}

private func systemConnect(
  _ number: CInt, _ name: UnsafePointer<sockaddr>, _ count: socklen_t
) -> CInt {
  connect(number, name, count)
}
