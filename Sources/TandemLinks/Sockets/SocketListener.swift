import Dispatch
import Synchronization
import SystemLibrary

/// Accepts connections of ``ChannelLink``s at an address.
public final class SocketListener: ChannelListener {
  private let descriptor: SocketDescriptor
  private let queue = DispatchQueue(label: "tandem.channel.accept")
  private let isClosed = Atomic(false)
  private let file: SocketFile?
  private let requestedAddress: SocketAddress

  /// The number of connections that may wait to be accepted.
  package static let maxWaitingConnectionCount: CInt = 64
  private static let pollMilliseconds: CInt = 200

  /// Listens at an address. The TCP port 0 stands for any free port; see ``address``.
  ///
  /// Only the owner can use the file of a Unix-domain socket. A file that a process has left over is replaced; a
  /// file of a process that listens, or one that is no socket, is not.
  ///
  /// - Throws: ``ChannelLinkError`` with the code ``ChannelLinkError/Code/connection``, or
  ///   ``ChannelLinkError/Code/address`` for a path that is too long or of a file that is no socket.
  public init(at address: SocketAddress) throws {
    requestedAddress = address
    switch address {
    case .unix(let path): (descriptor, file) = try SocketFile.listen(at: path)
    case .tcp: (descriptor, file) = (try Self.listen(at: address), nil)
    }
  }

  deinit { close() }

  private static func listen(at address: SocketAddress) throws -> SocketDescriptor {
    try SystemSockets.open(address, isPassive: true) { descriptor, name, count in
      var on: CInt = 1
      setsockopt(
        descriptor.number, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<CInt>.size))
      return bind(descriptor.number, name, count) == 0
        && SystemLibrary.listen(descriptor.number, maxWaitingConnectionCount) == 0
    }
  }

  /// The address to connect to, with the actual port if port 0 was given.
  public var address: SocketAddress {
    guard case .tcp(let host, _) = requestedAddress,
      let port = localPort(of: descriptor.number)
    else { return requestedAddress }
    return .tcp(host: host, port: port)
  }

  /// Waits for the next connection; returns `nil` after ``close()``.
  public func accept() async throws -> (any ChannelConnection)? {
    let result: Result<SocketConnection?, ChannelLinkError> = await withCheckedContinuation {
      continuation in
      queue.async { [self] in continuation.resume(returning: nextConnection()) }
    }
    return try result.get()
  }

  /// Polls, because not every system returns from `accept` when the socket is shut down.
  private func nextConnection() -> Result<SocketConnection?, ChannelLinkError> {
    while !isClosed.load(ordering: .acquiring) {
      var waiting = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
      guard poll(&waiting, 1, Self.pollMilliseconds) > 0 else { continue }
      let number = SystemLibrary.accept(descriptor.number, nil, nil)
      if number >= 0 {
        SystemSockets.configure(number)
        return .success(SocketConnection(SocketDescriptor(number)))
      }
      switch AcceptFailure(errno) {
      case .connection: continue
      case .resources: _ = poll(nil, 0, Self.pollMilliseconds)
      case .listener:
        return isClosed.load(ordering: .acquiring)
          ? .success(nil) : .failure(SystemSockets.failure("accept connections"))
      }
    }
    return .success(nil)
  }

  /// Accepts no more connections, and removes the file of a Unix-domain socket.
  public func close() {
    guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
    descriptor.shutDown()
    file?.remove()
  }
}

/// The scope of a failed `accept`.
enum AcceptFailure: Equatable {
  /// One connection, which broke before it was accepted, or none; others may follow.
  case connection
  /// The process or the system, which has no resources for a connection now.
  case resources
  /// The listener, which can accept no more connections.
  case listener

  init(_ code: CInt) {
    switch code {
    case EINTR, EAGAIN, EWOULDBLOCK, ECONNABORTED, EPROTO, EPERM, ENETDOWN, EHOSTDOWN, ENETUNREACH,
      EHOSTUNREACH, ENOPROTOOPT, ETIMEDOUT:
      self = .connection
    case EMFILE, ENFILE, ENOBUFS, ENOMEM: self = .resources
    default: self = .listener
    }
  }
}
