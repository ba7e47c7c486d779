#if canImport(Darwin)
  @_exported public import Darwin
#elseif canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#endif

// MARK: - Contents of files

/// Reads an open file to its end.
///
/// - Returns: The bytes; `nil` if they cannot be read, with the reason in `errno`, which is `EFBIG` for a file that is
///   longer than `maxByteCount`.
package func readToEnd(_ descriptor: Int32, maxByteCount: Int) -> [UInt8]? {
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 256 << 10)
  while true {
    let count = read(descriptor, &chunk, chunk.count)
    if count == 0 { return bytes }
    if count > 0 {
      guard count <= maxByteCount - bytes.count else {
        errno = EFBIG
        return nil
      }
      bytes += chunk[..<count]
    } else if errno != EINTR {
      return nil
    }
  }
}

/// Writes all bytes to an open file; returns false, with the reason in `errno`, if that fails.
package func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
  var written = 0
  while written < bytes.count {
    let count = bytes.withUnsafeBytes { bytes in
      write(descriptor, bytes.baseAddress! + written, bytes.count - written)
    }
    if count < 0, errno != EINTR { return false }
    written += max(0, count)
  }
  return true
}

/// Replaces a file, or makes it: writes the bytes to a temporary file, synchronizes that to disk, and renames it. The
/// file keeps its owner and its permissions. The caller synchronizes the directory.
///
/// - Parameters:
///   - temporary: The path of the temporary file, which must not exist. It is removed after an error.
///   - mode: The permissions of a new file, less those that the process takes away.
/// - Returns: False, with the reason in `errno`, if that fails.
package func replaceFile(
  _ path: String, by bytes: [UInt8], at temporary: String, mode: mode_t = 0o666
) -> Bool {
  let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
  guard descriptor >= 0 else { return false }
  var status = stat()
  if stat(path, &status) == 0 {
    // The owner first, because a change of the owner may take permissions away.
    giveOwner(of: status, to: descriptor)
    _ = fchmod(descriptor, status.st_mode & 0o7777)
  }
  let isReplaced =
    writeAll(bytes, to: descriptor) && synchronizeFile(descriptor) && rename(temporary, path) == 0
  let code = errno
  close(descriptor)
  if !isReplaced { unlink(temporary) }
  errno = code
  return isReplaced
}

/// Gives an open file the owner and the group of another one. Only root can give a file away; others keep a group that
/// is theirs.
package func giveOwner(of status: stat, to descriptor: Int32) {
  if fchown(descriptor, status.st_uid, status.st_gid) != 0 {
    _ = fchown(descriptor, uid_t.max, status.st_gid)
  }
}

/// `fsync(2)`; on Apple platforms, where that leaves bytes in the drive's cache, `F_FULLFSYNC`.
package func synchronizeFile(_ descriptor: Int32) -> Bool {
  #if canImport(Darwin)
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return true }
  #endif
  return fsync(descriptor) == 0
}

// MARK: - Directories

/// Returns true once the names in a directory are on disk. A file system that cannot synchronize one, as some over a
/// network, is no error.
package func synchronizeDirectory(_ path: String) -> Bool {
  let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  return synchronizeFile(descriptor) || errno == EINVAL
}

/// The names of everything in a directory but itself and its parent, in no order; `nil`, with the reason in `errno`, if
/// they cannot be read.
package func directoryNames(_ path: String) -> [String]? {
  directoryNames(closing: open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
}

/// The names in an open directory, which is closed; `nil` if the descriptor is negative, too.
package func directoryNames(closing descriptor: Int32) -> [String]? {
  guard descriptor >= 0 else { return nil }
  guard let stream = fdopendir(descriptor) else {
    let code = errno
    close(descriptor)
    errno = code
    return nil
  }
  var names: [String] = []
  while true {
    // Only an error sets it; the end of the directory does not.
    errno = 0
    guard let entry = readdir(stream) else { break }
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    if name != ".", name != ".." { names.append(name) }
  }
  let code = errno
  closedir(stream)
  errno = code
  return code == 0 ? names : nil
}

// MARK: - Facts about files

/// The absolute path of a file without symbolic links; `nil` if there is none.
package func resolvedPath(_ path: String) -> String? {
  guard let resolved = realpath(path, nil) else { return nil }
  defer { free(resolved) }
  return String(cString: resolved)
}

extension stat {
  /// The time of the last change of the contents.
  package var modificationTime: timespec {
    #if canImport(Darwin)
      return st_mtimespec
    #else
      return st_mtim
    #endif
  }
}

/// The identity of a file, whatever its name.
package struct FileIdentity: Equatable, Sendable {
  private let device: dev_t
  private let number: ino_t

  package init(_ status: stat) { (device, number) = (status.st_dev, status.st_ino) }

  /// The file at a path, or at the end of its links; `nil` if there is none.
  package init?(at path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// An open file; `nil` if it is closed.
  package init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }
}

/// The facts that change when a file does.
package struct FileVersion: Equatable, Sendable {
  private let identity: FileIdentity
  private let byteCount: Int
  private let seconds: Int
  private let nanoseconds: Int

  package init(_ status: stat) {
    identity = FileIdentity(status)
    byteCount = Int(status.st_size)
    seconds = Int(status.modificationTime.tv_sec)
    nanoseconds = Int(status.modificationTime.tv_nsec)
  }

  /// The version of the file at a path; `nil` if there is none.
  package init?(at path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }
}

// MARK: - Limits

/// The number of files and connections that this process may have open.
package enum OpenFileLimit {
  #if canImport(Glibc)
    private static var resource: __rlimit_resource_t { .init(RLIMIT_NOFILE.rawValue) }
  #else
    private static var resource: Int32 { RLIMIT_NOFILE }
  #endif

  /// The limit that is in force (`ulimit -n`); the largest integer if there is none.
  package static var current: Int {
    var limit = rlimit()
    return getrlimit(resource, &limit) == 0 ? Int(clamping: limit.rlim_cur) : .max
  }

  /// Raises the limit to the maximum that the system allows; leaves it as it is if that fails.
  ///
  /// The soft limit is for programs that use `select`, which takes no more than 1,024.
  package static func raise() {
    var limit = rlimit()
    #if canImport(Darwin)
      let most = rlim_t(OPEN_MAX)
    #else
      let most = rlim_t.max
    #endif
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, most))
    setrlimit(resource, &limit)
  }
}

// MARK: - Sockets

/// The type of sockets for streams of bytes.
package var streamSocketType: Int32 {
  #if canImport(Glibc)
    Int32(SOCK_STREAM.rawValue)
  #else
    SOCK_STREAM
  #endif
}

/// The addresses of a host, to be released by `freeaddrinfo(3)`, and the status of `getaddrinfo(3)`.
///
/// - Parameter isPassive: True for addresses to listen at.
package func addresses(
  of host: String, port: UInt16, isPassive: Bool
) -> (list: UnsafeMutablePointer<addrinfo>?, status: Int32) {
  var hints = addrinfo()
  hints.ai_socktype = streamSocketType
  hints.ai_flags = AI_NUMERICSERV | (isPassive ? AI_PASSIVE : 0)
  var list: UnsafeMutablePointer<addrinfo>?
  let status = getaddrinfo(host, String(port), &hints, &list)
  return (list, status)
}

/// The port of a TCP socket at this end; `nil` if it is closed.
package func localPort(of descriptor: Int32) -> UInt16? {
  var address = sockaddr_storage()
  var count = socklen_t(MemoryLayout<sockaddr_storage>.size)
  let status = withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      getsockname(descriptor, $0, &count)
    }
  }
  guard status == 0 else { return nil }
  // The port has the same offset in the addresses of both families.
  return withUnsafeBytes(of: &address) {
    UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
  }
}
