internal import SystemLibrary
internal import TandemHTTP

/// A file open for writing, closed when it is gone.
final class OpenFile: Sendable {
  private let descriptor: Int32
  private let path: String

  private static let chunkByteCount = 256 << 10

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// True if it is neither a pipe nor a device.
  var isRegular: Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Writes all bytes.
  func write(_ bytes: [UInt8]) throws(TransportError) {
    guard writeAll(bytes, to: descriptor) else {
      throw .cannotWrite("the file cannot be written", path)
    }
  }

  /// Reads from the start to the end, and leaves the place to write there.
  func forEachChunk(_ body: (UnsafeRawBufferPointer) -> Void) throws(TransportError) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else {
      throw .cannotWrite("the file cannot be read", path)
    }
    while true {
      let count = withUnsafeTemporaryAllocation(byteCount: Self.chunkByteCount, alignment: 1) {
        let count = read(descriptor, $0.baseAddress, $0.count)
        if count > 0 { body(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        return count
      }
      if count == 0 { return }
      if count < 0, errno != EINTR { throw .cannotWrite("the file cannot be read", path) }
    }
  }

  /// Cuts it to a length, and leaves the place to write there.
  func truncate(to byteCount: Int) throws(TransportError) {
    guard ftruncate(descriptor, off_t(byteCount)) == 0,
      lseek(descriptor, off_t(byteCount), SEEK_SET) == off_t(byteCount)
    else { throw .cannotWrite("the file cannot be cut", path) }
  }

  /// Returns once the contents are on disk.
  func synchronize() throws(TransportError) {
    guard synchronizeFile(descriptor) else {
      throw .cannotWrite("the file cannot be written to disk", path)
    }
  }

  /// Locks the file for this process; returns false if another one has it.
  fileprivate func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

  fileprivate func unlock() { flock(descriptor, LOCK_UN) }
}

/// The lock of a directory, held by one process for as long as this object exists.
///
/// It is unlocked explicitly. Closing the file would not unlock it while a process that another thread has just
/// started has a copy of the descriptor, until that process runs its own program.
final class FileLock: Sendable {
  private let file: OpenFile

  /// Locks the hidden directory of the directory at `path`.
  ///
  /// - Throws: ``TransportError`` if another process, or another lock, has it.
  init(in hidden: Directory, of path: String) throws(TransportError) {
    file = try hidden.open("lock", .append, isPrivate: true)
    guard file.lock() else {
      throw TransportError(
        .cannotWrite, "another run is using this directory; wait for its end", url: path)
    }
  }

  deinit { file.unlock() }
}
