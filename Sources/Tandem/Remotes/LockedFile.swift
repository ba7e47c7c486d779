internal import SystemLibrary

/// A file that is replaced atomically, under a lock that all processes share.
struct LockedFile: Sendable {
  let path: String

  private static let lockSuffix = ".tandem-lock"
  private static let newSuffix = ".tandem-new"
  private static let maxLockWait = Duration.seconds(10)
  private static let lockRetryDelay = Duration.milliseconds(10)

  /// Runs `body` while no other process or task has the lock.
  func withLock<Result>(_ body: () throws -> Result) async throws -> Result {
    let lock = try await lock()
    // Closing the file is not enough: a process that another thread has just started may hold a copy.
    defer {
      flock(lock, LOCK_UN)
      close(lock)
    }
    return try body()
  }

  /// Opens and locks the file beside this one. It is never removed, because another process may be waiting for it.
  private func lock() async throws -> CInt {
    let target = try resolvedPath()
    let name = target + Self.lockSuffix
    var descriptor = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o666)
    // Another user may have created it so that others can only read it, which is enough for flock(2).
    if descriptor < 0, errno == EACCES {
      descriptor = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    }
    guard descriptor >= 0 else { throw failure("locked") }
    do {
      let start = ContinuousClock.now
      while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
        guard errno == EWOULDBLOCK || errno == EINTR else { throw failure("locked") }
        guard start.duration(to: .now) < Self.maxLockWait else {
          throw RemoteError(
            .locked, path,
            "another process has held the lock \(name) for \(Self.maxLockWait); try again later")
        }
        try await Task.sleep(for: Self.lockRetryDelay)
      }
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// The contents; `nil` if the file does not exist.
  func bytes(maxByteCount: Int) throws(RemoteError) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw failure("read")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("read") }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw RemoteError(.file, path, "it is not a regular file; choose another path")
    }
    guard let bytes = readToEnd(descriptor, maxByteCount: maxByteCount) else {
      throw errno == EFBIG ? RemoteError.tooLarge(path, maxByteCount) : failure("read")
    }
    return bytes
  }

  /// Replaces the contents of the file, which keeps its owner and its permissions. When this returns, the
  /// new contents survive a power failure. Call it with the lock.
  func replace(with bytes: [UInt8]) throws(RemoteError) {
    let target = try resolvedPath()
    let new = target + Self.newSuffix
    // Left over by a process that ended. It may have another owner.
    unlink(new)
    let folder = target.lastIndex(of: "/").map { String(target[...$0]) } ?? "."
    guard replaceFile(target, by: bytes, at: new), synchronizeDirectory(folder) else {
      throw failure("written")
    }
  }

  /// The path without symbolic links; the path itself if there is no such file.
  private func resolvedPath() throws(RemoteError) -> String {
    if let real = SystemLibrary.resolvedPath(path) { return real }
    var status = stat()
    guard lstat(path, &status) != 0 else {
      throw RemoteError(
        .file, path, "it is a link to nothing; remove the link, or create the file")
    }
    return path
  }

  private func failure(_ action: String) -> RemoteError {
    RemoteError(
      .file, path, "it cannot be \(action): \(String(cString: strerror(errno)).lowercased())")
  }
}
