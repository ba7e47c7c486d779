#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The file that stands for a listening Unix-domain socket: which one it is, not only where, so that
/// nobody else's is removed.
struct SocketFile: Sendable {
  private let path: String
  private let identity: Identity

  /// Which file it is. The system gives the number to no other file as long as the socket is open that
  /// was bound to this one, and a listener's is until its file has been removed.
  private struct Identity: Equatable {
    var device: dev_t
    var number: ino_t

    init(_ status: stat) { (device, number) = (status.st_dev, status.st_ino) }
  }

  /// The socket at a path, if there is one.
  private init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    identity = Identity(status)
  }

  /// Listens at a path, in place of a socket that nobody listens at any more.
  ///
  /// A lock is held meanwhile: of two processes that find the same leftover, the second finds the first
  /// one's socket in its place.
  static func listen(
    at path: String
  ) throws(ChannelLinkError) -> (descriptor: SocketDescriptor, file: SocketFile?) {
    let lock = try SocketLock(ofFileAt: path)
    defer { lock.release() }
    if let leftover = SocketFile(at: path), leftover.isLeftover { leftover.remove() }
    let descriptor = try SystemSockets.open(
      .unix(path: path), isPassive: true
    ) { descriptor, name, count in
      guard bind(descriptor.number, name, count) == 0 else { return false }
      // Nobody can connect before it listens.
      return chmod(path, 0o600) == 0
        && systemListen(descriptor.number, SocketListener.maxWaitingConnectionCount) == 0
    }
    return (descriptor, SocketFile(at: path))
  }

  /// Whether nobody listens, a moment later neither: one who has just bound a socket will.
  private var isLeftover: Bool {
    for _ in 1..<Self.maxProbeCount {
      guard isRefused else { return false }
      usleep(Self.probeMicroseconds)
    }
    return isRefused
  }

  private static let maxProbeCount = 4
  private static let probeMicroseconds: useconds_t = 10_000

  /// Whether nobody listens just now. Does not wait for one who does, but is busy.
  private var isRefused: Bool {
    var isRefused = false
    _ = try? SystemSockets.open(.unix(path: path), isPassive: false) {
      _ = fcntl($0.number, F_SETFL, O_NONBLOCK)
      let isConnected = connect($0.number, $1, $2) == 0
      isRefused = !isConnected && errno == ECONNREFUSED
      return isConnected
    }
    return isRefused
  }

  /// Removes the file, unless another one has taken its place.
  func remove() {
    if SocketFile(at: path)?.identity == identity { unlink(path) }
  }
}

/// A lock on making the file of a socket, among processes that ask for it: an empty file beside it, for
/// as long as it takes.
///
/// A file of our own, because anybody may hold a lock on a folder for as long as they like.
private struct SocketLock {
  private let path: String
  private let number: CInt

  private static let suffix = ".tandem-lock"
  private static let maxTryCount = 50
  private static let retryMicroseconds: useconds_t = 20_000

  /// Takes the lock; waits for it one second.
  init(ofFileAt socketPath: String) throws(ChannelLinkError) {
    path = socketPath + Self.suffix
    for _ in 0..<Self.maxTryCount {
      let number = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw SystemSockets.failure("use unix:\(socketPath)") }
      if flock(number, LOCK_EX | LOCK_NB) == 0, Self.isFile(at: path, openAs: number) {
        self.number = number
        return
      }
      close(number)
      usleep(Self.retryMicroseconds)
    }
    throw ChannelLinkError(
      .connection, "cannot use unix:\(socketPath): another process holds the lock \(path)")
  }

  /// Whether a file is still there: one who held the lock removed theirs.
  private static func isFile(at path: String, openAs number: CInt) -> Bool {
    var (named, opened) = (stat(), stat())
    return lstat(path, &named) == 0 && fstat(number, &opened) == 0
      && named.st_dev == opened.st_dev && named.st_ino == opened.st_ino
  }

  /// Releases the lock, and removes its file, unless it is somebody's who wrote something into it.
  func release() {
    var status = stat()
    if fstat(number, &status) == 0, status.st_size == 0 { unlink(path) }
    close(number)
  }
}

// Under a name that members of the types above do not hide.
private func systemListen(_ number: CInt, _ count: CInt) -> CInt { listen(number, count) }
