import Tandem

/// Replaces files atomically.
enum AtomicFile {
  /// Replaces the contents of a file, durably, and keeps its owner and its permissions. The new contents are written to a
  /// temporary file beside it, synchronized to disk, and renamed. A symbolic link stays a symbolic link.
  static func write(_ bytes: [UInt8], to path: String) throws {
    var status = stat()
    let exists = stat(path, &status) == 0
    if let reason = exists ? refusal(of: status) : isLink(path) ? "it is a link to nothing" : nil {
      throw FileError(path: path, action: "written", reason: reason)
    }
    let target = resolvedPath(path) ?? path
    // A file that a killed process left does not have this name. The number of a process would: in a
    // container, it is the same at each start.
    let temporary = "\(target).tandem-\(String(UInt64.random(in: .min ... .max), radix: 16))"
    guard replaceFile(target, by: bytes, at: temporary) else {
      throw FileError(path: path, action: "written", code: errno)
    }
    // A directory may be writable and not readable.
    guard synchronizeDirectory(directory(of: target)) || errno == EACCES else {
      throw FileError(path: target, action: "synchronized to disk", code: errno)
    }
  }

  /// Returns once the contents of a file, or the names in a directory, are on disk.
  static func synchronize(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "read", code: errno) }
    defer { close(descriptor) }
    guard synchronizeFile(descriptor) || errno == EINVAL else {
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
