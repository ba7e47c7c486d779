/// The address of a listening socket: `unix:PATH`, or `HOST:PORT` over TCP.
public enum SocketAddress: Hashable, Sendable {
  /// A Unix-domain socket of this machine, by its file.
  case unix(path: String)
  /// A TCP port. Connections are neither encrypted nor authenticated: use it on loopback, or on a network that you
  /// trust.
  case tcp(host: String, port: UInt16)

  /// The host of an address without a host.
  public static let loopback = "127.0.0.1"

  /// Parses an address: `unix:PATH`, a path with a slash in it, `tcp:HOST:PORT`, `HOST:PORT`, `[IPV6]:PORT`, or
  /// `:PORT` on loopback. Returns `nil` for any other text.
  public init?(_ text: String) {
    if text.hasPrefix("unix:") {
      let path = text.dropFirst(5)
      guard !path.isEmpty, !path.utf8.contains(0) else { return nil }
      self = .unix(path: String(path))
    } else if text.contains("/"), !text.utf8.contains(0) {
      self = .unix(path: text)
    } else {
      let rest = text.hasPrefix("tcp:") ? text.dropFirst(4) : Substring(text)
      guard let colon = rest.lastIndex(of: ":"),
        let port = UInt16(rest[rest.index(after: colon)...])
      else { return nil }
      var host = rest[..<colon]
      if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
      guard !host.utf8.contains(0) else { return nil }
      self = .tcp(host: host.isEmpty ? Self.loopback : String(host), port: port)
    }
  }
}

extension SocketAddress: CustomStringConvertible {
  /// The address as ``init(_:)`` reads it.
  public var description: String {
    switch self {
    case .unix(let path): return "unix:\(path)"
    case .tcp(let host, let port):
      return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
