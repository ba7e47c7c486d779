package import TandemHTTP

/// A directory around folders of files, with the mark of whose it is: a text in the hidden directory
/// `.tandem`.
///
/// It must be empty before it has a mark, and may not be inside another one that has. Hidden files do
/// not count, nor do directories with nothing but them: no folder's store touches them. One process at a time has it for writing.
package final class MarkedDirectory: Sendable {
  private let directory: Directory?
  private let besides: [String]
  /// What is written to; `nil` if nothing is to be.
  private let aside: Directory?
  private let lock: FileLock?

  private static let markName = "owner"
  private static let markPath = "\(StoredFiles.asideName)/\(markName)"

  /// Opens a directory.
  ///
  /// - Parameters:
  ///   - path: The directory. It is created if it is missing; its parent must exist.
  ///   - besides: The paths of files that may be in it while it has no mark.
  ///   - isReadOnly: Whether nothing is written: neither is it created then, nor kept from others.
  /// - Throws: ``TransportError``, before anything is written, if it has no mark and is not empty, or
  ///   is inside a directory that has one; also if another process has it.
  package init(path: String, besides: [String], isReadOnly: Bool) throws(TransportError) {
    self.besides = besides
    let existing = try Self.checked(path, besides)
    guard !isReadOnly else {
      directory = existing
      aside = nil
      lock = nil
      return
    }
    let directory = try Directory(path: path)
    let aside = try Directory(StoredFiles.asideName, in: directory)
    guard let lock = FileLock(try aside.open("lock", .append, isPrivate: true)) else {
      throw TransportError(
        .cannotWrite, "another run is using this directory; wait for its end", path: path)
    }
    self.directory = directory
    self.aside = aside
    self.lock = lock
  }

  /// The directory at a path, if there is one, which is fit to be used.
  private static func checked(
    _ path: String, _ besides: [String]
  ) throws(TransportError) -> Directory? {
    let directory = try Directory(existing: path)
    var surroundings = directory
    if directory == nil { surroundings = try Directory(existing: parent(of: path)) }
    if let surroundings,
      surroundings.isInside(directoryWith: markPath, isIncluded: directory == nil)
    {
      throw TransportError(
        .cannotWrite, "it is inside the directory of another mirror; choose one outside", path: path)
    }
    if let directory { _ = try mark(of: directory, besides) }
    return directory
  }

  private static func mark(
    of directory: Directory, _ besides: [String]
  ) throws(TransportError) -> String? {
    if let mark = try directory.note(markPath) { return mark }
    guard try isEmpty(directory, besides) else {
      throw TransportError(
        .cannotWrite, "it holds files that no mirror put there; choose an empty directory",
        path: directory.path)
    }
    return nil
  }

  /// The path of the directory that the last part of a path is in.
  private static func parent(of path: String) -> String {
    let parts = path.split(separator: "/")
    let start = path.hasPrefix("/") ? "/" : "./"
    return start + parts.dropLast().joined(separator: "/")
  }

  /// What file systems keep at their roots, for their repair.
  private static let systemName = "lost+found"

  /// Whether there is nothing but directories with nothing in them, and the files at such paths.
  private static func isEmpty(
    _ directory: Directory, _ besides: [String]
  ) throws(TransportError) -> Bool {
    let tolerated = besides.compactMap { Directory.identity(at: $0) }
    for name in try directory.names() where !name.hasPrefix(".") && name != systemName {
      if let identity = directory.identity(of: name), tolerated.contains(identity) { continue }
      guard let folder = try? Directory(existing: "\(directory.path)/\(name)"),
        try folder.hasOnlyHiddenNames()
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
    return try Self.mark(of: directory, besides)
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
    return try Self.isEmpty(directory, besides)
  }

  /// Whether there are no files in one of its folders.
  package func isEmpty(_ folder: FileName) throws(TransportError) -> Bool {
    guard let directory, let folder = try Directory(existing: "\(directory.path)/\(folder)")
    else { return true }
    return try folder.hasOnlyHiddenNames()
  }

  /// Whether the file at a path is, or would be, in one of its folders.
  package func isIn(_ folder: FileName, _ path: String) -> Bool {
    guard let directory, let folder = Directory.identity(at: "\(directory.path)/\(folder)") else {
      return false
    }
    return Directory.identity(at: Self.parent(of: path)) == folder
  }
}

extension Directory {
  fileprivate func hasOnlyHiddenNames() throws(TransportError) -> Bool {
    try names().allSatisfy { $0.hasPrefix(".") }
  }
}
