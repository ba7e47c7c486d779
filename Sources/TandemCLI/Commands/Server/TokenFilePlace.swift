import Tandem
import TandemServer

/// A file of access tokens.
struct TokenFilePlace: TokenPlace {
  let name: String

  func read() throws -> (tokens: TokenList, uses: [SHA256Digest: Int]) {
    (try TokenFile.read(name), TokenFile.uses(besideFileAt: name))
  }

  func change(creates: Bool, _ body: (inout TokenList) throws -> Void) throws {
    let (lock, isNew) = try locked(creates: creates)
    // Closing the file ends the lock.
    defer { close(lock) }
    do {
      // Another process may have made the file just now.
      var list = try TokenFile.read(name)
      if creates, list.text.isEmpty { list = TokenList() }
      try body(&list)
      try AtomicFile.write(Array(list.text.utf8), to: name)
    } catch {
      if isNew { unlink(name) }
      throw error
    }
  }

  /// The file, locked, and whether it is new and empty. The lock is not that of the directory, which a server of spaces
  /// beside the file keeps as long as it runs.
  private func locked(creates: Bool) throws -> (descriptor: Int32, isNew: Bool) {
    while true {
      // Only the owner may read a new file: hashes are no secrets, but accounts and spaces may be.
      var descriptor =
        creates ? open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) : -1
      let isNew = descriptor >= 0
      if !isNew { descriptor = open(name, O_RDONLY | O_CLOEXEC) }
      guard descriptor >= 0 else {
        let code = errno
        // It says how to make the file.
        if !creates { _ = try TokenFile.read(name) }
        throw FileError(path: name, action: "written", code: code)
      }
      while flock(descriptor, LOCK_EX) != 0 {
        guard errno == EINTR else {
          let code = errno
          close(descriptor)
          throw FileError(path: name, action: "locked", code: code)
        }
      }
      // The one who had the lock before has replaced the file.
      if let held = FileIdentity(of: descriptor), held == FileIdentity(at: name) {
        return (descriptor, isNew)
      }
      close(descriptor)
    }
  }

  func end() {}
}
