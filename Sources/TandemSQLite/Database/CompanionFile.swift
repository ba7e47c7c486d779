internal import SystemLibrary

/// A database of Tandem's own beside the file of another one: the path of that file without symbolic links, with
/// `-tandem` at its end.
///
/// Only a program that has the lock for writing the main database uses it, so that no two programs do so at the same
/// time. A file of that name that another program made is left alone.
package struct CompanionFile: Sendable {
  /// The mark of such a file in its header.
  private static let applicationID: Int64 = 0x5454_6d70

  /// The path.
  package let path: String
  private let mainPath: String

  /// The file beside that of a connection, which need not be there; `nil` for a database in memory.
  package init?(of connection: DatabaseConnection) {
    guard let mainPath = connection.filePath else { return nil }
    self.mainPath = mainPath
    path = mainPath + "-tandem"
  }

  /// True if the file is there, and no other program made it. A program may have been killed when it had just created
  /// the file.
  private var isOwn: Bool {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    var header = [UInt8](repeating: 0, count: 100)
    let count = read(descriptor, &header, header.count)
    // https://www.sqlite.org/fileformat.html, section 1.3
    return count == 0
      || count == header.count && header.starts(with: "SQLite format 3\0".utf8)
        && header[68..<72].reduce(0, { $0 << 8 | Int64($1) }) == Self.applicationID
  }

  /// True if an error says that the file is damaged, as after a failure of the disk.
  package func isDamaged(_ error: DatabaseError) -> Bool {
    error.path == path && [.corrupt, .notADatabase].contains(error.code.primary)
  }

  /// A connection to the file; `nil` if it is not there, cannot be read, or is another program's.
  package func opened() -> DatabaseConnection? {
    guard isOwn else { return nil }
    return try? DatabaseConnection(
      path: path, DatabaseConfiguration(access: .readWrite, journal: .asItIs))
  }

  /// A connection to a new file, in place of the one that is there; `nil` if none can be created, as in a folder that
  /// may not be written.
  package func created() -> DatabaseConnection? {
    remove()
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    takePermissions(descriptor)
    close(descriptor)
    guard let connection = opened(),
      (try? connection.execute("PRAGMA application_id=\(Self.applicationID)")) != nil
    else {
      unlink(path)
      return nil
    }
    return connection
  }

  /// Removes the file, unless another program made it.
  package func remove() {
    guard isOwn else { return }
    unlink(path)
    // SQLite ignores the journal of an empty file, so a program that is killed between the two leaves nothing that
    // matters.
    unlink(path + "-journal")
  }

  /// Lets everybody use the new file who may use the database, and nobody else.
  private func takePermissions(_ descriptor: Int32) {
    var (main, own) = (stat(), stat())
    guard stat(mainPath, &main) == 0 else { return }
    giveOwner(of: main, to: descriptor)
    guard fstat(descriptor, &own) == 0 else { return }
    let isSameGroup = own.st_gid == main.st_gid
    _ = fchmod(descriptor, main.st_mode & (isSameGroup ? 0o666 : 0o600))
  }
}
