import SystemLibrary

/// The folder with the files of the demo. One demo at a time uses it.
struct Folder: Sendable {
  let path: String
  private let isTemporary: Bool
  /// The open folder, whose lock lasts as long as this process.
  private let lock: Int32

  /// A folder, which is created if it is missing; without a path, a new one for this run.
  init(_ path: String?) throws {
    isTemporary = path == nil
    if let path {
      guard mkdir(path, 0o700) == 0 || errno == EEXIST, let whole = resolvedPath(path) else {
        throw Folder.error(path, "cannot be created: \(String(cString: strerror(errno)))")
      }
      self.path = whole
    } else {
      let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
      var template = Array("\(parent)/tandem-demo-XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else {
        throw DemoError("\(parent): \(String(cString: strerror(errno))); name a folder with --data")
      }
      self.path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
    guard access(self.path, W_OK | X_OK) == 0 else {
      throw Folder.error(self.path, "cannot be written: \(String(cString: strerror(errno)))")
    }
    lock = open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else {
      throw Folder.error(self.path, "cannot be opened: \(String(cString: strerror(errno)))")
    }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      throw Folder.error(self.path, "is in use by another demo")
    }
  }

  private static func error(_ path: String, _ reason: String) -> DemoError {
    DemoError("the folder \(path) \(reason); name another one with --data")
  }

  /// Removes the folder, if it was made for this run.
  func end() {
    close(lock)
    guard isTemporary else { return }
    Folder.remove(path)
  }

  /// Removes a file, or a folder with everything in it.
  private static func remove(_ path: String) {
    if let names = directoryNames(path) {
      for name in names { remove("\(path)/\(name)") }
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
