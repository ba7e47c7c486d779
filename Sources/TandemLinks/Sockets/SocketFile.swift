import SystemLibrary

/// The file of a listening Unix-domain socket, by its identity and its path, so that the file of another process is
/// never removed.
struct SocketFile: Sendable {
  private let path: String
  /// The identity of the file. The system does not reuse it while the bound socket is open, and a listener's socket
  /// is open until its file has been removed.
  private let identity: FileIdentity

  /// The socket at a path, if there is one.
  private init?(at path: String) {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.path = path
    identity = FileIdentity(status)
  }

  /// Listens at a path, and replaces a socket file that was left over.
  ///
  /// A lock is held meanwhile: if two processes find the same leftover file, the second one then finds the socket of
  /// the first.
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
      // No peer can connect before the socket listens.
      return chmod(path, 0o600) == 0
        && SystemLibrary.listen(descriptor.number, SocketListener.maxWaitingConnectionCount) == 0
    }
    return (descriptor, SocketFile(at: path))
  }

  /// True if no process listens, now and a moment later: a process that has just bound a socket will listen soon.
  private var isLeftover: Bool {
    for _ in 1..<Self.maxProbeCount {
      guard isRefused else { return false }
      usleep(Self.probeMicroseconds)
    }
    return isRefused
  }

  private static let maxProbeCount = 4
  private static let probeMicroseconds: useconds_t = 10_000

  /// True if no process listens now. Does not wait for a busy one.
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

  /// Removes the file, unless another one has replaced it.
  func remove() {
    if SocketFile(at: path)?.identity == identity { unlink(path) }
  }
}

/// A lock on the creation of a socket's file, shared by all processes that use Tandem: an empty file beside it.
///
/// A separate file, because any process may hold a lock on the folder for any time.
private struct SocketLock {
  private let path: String
  private let number: CInt

  private static let suffix = ".tandem-lock"
  private static let maxTryCount = 50
  private static let retryMicroseconds: useconds_t = 20_000

  /// Acquires the lock; waits for it at most one second.
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

  /// Returns true if the open file still has the path: the previous owner of the lock has removed its file.
  private static func isFile(at path: String, openAs number: CInt) -> Bool {
    var named = stat()
    return lstat(path, &named) == 0 && FileIdentity(named) == FileIdentity(of: number)
  }

  /// Releases the lock, and removes its file unless it has contents: then it belongs to another program.
  func release() {
    var status = stat()
    if fstat(number, &status) == 0, status.st_size == 0 { unlink(path) }
    close(number)
  }
}
