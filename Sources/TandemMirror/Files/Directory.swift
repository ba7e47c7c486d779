internal import SystemLibrary
internal import TandemHTTP

/// An open directory. All names are looked up in the directory itself, wherever it has been moved,
/// and symbolic links under them are never followed. A directory that is opened once is checked and
/// changed as one: another directory, or a link, that later gets its path is not touched.
final class Directory: Sendable {
  /// Where it was opened, for messages.
  let path: String
  private let descriptor: Int32

  /// Opens a directory, which is created, durably, if it is missing; its parent must exist.
  static func openOrCreate(_ path: String) throws(TransportError) -> Directory {
    guard !path.isEmpty else {
      throw TransportError(.cannotWrite, "a directory's path may not be empty", path: path)
    }
    if let opened = try Directory(existing: path) { return opened }
    guard let parent = try Directory(existing: parent(of: path)) else {
      throw TransportError(
        .cannotWrite, "the directory cannot be created: the directory around it does not exist",
        path: path)
    }
    return try Directory(lastName(of: path), in: parent, path: path)
  }

  /// Opens a directory to be read; `nil` if there is none.
  convenience init?(existing path: String) throws(TransportError) {
    try self.init(existing: path, at: AT_FDCWD, path: path)
  }

  /// Opens a directory in `parent` to be read, but no symbolic link to one; `nil` if there is none.
  convenience init?(existing name: String, in parent: Directory) throws(TransportError) {
    try self.init(
      existing: name, at: parent.descriptor, path: "\(parent.path)/\(name)", flags: O_NOFOLLOW)
  }

  private init?(
    existing name: String, at parent: Int32, path: String, flags: Int32 = 0
  ) throws(TransportError) {
    guard !name.utf8.contains(0) else {
      throw TransportError(.cannotRead, "a directory's path may not have a NUL in it", path: path)
    }
    let opened = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)
    if opened < 0, errno == ENOENT { return nil }
    let reason = String(cString: strerror(errno)).lowercased()
    descriptor = opened
    self.path = path
    guard opened >= 0 else {
      throw TransportError(.cannotRead, "it cannot be read as a directory: \(reason)", path: path)
    }
  }

  /// Opens a directory in `parent`, but no symbolic link to one. It is created, durably, if it is missing.
  ///
  /// - Parameter path: Where it is, for messages; by default, the name in the path of `parent`.
  init(_ name: String, in parent: Directory, path: String? = nil) throws(TransportError) {
    let path = path ?? "\(parent.path)/\(name)"
    let isCreated = mkdirat(parent.descriptor, name, 0o755) == 0
    guard isCreated || errno == EEXIST else {
      throw .cannotWrite("the directory cannot be created", path)
    }
    if isCreated { try parent.synchronize() }
    descriptor = openat(
      parent.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    self.path = path
    guard descriptor >= 0 else { throw .cannotWrite("it cannot be opened as a directory", path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The modes of opening a file.
  enum Mode {
    /// For reading; it must exist.
    case read
    /// For writing from its start, with nothing in it.
    case create
    /// For reading, and writing at its end; it must exist.
    case extend
    /// For writing at its end; created if it is missing.
    case append

    fileprivate var flags: Int32 {
      switch self {
      case .read: O_RDONLY
      case .create: O_RDWR | O_CREAT | O_TRUNC
      case .extend: O_RDWR
      case .append: O_RDWR | O_CREAT | O_APPEND
      }
    }
  }

  /// Opens a regular file.
  ///
  /// - Parameter isPrivate: True to create it so that only its owner may read it.
  func open(
    _ name: String, _ mode: Mode, isPrivate: Bool = false
  ) throws(TransportError) -> OpenFile {
    let flags = mode.flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
    let file = openat(descriptor, name, flags, isPrivate ? 0o600 : 0o644)
    guard file >= 0 else { throw .cannotWrite("the file cannot be opened", "\(path)/\(name)") }
    let opened = OpenFile(descriptor: file, path: "\(path)/\(name)")
    guard opened.isRegular else {
      throw TransportError(.cannotWrite, "it is no regular file", path: "\(path)/\(name)")
    }
    return opened
  }

  /// The length of a regular file; `nil` for anything else, or nothing.
  func byteCount(of name: String) -> Int? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int(status.st_size)
  }

  /// Gives a file another name in `target`, replacing the file or link that has it.
  func move(_ name: String, to newName: String, in target: Directory) throws(TransportError) {
    guard renameat(descriptor, name, target.descriptor, newName) == 0 else {
      throw .cannotWrite("the file cannot be put in place", "\(target.path)/\(newName)")
    }
  }

  /// Removes a file or link; one that does not exist is removed already.
  func remove(_ name: String) throws(TransportError) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw .cannotWrite("the file cannot be removed", "\(path)/\(name)")
    }
  }

  /// Returns once the names in it are on disk.
  func synchronize() throws(TransportError) {
    guard synchronizeFile(descriptor) else {
      throw .cannotWrite("the directory cannot be written to disk", path)
    }
  }

  /// The names of everything in it but itself and its parent, in no order.
  func names() throws(TransportError) -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard let names = directoryNames(closing: copy) else {
      throw .cannotWrite("the directory cannot be read", path)
    }
    return names
  }
}

// MARK: - Surroundings

extension Directory {
  /// The identity of the file at a path; `nil` if there is none.
  static func identity(at path: String) -> FileIdentity? { FileIdentity(at: path) }

  /// The path of the directory that the last part of a path is in.
  static func parent(of path: String) -> String {
    let parts = path.split(separator: "/")
    let start = path.hasPrefix("/") ? "/" : "./"
    return start + parts.dropLast().joined(separator: "/")
  }

  /// The last part of a path.
  static func lastName(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? "."
  }

  /// The maximum length of a path that leads up, which systems bound.
  private static let maxClimbByteCount = 3_000

  /// True if a directory above this one has a regular file at a path.
  ///
  /// - Parameter isIncluded: True if this directory counts, too.
  func isInside(directoryWith path: String, isIncluded: Bool) -> Bool {
    var prefix = isIncluded ? "./" : "../"
    var last = isIncluded ? nil : identity(of: "./")
    while prefix.utf8.count < Self.maxClimbByteCount, let next = identity(of: prefix), next != last
    {
      if byteCount(of: prefix + path) != nil { return true }
      last = next
      prefix += "../"
    }
    return false
  }

  /// The identity of the file at a path in it; `nil` if there is none.
  func identity(of path: String) -> FileIdentity? {
    var status = stat()
    return fstatat(descriptor, path, &status, 0) == 0 ? FileIdentity(status) : nil
  }
}

extension TransportError {
  /// An error with the reason of the system call before it.
  static func cannotWrite(_ message: String, _ path: String) -> TransportError {
    let reason = String(cString: strerror(errno)).lowercased()
    return TransportError(.cannotWrite, "\(message): \(reason)", path: path)
  }
}
