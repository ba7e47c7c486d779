import SystemLibrary

/// A socket, closed when its last reference is released: never while another thread uses its number in a call.
final class SocketDescriptor: Sendable {
  let number: CInt

  init(_ number: CInt) { self.number = number }

  deinit { SystemLibrary.close(number) }

  /// Ends both directions; calls that wait for it return.
  func shutDown() { _ = shutdown(number, CInt(SHUT_RDWR)) }

  /// Makes closing the socket reset the connection. A Unix-domain socket does so by itself if bytes were not read.
  func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}

/// System calls for sockets, with errors that name the action.
enum SystemSockets {
  /// The maximum wait of a write for a peer that does not read, and of a connection attempt for an answer.
  static let (maxSendWaitSeconds, maxConnectWaitSeconds) = (10, 10)
  /// The time after which an idle TCP peer is probed, the time between probes, and the number of probes without an
  /// answer after which the connection breaks. Otherwise a receiver would never notice that a host is gone.
  static let (firstProbeSeconds, probeSeconds, maxProbeCount) = (30, 10, 3) as (CInt, CInt, CInt)

  static func failure(_ action: String) -> ChannelLinkError {
    let isClosed = errno == EPIPE || errno == ECONNRESET
    let reason =
      isClosed ? "the peer has closed the connection" : String(cString: strerror(errno))
    return ChannelLinkError(.connection, "cannot \(action): \(reason)")
  }

  /// Makes a socket for an address and calls `body` with both, for each address of a host name until `body`
  /// succeeds.
  static func open(
    _ address: SocketAddress, isPassive: Bool,
    _ body: (SocketDescriptor, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) throws(ChannelLinkError) -> SocketDescriptor {
    switch address {
    case .unix(let path): return try openUnix(path, body)
    case .tcp(let host, let port): return try openTCP(host, port, isPassive: isPassive, body)
    }
  }

  private static func openUnix(
    _ path: String, _ body: (SocketDescriptor, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) throws(ChannelLinkError) -> SocketDescriptor {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count < capacity else {
      throw ChannelLinkError(
        .address, "the path of a socket has at most \(capacity - 1) bytes, not \(bytes.count)")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let descriptor = try socket(family: AF_UNIX)
    let hasSucceeded = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard hasSucceeded else { throw unixFailure(path) }
    return descriptor
  }

  private static func unixFailure(_ path: String) -> ChannelLinkError {
    let failure = failure("use unix:\(path)")
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFSOCK else { return failure }
    return ChannelLinkError(.address, "cannot use unix:\(path): it is no socket")
  }

  private static func openTCP(
    _ host: String, _ port: UInt16, isPassive: Bool,
    _ body: (SocketDescriptor, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) throws(ChannelLinkError) -> SocketDescriptor {
    let (list, status) = addresses(of: host, port: port, isPassive: isPassive)
    guard status == 0 else {
      throw ChannelLinkError(
        .connection, "the host \(host) is not known: \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(list) }
    guard let descriptor = openFirst(of: list, body) else { throw failure("use \(host):\(port)") }
    return descriptor
  }

  /// A socket for the first address with which `body` succeeds. Address families that the machine does not support
  /// are skipped.
  static func openFirst(
    of list: UnsafeMutablePointer<addrinfo>?,
    _ body: (SocketDescriptor, UnsafePointer<sockaddr>, socklen_t) -> Bool
  ) -> SocketDescriptor? {
    var next = list
    while let entry = next?.pointee {
      if let descriptor = try? socket(family: entry.ai_family), let name = entry.ai_addr,
        body(descriptor, name, entry.ai_addrlen)
      {
        return descriptor
      }
      next = entry.ai_next
    }
    return nil
  }

  private static func socket(family: CInt) throws(ChannelLinkError) -> SocketDescriptor {
    let number = SystemLibrary.socket(family, streamSocketType, 0)
    guard number >= 0 else { throw failure("make a socket") }
    configure(number)
    return SocketDescriptor(number)
  }

  /// Sets options: no signal when the peer is gone, no inheritance by child processes, no endless write, and no
  /// endless wait for a host that is gone.
  static func configure(_ number: CInt) {
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    var wait = timeval(tv_sec: .init(maxSendWaitSeconds), tv_usec: 0)
    setsockopt(
      number, SOL_SOCKET, SO_SNDTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
    #if canImport(Darwin)
      set(SO_NOSIGPIPE, of: SOL_SOCKET, to: 1, for: number)
      let idle = TCP_KEEPALIVE
    #else
      let idle = TCP_KEEPIDLE
    #endif
    set(SO_KEEPALIVE, of: SOL_SOCKET, to: 1, for: number)
    // Unix-domain sockets refuse these options, and do not need them.
    set(idle, of: tcp, to: firstProbeSeconds, for: number)
    set(TCP_KEEPINTVL, of: tcp, to: probeSeconds, for: number)
    set(TCP_KEEPCNT, of: tcp, to: maxProbeCount, for: number)
  }

  private static let tcp = CInt(IPPROTO_TCP)

  private static func set(_ option: CInt, of level: CInt, to value: CInt, for number: CInt) {
    var value = value
    setsockopt(number, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
  }

  #if canImport(Darwin)
    private static let sendFlags: CInt = 0
  #else
    private static let sendFlags = CInt(MSG_NOSIGNAL)
  #endif

  /// Sends all bytes; waits at most ``maxSendWaitSeconds`` each time the peer does not read.
  static func sendAll(_ bytes: [UInt8], to descriptor: SocketDescriptor) -> ChannelLinkError? {
    bytes.withUnsafeBytes { bytes in
      var sent = 0
      while let start = bytes.baseAddress, sent < bytes.count {
        let count = send(descriptor.number, start + sent, bytes.count - sent, sendFlags)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return failure("send") }
        sent += count
      }
      return nil
    }
  }

  /// Waits for bytes; returns none once the peer sends no more.
  static func receive(
    from descriptor: SocketDescriptor, maxByteCount: Int
  ) -> Result<[UInt8], ChannelLinkError> {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: maxByteCount) { buffer, initializedCount in
      repeat {
        count = recv(descriptor.number, buffer.baseAddress, maxByteCount, 0)
      } while count < 0 && errno == EINTR
      initializedCount = max(0, count)
    }
    return count < 0 ? .failure(failure("receive")) : .success(bytes)
  }
}
