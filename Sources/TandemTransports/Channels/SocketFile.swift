import TandemChannels

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

  /// A number alone does not tell a file from one that was made after its end.
  private struct Identity: Equatable {
    var device: dev_t
    var number: ino_t
    var seconds: Int
    var nanoseconds: Int

    init(_ status: stat) {
      device = status.st_dev
      number = status.st_ino
      #if canImport(Darwin)
        let changed = status.st_ctimespec
      #else
        let changed = status.st_ctim
      #endif
      (seconds, nanoseconds) = (changed.tv_sec, changed.tv_nsec)
    }
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
  /// The folder is locked meanwhile: of two processes that find the same leftover, the second finds
  /// the first one's socket in its place.
  static func listen(
    at path: String
  ) throws(ChannelLinkError) -> (descriptor: SocketDescriptor, file: SocketFile?) {
    let lock = FolderLock(ofFileAt: path)
    defer { lock?.release() }
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

  /// Whether nobody listens.
  private var isLeftover: Bool {
    var isRefused = false
    _ = try? SystemSockets.open(.unix(path: path), isPassive: false) {
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

/// A lock on a folder, among processes that ask for it.
private struct FolderLock {
  private let number: CInt

  /// Waits for the lock; `nil` if the folder cannot be locked.
  init?(ofFileAt path: String) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { return nil }
    while flock(number, LOCK_EX) != 0 {
      guard errno == EINTR else {
        close(number)
        return nil
      }
    }
  }

  func release() { close(number) }
}

// Under a name that members of the types above do not hide.
private func systemListen(_ number: CInt, _ count: CInt) -> CInt { listen(number, count) }
