import Tandem

/// Replaces files atomically.
enum AtomicFile {
  /// Replaces the contents of a file, durably, and keeps its owner and its permissions. The new contents are written to a
  /// temporary file beside it, synchronized to disk, and renamed. A symbolic link stays a symbolic link.
  ///
  /// - Parameter mode: The permissions of a new file, less those that the process takes away.
  static func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o666) throws {
    var status = stat()
    let exists = stat(path, &status) == 0
    if let reason = exists ? refusal(of: status) : isLink(path) ? "it is a link to nothing" : nil {
      throw FileError(path: path, action: "written", reason: reason)
    }
    let target = exists ? resolved(path) : path
    // A file that a killed process left does not have this name. The number of a process would: in a
    // container, it is the same at each start.
    let temporary = "\(target).tandem-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw FileError(path: path, action: "written", code: errno) }
    do {
      defer { close(descriptor) }
      if exists {
        // The owner first, because a change of the owner may take permissions away. Only root can
        // give a file away; others keep a group that is theirs.
        if fchown(descriptor, status.st_uid, status.st_gid) != 0 {
          _ = fchown(descriptor, uid_t.max, status.st_gid)
        }
        _ = fchmod(descriptor, status.st_mode & 0o7777)
      }
      try OutputStream.write(bytes, to: descriptor)
      guard fsync(descriptor) == 0, rename(temporary, target) == 0 else {
        throw FileError(path: path, action: "written", code: errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    try synchronizeDirectory(of: target)
  }

  /// Returns once the name of a file is on disk. A file system that cannot synchronize a directory is no error.
  private static func synchronizeDirectory(of target: String) throws {
    let descriptor = open(directory(of: target), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    // A directory may be writable and not readable.
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw FileError(path: target, action: "synchronized to disk", code: errno)
    }
  }

  /// Returns once the contents of a file, or the names in a directory, are on disk.
  static func synchronize(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "read", code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw FileError(path: path, action: "synchronized to disk", code: errno)
    }
  }

  /// The directory that a file or a directory is in.
  static func directory(of path: String) -> String {
    var path = path[...]
    while path.utf8.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Returns true if a name is `-`, or the file that standard output goes to, such as /dev/stdout.
  /// A new file in its place would discard the earlier output.
  static func isStandardOutput(_ name: String) -> Bool {
    var status = stat()
    return name == "-" || stat(name, &status) == 0 && isOpen(status, as: STDOUT_FILENO)
  }

  /// The reason why a file cannot be replaced, if there is one.
  private static func refusal(of status: stat) -> String? {
    if status.st_mode & S_IFMT == S_IFDIR { return "it is a directory" }
    if status.st_mode & S_IFMT != S_IFREG { return "it is not a regular file" }
    return isOpen(status, as: STDERR_FILENO) ? "standard error goes there" : nil
  }

  private static func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private static func isOpen(_ status: stat, as descriptor: Int32) -> Bool {
    FileIdentity(status) == FileIdentity(of: descriptor)
  }

  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }
}

/// Reads whole files.
enum FileText {
  /// The maximum length of a file: 1 GiB. Up to three files are in memory at a time, with the results.
  static let maxByteCount = 1 << 30

  /// The bytes of a file, or of standard input for `-`.
  static func bytes(of name: String, maxByteCount: Int = maxByteCount) throws -> [UInt8] {
    let descriptor = name == "-" ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: name, action: "read", code: errno) }
    defer { close(descriptor) }
    let tooLong = FileError(
      path: name, action: "read", reason: "it is longer than the limit of \(maxByteCount) bytes")
    guard byteCount(descriptor) <= maxByteCount else { throw tooLong }
    guard let bytes = readToEnd(descriptor, maxByteCount: maxByteCount) else {
      throw errno == EFBIG ? tooLong : FileError(path: name, action: "read", code: errno)
    }
    return bytes
  }

  /// The length of a file; 0 for a pipe or a device.
  private static func byteCount(_ descriptor: Int32) -> Int {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
  }
}

/// An error of reading or writing a file.
struct FileError: Error, CustomStringConvertible {
  var path: String
  var action: String
  var reason: String

  init(path: String, action: String, reason: String) {
    self.path = path
    self.action = action
    self.reason = reason
  }

  /// Creates an error from a system error number.
  init(path: String, action: String, code: Int32) {
    self.init(path: path, action: action, reason: String(cString: strerror(code)).lowercased())
  }

  var description: String { "\(path): cannot be \(action): \(reason)" }
}
