import Tandem

/// Writes files that are whole or as they were before.
enum AtomicFile {
  /// Makes a file have the given contents: they are written beside it, brought to disk, and put in
  /// its place, with its permissions. A symbolic link stays one.
  static func write(_ bytes: [UInt8], to path: String) throws {
    var status = stat()
    let exists = stat(path, &status) == 0
    guard !exists || status.st_mode & S_IFMT == S_IFREG else {
      throw FileError(path: path, action: "written", code: EINVAL)
    }
    let target = exists ? resolved(path) : path
    let temporary = "\(target).tandem-\(getpid())"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileError(path: path, action: "written", code: errno) }
    do {
      defer { close(descriptor) }
      if exists { _ = fchmod(descriptor, status.st_mode & 0o7777) }
      try OutputStream.write(bytes, to: descriptor)
      guard fsync(descriptor) == 0, rename(temporary, target) == 0 else {
        throw FileError(path: path, action: "written", code: errno)
      }
    } catch {
      unlink(temporary)
      throw error
    }
  }

  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }
}

/// Reads files whole.
enum FileText {
  /// The bytes of a file, or of standard input for `-`.
  static func bytes(of name: String) throws -> [UInt8] {
    let descriptor = name == "-" ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: name, action: "read", code: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 256 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count > 0 {
        bytes += chunk[..<count]
      } else if errno != EINTR {
        throw FileError(path: name, action: "read", code: errno)
      }
    }
  }
}

/// Why a file could not be read or written.
struct FileError: Error, CustomStringConvertible {
  var path: String
  var action: String
  var code: Int32

  var description: String {
    "\(path): cannot be \(action): \(String(cString: strerror(code)).lowercased())"
  }
}
