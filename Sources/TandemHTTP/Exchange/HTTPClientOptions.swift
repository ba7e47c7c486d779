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
