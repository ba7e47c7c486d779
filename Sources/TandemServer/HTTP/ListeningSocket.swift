internal import CMicroHTTP
internal import SystemLibrary
internal import TandemRecords

/// A TCP socket that listens. The ``HTTPServer`` that gets it closes it.
public struct ListeningSocket: Sendable {
  /// The maximum number of connections that wait to be accepted.
  private static let backlogCount: Int32 = 1_024

  /// The host as it was given.
  public let host: String
  /// The port, also if port 0 was given, which picks one.
  public let port: UInt16
  /// True if only programs of this machine can connect.
  public let isLoopback: Bool
  let descriptor: Int32

  /// Listens on the first address of a host that allows it.
  ///
  /// - Parameters:
  ///   - host: A name or a number. IPv6 without brackets.
  ///   - port: The port; 0 picks a free one.
  ///   - allowsOthers: False to refuse addresses that other machines can reach.
  /// - Throws: ``ServerError`` with code `address`.
  public init(host: String, port: UInt16, allowsOthers: Bool) throws(ServerError) {
    let (list, status) = addresses(of: host, port: port, isPassive: true)
    guard status == 0, let first = list else {
      throw ServerError(
        .address, "the host \(host) cannot be resolved: \(String(cString: gai_strerror(status)))")
    }
    defer { freeaddrinfo(list) }
    var reason = ""
    for entry in sequence(first: first, next: { $0.pointee.ai_next }) {
      guard let address = entry.pointee.ai_addr else { continue }
      guard allowsOthers || TandemServer.isLoopback(address) else {
        throw ServerError(
          .address,
          "other machines can reach \(host): give the service access tokens, and allow that "
            + "(`allowsOthers`), or listen on 127.0.0.1")
      }
      if let descriptor = Self.listen(entry.pointee, address) {
        self.host = host
        self.port = localPort(of: descriptor) ?? 0
        self.isLoopback = TandemServer.isLoopback(address)
        self.descriptor = descriptor
        return
      }
      reason = systemReason()
    }
    throw ServerError(.address, "cannot listen on \(host):\(port): \(reason)")
  }

  private static func listen(
    _ entry: addrinfo, _ address: UnsafeMutablePointer<sockaddr>
  ) -> Int32? {
    let descriptor = socket(entry.ai_family, entry.ai_socktype, entry.ai_protocol)
    guard descriptor >= 0 else { return nil }
    var one: Int32 = 1
    setsockopt(
      descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    let isReady =
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
      && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0
      && bind(descriptor, address, entry.ai_addrlen) == 0
      && SystemLibrary.listen(descriptor, backlogCount) == 0
    if isReady { return descriptor }
    let code = errno
    close(descriptor)
    errno = code
    return nil
  }
}

/// True if only programs of this machine can reach an address.
private func isLoopback(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
  switch Int32(address.pointee.sa_family) {
  case AF_INET:
    address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
      UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24 == 127
    }
  case AF_INET6:
    address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
      withUnsafeBytes(of: $0.pointee.sin6_addr) { bytes in
        bytes.dropLast().allSatisfy { $0 == 0 } && bytes.last == 1
      }
    }
  default: false
  }
}

/// The number of the address at the other end of a socket; `nil` if it is unknown. An IPv4 address that a socket of IPv6
/// has accepted is written as usual.
func peerAddress(of descriptor: Int32) -> String? {
  var storage = sockaddr_storage()
  var count = socklen_t(MemoryLayout<sockaddr_storage>.size)
  var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
  let status = withUnsafeMutablePointer(to: &storage) { storage in
    storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
      getpeername(descriptor, address, &count) == 0
        ? getnameinfo(
          address, count, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) : EAI_FAIL
    }
  }
  guard status == 0 else { return nil }
  let number = String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  let mapped = "::ffff:"
  return number.hasPrefix(mapped) && number.contains(".")
    ? String(number.dropFirst(mapped.count)) : number
}

/// The addresses that one client has: an IPv4 address alone, the network of 64 bits of an IPv6 address.
func clientNetwork(of address: String) -> String {
  var number = in6_addr()
  guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &number) == 1 else {
    return address
  }
  return "\(withUnsafeBytes(of: number) { Array($0.prefix(8)).hexadecimal })/64"
}
