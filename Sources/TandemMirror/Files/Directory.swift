internal import TandemHTTP

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// An open directory. All names are looked up in the directory itself, wherever it has been moved,
/// and symbolic links under them are never followed.
final class Directory: Sendable {
  /// Where it was opened, for messages.
  let path: String
  private let descriptor: Int32

  /// Opens a directory, which is created if it is missing; its parent must exist.
  init(path: String) throws(TransportError) {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw TransportError(.cannotWrite, "a directory's path may not be empty", path: path)
    }
    if mkdir(path, 0o755) != 0, errno != EEXIST {
      throw .cannotWrite("the directory cannot be created", path)
    }
    descriptor = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    self.path = path
    guard descriptor >= 0 else { throw .cannotWrite("it cannot be opened as a directory", path) }
  }

  /// Opens a directory to be read; `nil` if there is none.
  init?(existing path: String) throws(TransportError) {
    let opened = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if opened < 0, errno == ENOENT { return nil }
    let reason = String(cString: strerror(errno)).lowercased()
    descriptor = opened
    self.path = path
    guard opened >= 0 else {
      throw TransportError(.cannotRead, "it cannot be read as a directory: \(reason)", path: path)
    }
  }

  /// Opens a directory in `parent`, which is created if it is missing.
  init(_ name: String, in parent: Directory) throws(TransportError) {
    let path = "\(parent.path)/\(name)"
    if mkdirat(parent.descriptor, name, 0o755) != 0, errno != EEXIST {
      throw .cannotWrite("the directory cannot be created", path)
    }
    descriptor = openat(
      parent.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    self.path = path
    guard descriptor >= 0 else { throw .cannotWrite("it cannot be opened as a directory", path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// How a file is opened.
  enum Mode {
    /// To be read; it must exist.
    case read
    /// To be written from its start, with nothing in it.
    case create
    /// To be read, and written at its end; it must exist.
    case extend
    /// To be written at its end; created if it is missing.
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
  /// - Parameter isPrivate: Whether nobody else may read it, if it is created.
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

  /// The whole of a regular file of at most `maxByteCount` bytes; `nil` for any other, or none.
  func contents(of name: String, maxByteCount: Int) -> [UInt8]? {
    guard let byteCount = byteCount(of: name), byteCount <= maxByteCount,
      let file = try? open(name, .read)
    else { return nil }
    var bytes: [UInt8] = []
    guard (try? file.forEachChunk { bytes += $0 }) != nil, bytes.count <= maxByteCount else {
      return nil
    }
    return bytes
  }

  /// How long a regular file is; `nil` for anything else, or nothing.
  func byteCount(of name: String) -> Int? {
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    return Int(status.st_size)
  }

  /// Gives a file another name in `target`, in place of what has it there.
  func move(_ name: String, to newName: String, in target: Directory) throws(TransportError) {
    guard renameat(descriptor, name, target.descriptor, newName) == 0 else {
      throw .cannotWrite("the file cannot be put in place", "\(target.path)/\(newName)")
    }
  }

  /// Opens a new file that has no name, and vanishes unless it is given one; `nil` where there are no
  /// such files.
  ///
  /// To give a file its only name costs a file system about half of what it costs to change it.
  func openUnnamed() -> OpenFile? {
    #if os(Linux)
      // O_TMPFILE, which the C library's module does not export.
      let flags = O_RDWR | O_CLOEXEC | O_DIRECTORY | 0o20_000_000
      let file = openat(descriptor, ".", flags, 0o644)
      return file < 0 ? nil : OpenFile(descriptor: file, path: path)
    #else
      return nil
    #endif
  }

  /// Gives an unnamed file a name, unless something has it; returns whether it did.
  func name(_ file: OpenFile, _ name: String) -> Bool {
    #if os(Linux)
      // By the descriptor itself, where the kernel allows that; otherwise by its path.
      if file.link(into: descriptor, as: name) { return true }
      if errno == EEXIST { return false }
      return linkat(AT_FDCWD, file.descriptorPath, descriptor, name, AT_SYMLINK_FOLLOW) == 0
    #else
      return false
    #endif
  }

  /// Removes a file or link; one that does not exist is removed already.
  func remove(_ name: String) throws(TransportError) {
    guard unlinkat(descriptor, name, 0) == 0 || errno == ENOENT else {
      throw .cannotWrite("the file cannot be removed", "\(path)/\(name)")
    }
  }

  /// Returns once the names in it are on disk.
  func synchronize() throws(TransportError) {
    guard OpenFile.synchronize(descriptor) else {
      throw .cannotWrite("the directory cannot be written to disk", path)
    }
  }

  /// The names of everything in it but itself and its parent, in no order.
  func names() throws(TransportError) -> [String] {
    let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else {
      throw .cannotWrite("the directory cannot be read", path)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }
}

// MARK: - What is above it

extension Directory {
  /// What a file or directory is, by whatever name.
  struct Identity: Equatable {
    var device: dev_t
    var number: ino_t
  }

  /// What is at a path; `nil` if there is nothing.
  static func identity(at path: String) -> Identity? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return Identity(device: status.st_dev, number: status.st_ino)
  }

  /// How far up is looked: as far as the system takes paths.
  private static let maxClimbByteCount = 3_000

  /// Whether a directory above this one has a regular file at a path.
  ///
  /// - Parameter isIncluded: Whether this directory counts, too.
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

  /// What is at a path in it; `nil` if there is nothing.
  func identity(of path: String) -> Identity? {
    var status = stat()
    guard fstatat(descriptor, path, &status, 0) == 0 else { return nil }
    return Identity(device: status.st_dev, number: status.st_ino)
  }
}

extension TransportError {
  /// An error of the system call before it, with what that says.
  static func cannotWrite(_ message: String, _ path: String) -> TransportError {
    let reason = String(cString: strerror(errno)).lowercased()
    return TransportError(.cannotWrite, "\(message): \(reason)", path: path)
  }
}
