internal import SystemLibrary

/// The lock of a directory of spaces (`flock(2)`), until it is released or its process ends.
///
/// One server at a time serves a directory. A second one, without access tokens, would open to all
/// programs of the machine what the first one protects.
///
/// It is unlocked explicitly, because a process that another thread has just started has a copy of the descriptor until
/// it runs its own program.
final class DirectoryLock: Sendable {
  private let descriptor: Int32

  /// - Throws: ``ServerError`` with code `directory`.
  init(_ path: String) throws(ServerError) {
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ServerError(.directory, "cannot open the directory \(path): \(systemReason())")
    }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw ServerError(
        .directory,
        errno == EWOULDBLOCK
          ? "another server serves the directory \(path): stop it first, or choose another directory"
          : "cannot lock the directory \(path): \(systemReason())")
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
