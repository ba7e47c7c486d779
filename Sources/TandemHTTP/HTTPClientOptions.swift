/// The timeouts of a request. A timeout that runs out ends the transfer with
/// ``TransportError/Code/timedOut``; all are kept to about a millisecond, except where noted.
public struct HTTPTimeouts: Hashable, Sendable {
  /// The time to connect, from the look-up of the host to the end of the TLS handshake. URLSession has no
  /// such timeout: on Apple platforms `idle` covers it.
  public var connect: Duration
  /// The time without a byte sent or received while the reader is waiting. The timeout fires between one
  /// and one and a quarter times this duration.
  public var idle: Duration
  /// The time for the whole transfer, with redirects and pauses of a slow reader; `nil` for no bound, so
  /// that a stream may stay open for days.
  public var total: Duration?
  /// The time from the connection to the end of the response's header; `nil` for no bound. A server that
  /// sends its header byte by byte is never idle, so only this and `total` end the transfer. The timeout
  /// fires between one and one and a quarter times this duration.
  public var head: Duration?
  /// The lowest rate at which a body may arrive, on average over ``rateWindow``, while the reader is waiting;
  /// `nil` for any. A server that sends its body byte by byte is never idle, so only this and `total` end
  /// the transfer. Do not set it for a stream in which events are rare.
  public var minBytesPerSecond: Int?

  /// The time over which ``minBytesPerSecond`` is measured: 60 seconds.
  public static let rateWindow = Duration.seconds(60)
  /// The bound for the head in ``transfers``: 5 minutes.
  public static let defaultHead = Duration.seconds(300)
  /// The lowest rate in ``transfers``: 1 KiB per second.
  public static let defaultMinBytesPerSecond = 1 << 10

  /// The timeouts for lists and files, which no server can keep open for ever: as by default, with
  /// ``defaultHead`` and ``defaultMinBytesPerSecond``.
  public static let transfers = HTTPTimeouts(
    head: defaultHead, minBytesPerSecond: defaultMinBytesPerSecond)

  /// Timeouts of 30 seconds to connect and 60 seconds idle, without other bounds, by default.
  public init(
    connect: Duration = .seconds(30), idle: Duration = .seconds(60), total: Duration? = nil,
    head: Duration? = nil, minBytesPerSecond: Int? = nil
  ) {
    self.connect = connect
    self.idle = idle
    self.total = total
    self.head = head
    self.minBytesPerSecond = minBytesPerSecond
  }
}

/// Options of a client, for all its requests.
public struct HTTPClientOptions: Hashable, Sendable {
  /// Timeouts for requests that bring none of their own.
  public var timeouts = HTTPTimeouts()
  /// The maximum number of redirects in a row that are followed.
  public var maxRedirectCount = 10
  /// The maximum number of connections to one host. Further requests wait; only the total timeout limits the wait. A
  /// body that is read slowly occupies a connection. All hosts together have at most half as many
  /// connections as the process may have open files (`ulimit -n`).
  public var maxConnectionCountPerHost = 16
  /// The maximum number of bytes of one response's header lines, trailers included; on libcurl, of
  /// one line no more than 100 KiB, and no more than 2,000 lines.
  public var maxFieldByteCount = 256 << 10
  /// The maximum number of decoded bytes of one body that are buffered for its reader before the transfer pauses. One
  /// network buffer, after decoding, may exceed it; on URLSession, everything received by then.
  public var maxBufferedByteCount = 256 << 10
  /// A file of PEM certificates to trust instead of the system's; not on Apple platforms, where the
  /// keychain holds them.
  public var certificateAuthorityFile: String?
  /// A file with the PEM certificate by which this client identifies itself to servers that ask for one,
  /// and the private key, unless ``clientKeyFile`` has it; not on Apple platforms.
  public var clientCertificateFile: String?
  /// A file with the PEM private key of ``clientCertificateFile``; not on Apple platforms.
  public var clientKeyFile: String?
  /// A file in the form of `~/.netrc` with user names and passwords by host, for requests that have none in
  /// their address or their fields; not on Apple platforms.
  public var netrcFile: String?
  /// The `User-Agent` of requests that have none.
  public var userAgent = "tandem/\(PackageVersion.current)"

  /// The options as documented, but for the timeouts; change what should differ.
  public init(timeouts: HTTPTimeouts = HTTPTimeouts()) { self.timeouts = timeouts }
}
