/// The timeouts of a request. A timeout that runs out ends the transfer with
/// ``TransportError/Code/timedOut``; all are kept to about a millisecond, except where noted.
public struct HTTPTimeouts: Hashable, Sendable {
  /// For a connection, from looking up the host to the end of the TLS handshake. URLSession has no
  /// such timeout: on Apple platforms `idle` covers it.
  public var connect: Duration
  /// With no byte sent or received although the reader is waiting; it fires between one and one and
  /// a quarter times this duration.
  public var idle: Duration
  /// For all of it, redirects and a slow reader's pauses included; `nil` sets no bound, so that a
  /// stream may stay open for days.
  public var total: Duration?

  /// 30 seconds to connect, 60 idle, no bound on the total, unless told otherwise.
  public init(
    connect: Duration = .seconds(30), idle: Duration = .seconds(60), total: Duration? = nil
  ) {
    self.connect = connect
    self.idle = idle
    self.total = total
  }
}

/// Options of a client, for all its requests.
public struct HTTPClientOptions: Hashable, Sendable {
  /// Timeouts for requests that bring none of their own.
  public var timeouts = HTTPTimeouts()
  /// The most redirects in a row that are followed.
  public var maxRedirectCount = 10
  /// The most connections to one host. Further requests wait; only the total timeout limits the wait. A
  /// body that is read slowly occupies a connection. All hosts together have at most half as many
  /// connections as the process may have open files (`ulimit -n`).
  public var maxConnectionCountPerHost = 16
  /// The most bytes of one response's header lines, trailers included; on libcurl, of one line no more than
  /// 100 KiB, and no more than 2,000 lines.
  public var maxFieldByteCount = 256 << 10
  /// The most decoded bytes of one body that are buffered for its reader before the transfer pauses. One
  /// network buffer, after decoding, may exceed it; on URLSession, everything received by then.
  public var maxBufferedByteCount = 256 << 10
  /// A file of PEM certificates to trust instead of the system's; not on Apple platforms, where the
  /// keychain holds them.
  public var certificateAuthorityFile: String?
  /// The `User-Agent` of requests that have none.
  public var userAgent = "tandem/\(PackageVersion.current)"

  /// The options as documented; change what should differ.
  public init() {}
}
