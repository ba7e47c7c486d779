internal import Synchronization
internal import TandemHTTP

/// A mirror's directory during a run, and its folders, once it is known that they are its own.
struct ContentFolders {
  var directory: MarkedDirectory?
  /// The files of each content, to look at.
  var files: [StoredFiles] = []
  /// What changes them; empty in a dry run.
  var stores: [FileStore] = []
}

extension ContentMirror {
  /// Opens the directory and its folders, until ``closeFolders()``.
  ///
  /// - Returns: The positions of the contents whose files were not checked as they are to be.
  /// - Throws: ``TransportError`` if the directory is another mirror's, or has files of others, or the
  ///   database would be among the files.
  func openFolders() async throws -> [Int] {
    let directory = try MarkedDirectory(
      path: directoryPath, besides: database.filePaths, isReadOnly: isDryRun)
    folders.withLock { $0.directory = directory }
    let unchecked = try uncheckedPositions(try await mark(), in: directory)
    var opened = ContentFolders(directory: directory)
    for content in contents {
      if isDryRun {
        opened.files.append(try StoredFiles(path: directoryPath, folder: content.folder))
      } else {
        opened.stores.append(try FileStore(path: directoryPath, folder: content.folder))
        opened.files = opened.stores.map(\.files)
      }
    }
    try requireDatabaseOutside(directory)
    folders.withLock { [opened] in $0 = opened }
    return unchecked
  }

  /// Throws if the database is, or would be, in a folder of files: it would be removed as one that no row
  /// points to.
  private func requireDatabaseOutside(_ directory: MarkedDirectory) throws(TransportError) {
    for folder in contents.map(\.folder)
    where database.filePaths.contains(where: { directory.isIn(folder, $0) }) {
      throw TransportError(
        .cannotWrite,
        "its folder \(folder) is for files alone; choose another place for the database",
        path: directoryPath)
    }
  }

  /// Lets others have the directory.
  func closeFolders() { folders.withLock { $0 = ContentFolders() } }

  /// The directory's mark, if it is this mirror's; `nil` if it is anybody's.
  ///
  /// A mirror that has a directory and nothing in it has nothing to lose.
  private func mark() async throws -> ContentMark? {
    guard let directory, let text = try directory.mark() else { return nil }
    if let mark = ContentMark(text), mark.owner == (try await database.owner()) { return mark }
    guard try directory.isEmpty() else { throw anothersDirectory }
    return nil
  }

  private func uncheckedPositions(
    _ mark: ContentMark?, in directory: MarkedDirectory
  ) throws -> [Int] {
    guard let mark else { return [] }
    return try contents.indices.filter { position in
      let content = contents[position]
      guard try !directory.isEmpty(content.folder) else { return false }
      guard let folder = mark.folders[content.folder.text], folder.field == content.field else {
        throw anothersDirectory
      }
      return folder != ContentMark.Folder(content)
    }
  }

  private var anothersDirectory: TransportError {
    TransportError(
      .cannotWrite,
      "its files are those of another mirror: of another database, table, key or field; "
        + "choose another directory", path: directoryPath)
  }

  /// Makes the directory this mirror's for good, with files checked as they are to be.
  ///
  /// The database says so first, and may come to be in the directory by that: whether that was fit to be
  /// had, is found out before.
  ///
  /// - Parameter body: What is to be done before the directory says so.
  func markDirectory(after body: () throws -> Void) async throws {
    let old = try await mark()
    let owner = if let old { old.owner } else { try await database.makeOwner() }
    try body()
    var mark = old ?? ContentMark(owner: owner)
    for content in contents { mark.folders[content.folder.text] = ContentMark.Folder(content) }
    if mark != old { try directory?.setMark(mark.text) }
  }
}
