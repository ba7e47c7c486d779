internal import SystemLibrary

/// The lock of a directory of spaces (`flock(2)`), until it is released or its process ends.
///
/// One server at a time serves a directory. A second one, without access tokens, would open to all
/// programs of the machine what the first one protects.
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

  deinit { if descriptor >= 0 { close(descriptor) } }
}
