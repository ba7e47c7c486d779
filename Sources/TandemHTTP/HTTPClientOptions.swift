/// How long to wait. A timeout that runs out ends the transfer with
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

/// What a client does the same way for all its requests.
public struct HTTPClientOptions: Hashable, Sendable {
  /// Timeouts for requests that bring none of their own.
  public var timeouts = HTTPTimeouts()
  /// How many redirects in a row are followed.
  public var maxRedirectCount = 10
  /// How many connections one host gets; further requests wait for their turn, without a timeout
  /// but the total one. A body that is being read slowly occupies one. Of all hosts together, there are
  /// no more than half as many as files may be open (`ulimit -n`).
  public var maxConnectionCountPerHost = 16
  /// The most bytes of one response's header lines, trailers included; on libcurl, of one line no more than
  /// 100 KiB, and no more than 2,000 lines.
  public var maxFieldByteCount = 256 << 10
  /// How many decoded bytes of one body are held for its reader before the server is made to wait.
  /// It may be exceeded by what is under way, at most one network buffer after decoding.
  public var maxBufferedByteCount = 256 << 10
  /// A file of PEM certificates to trust instead of the system's; not on Apple platforms, where the
  /// keychain holds them.
  public var certificateAuthorityFile: String?
  /// The `User-Agent` of requests that have none.
  public var userAgent = "tandem/\(PackageVersion.current)"

  /// The options as documented; change what should differ.
  public init() {}
}
