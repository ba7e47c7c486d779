/// A directory around folders of files, with the mark of whose it is: a text in the hidden directory
/// `.tandem`.
///
/// It must be empty before it has a mark, and may not be inside another one that has. Hidden files do
/// not count: no folder's store touches them. One process at a time has it for writing.
package final class MarkedDirectory: Sendable {
  private let directory: Directory?
  private let folders: [FileName]
  /// What is written to; `nil` if nothing is to be.
  private let aside: Directory?
  private let lock: OpenFile?

  private static let markName = "owner"
  private static let markPath = "\(StoredFiles.asideName)/\(markName)"

  /// Opens a directory.
  ///
  /// - Parameters:
  ///   - path: The directory. It is created if it is missing; its parent must exist.
  ///   - folders: The folders it may have while it has no mark.
  ///   - isReadOnly: Whether nothing is written: neither is it created then, nor kept from others.
  /// - Throws: ``TransportError``, before anything is written, if it has no mark and is not empty, or
  ///   is inside a directory that has one; also if another process has it.
  package init(path: String, folders: [FileName], isReadOnly: Bool) throws(TransportError) {
    self.folders = folders
    let existing = try Self.checked(path, folders)
    guard !isReadOnly else {
      directory = existing
      aside = nil
      lock = nil
      return
    }
    let directory = try Directory(path: path)
    let aside = try Directory(StoredFiles.asideName, in: directory)
    let lock = try aside.open("lock", .append, isPrivate: true)
    guard lock.lock() else {
      throw TransportError(
        .cannotWrite, "another run is using this directory; wait for its end", url: path)
    }
    self.directory = directory
    self.aside = aside
    self.lock = lock
  }

  /// The directory at a path, if there is one, which is fit to be used.
  private static func checked(
    _ path: String, _ folders: [FileName]
  ) throws(TransportError) -> Directory? {
    let directory = try Directory(existing: path)
    var surroundings = directory
    if directory == nil { surroundings = try Directory(existing: parent(of: path)) }
    if let surroundings,
      surroundings.isInside(directoryWith: markPath, isIncluded: directory == nil)
    {
      throw TransportError(
        .cannotWrite, "it is inside the directory of another mirror; choose one outside", url: path)
    }
    if let directory { _ = try mark(of: directory, folders) }
    return directory
  }

  private static func mark(
    of directory: Directory, _ folders: [FileName]
  ) throws(TransportError) -> String? {
    if let mark = try directory.note(markPath) { return mark }
    guard try isEmpty(directory, but: folders) else {
      throw TransportError(
        .cannotWrite, "it holds files that no mirror put there; choose an empty directory",
        url: directory.path)
    }
    return nil
  }

  /// The path of the directory that the last part of a path is in.
  private static func parent(of path: String) -> String {
    let parts = path.split(separator: "/")
    let start = path.hasPrefix("/") ? "/" : "./"
    return start + parts.dropLast().joined(separator: "/")
  }

  /// Whether there is nothing but such folders, with nothing in them.
  private static func isEmpty(
    _ directory: Directory, but folders: [FileName]
  ) throws(TransportError) -> Bool {
    for name in try directory.names() where !name.hasPrefix(".") {
      guard folders.contains(where: { $0.text == name }),
        let folder = try? Directory(existing: "\(directory.path)/\(name)"),
        try isEmpty(folder, but: [])
      else { return false }
    }
    return true
  }
}

extension MarkedDirectory {
  /// The mark; `nil` if it has none.
  ///
  /// - Throws: ``TransportError`` if it has none, and is not empty.
  package func mark() throws(TransportError) -> String? {
    guard let directory else { return nil }
    return try Self.mark(of: directory, folders)
  }

  /// Sets the mark, durably.
  ///
  /// - Precondition: The directory was opened for writing.
  package func setMark(_ mark: String) throws(TransportError) {
    guard let aside else { preconditionFailure("A mark is set only where something is written") }
    try aside.replaceNote(Self.markName, with: mark, isSynchronized: true)
  }

  /// Whether there are no files in it, nor in its folders.
  package func isEmpty() throws(TransportError) -> Bool {
    guard let directory else { return true }
    return try Self.isEmpty(directory, but: folders)
  }

  /// Whether there are no files in one of its folders.
  package func isEmpty(_ folder: FileName) throws(TransportError) -> Bool {
    guard let directory, let folder = try Directory(existing: "\(directory.path)/\(folder)")
    else { return true }
    return try Self.isEmpty(folder, but: [])
  }
}
