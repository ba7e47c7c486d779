internal import SystemLibrary
internal import TandemHTTP

/// The directory of a mirror, around folders of files.
///
/// It must be empty before it has an owner, and may not be inside the directory of another mirror. Hidden files
/// do not count, nor do directories with nothing but them: no folder's store touches them. One process at a time
/// has it for writing.
final class MirrorDirectory: Sendable {
  let index: FileIndex
  private let directory: Directory?
  /// The paths of files that may be in it while it has no owner.
  private let tolerated: [String]
  private let hidden: Directory?
  private let lock: FileLock?

  /// Opens the directory at a path, and checks it.
  ///
  /// - Parameters:
  ///   - path: The directory. It is created if it is missing; its parent must exist.
  ///   - tolerated: The paths of files that may be in it while it has no owner.
  ///   - isReadOnly: True to write nothing: the directory is then neither created nor locked.
  /// - Throws: ``TransportError``, before anything is written, if it has no owner and is not empty, or is
  ///   inside a directory that has one; also if another process has it.
  convenience init(
    path: String, tolerated: [String], isReadOnly: Bool
  ) throws(TransportError) {
    var directory = try Directory(existing: path)
    if directory == nil, let parent = try Directory(existing: Directory.parent(of: path)) {
      try Self.requireOutside(parent, isIncluded: true, path)
    }
    if directory == nil, !isReadOnly { directory = try Directory.openOrCreate(path) }
    try self.init(directory, tolerated: tolerated, isReadOnly: isReadOnly)
  }

  /// Checks a directory that is open, `nil` if there is none. The checks and all later changes concern this
  /// directory, whatever gets its path meanwhile.
  init(
    _ directory: Directory?, tolerated: [String], isReadOnly: Bool
  ) throws(TransportError) {
    self.tolerated = tolerated
    self.directory = directory
    if let directory { try Self.requireOwnPlace(directory, tolerated) }
    guard !isReadOnly, let directory else {
      index = try FileIndex(of: directory, hidden: nil)
      (hidden, lock) = (nil, nil)
      return
    }
    let hidden = try Directory(FileIndex.directoryName, in: directory)
    lock = try FileLock(in: hidden, of: directory.path)
    // Only the one who has the lock sees what others have written.
    index = try FileIndex(of: directory, hidden: hidden)
    self.hidden = hidden
  }

  private static func requireOwnPlace(
    _ directory: Directory, _ tolerated: [String]
  ) throws(TransportError) {
    try requireOutside(directory, isIncluded: false, directory.path)
    if try !FileIndex.hasOwner(directory), try !isEmpty(directory, tolerated) {
      throw TransportError(
        .cannotWrite, "it holds files that no mirror put there; choose an empty directory",
        url: directory.path)
    }
  }

  /// Throws if a directory is inside that of another mirror.
  ///
  /// - Parameter isIncluded: True if it may not be the other mirror's directory itself.
  private static func requireOutside(
    _ directory: Directory, isIncluded: Bool, _ path: String
  ) throws(TransportError) {
    guard !directory.isInside(directoryWith: FileIndex.path, isIncluded: isIncluded) else {
      throw TransportError(
        .cannotWrite, "it is inside the directory of another mirror; choose one outside", url: path)
    }
  }

  /// The directory that file systems keep at their roots, for their repair.
  private static let systemName = "lost+found"

  /// True if there is nothing but empty directories, and tolerated files.
  private static func isEmpty(
    _ directory: Directory, _ paths: [String]
  ) throws(TransportError) -> Bool {
    let tolerated = paths.compactMap { Directory.identity(at: $0) }
    for name in try directory.names() where !name.hasPrefix(".") && name != systemName {
      if let identity = directory.identity(of: name), tolerated.contains(identity) { continue }
      guard let folder = try? Directory(existing: name, in: directory),
        try folder.hasOnlyHiddenNames()
      else { return false }
    }
    return true
  }
}

extension MirrorDirectory {
  /// True if there are no files in it, nor in its folders.
  func isEmpty() throws(TransportError) -> Bool {
    guard let directory else { return true }
    return try Self.isEmpty(directory, tolerated)
  }

  /// True if there are no files in one of its folders.
  func isEmpty(_ folder: FileName) throws(TransportError) -> Bool {
    guard let directory, let folder = try Directory(existing: folder.text, in: directory) else {
      return true
    }
    return try folder.hasOnlyHiddenNames()
  }

  /// True if the file at a path is, or would be, in one of its folders.
  func isIn(_ folder: FileName, _ path: String) -> Bool {
    guard let directory, let folder = directory.identity(of: folder.text) else { return false }
    return Directory.identity(at: Directory.parent(of: path)) == folder
  }

  /// The files of one of its folders; none if there is no such folder.
  func files(in folder: FileName) throws(TransportError) -> StoredFiles {
    StoredFiles(
      directory: try directory.flatMap { (directory) throws(TransportError) in
        try Directory(existing: folder.text, in: directory)
      }, folder: folder.text, index: index)
  }

  /// The store for one of its folders, which is created if it is missing.
  ///
  /// - Precondition: The directory was opened for writing.
  func store(in folder: FileName) throws(TransportError) -> FileStore {
    guard let directory, let hidden else { preconditionFailure("The directory is only read") }
    return try FileStore(
      Directory(folder.text, in: directory), hidden, index, folder: folder.text, lock: lock,
      isSynchronized: true)
  }
}

extension Directory {
  fileprivate func hasOnlyHiddenNames() throws(TransportError) -> Bool {
    try names().allSatisfy { $0.hasPrefix(".") }
  }
}
