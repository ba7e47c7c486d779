internal import Synchronization
internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// A mirror's directory during a run, and its folders, once it is known that they are its own.
struct ContentFolders {
  var directory: MirrorDirectory?
  /// The files of each content, to look at.
  var files: [StoredFiles] = []
  /// The stores that change them; none in a dry run.
  var stores: [FileStore] = []
}

extension DatabaseMirrorSteps {
  private var directory: MirrorDirectory? { folders.withLock { $0.directory } }
  var files: [StoredFiles] { folders.withLock { $0.files } }
  var stores: [FileStore] { folders.withLock { $0.stores } }

  private var directoryPath: String {
    guard let path = mirror.directory else { preconditionFailure("Contents need a directory") }
    return path
  }

  /// Opens the directory and its folders, until ``closeFolders()``.
  ///
  /// - Returns: The positions of the contents whose files were checked by other fields than this run's.
  /// - Throws: ``TransportError`` if the directory is another mirror's, or has files of others, or the
  ///   database would be among the files.
  func openFolders() async throws -> [Int] {
    let directory = try MirrorDirectory(
      path: directoryPath, tolerated: database.filePaths, isReadOnly: mirror.isDryRun)
    folders.withLock { $0.directory = directory }
    let unchecked = try uncheckedPositions(isOwn: try await isOwn(directory), in: directory)
    var opened = ContentFolders(directory: directory)
    for content in contents {
      if mirror.isDryRun {
        opened.files.append(try directory.files(in: content.folder))
      } else {
        opened.stores.append(try directory.store(in: content.folder))
        opened.files = opened.stores.map(\.files)
      }
    }
    try requireDatabaseOutside(directory)
    folders.withLock { [opened] in $0 = opened }
    return unchecked
  }

  /// Throws if the database is, or would be, in a folder of files: it would be removed as one that no row
  /// points to.
  private func requireDatabaseOutside(_ directory: MirrorDirectory) throws(TransportError) {
    for folder in contents.map(\.folder)
    where database.filePaths.contains(where: { directory.isIn(folder, $0) }) {
      throw TransportError(
        .cannotWrite,
        "its folder \(folder) is for files alone; choose another place for the database",
        url: directoryPath)
    }
  }

  /// Brings the index of the directory to disk.
  func flushIndex() throws { try directory?.index.flush(durably: true) }

  /// Unlocks the directory.
  func closeFolders() { folders.withLock { $0 = ContentFolders() } }

  /// True if the directory is this mirror's; false if it has no owner, or no files.
  private func isOwn(_ directory: MirrorDirectory) async throws -> Bool {
    guard let owner = directory.index.owner else { return false }
    let mirror = mirror
    let own = try await database.read { connection in
      try DirectoryState.load(table: mirror.table, from: connection).map { mirror.owner($0.owner) }
    }
    if owner == own { return true }
    guard try directory.isEmpty() else { throw anothersDirectory }
    return false
  }

  private func uncheckedPositions(isOwn: Bool, in directory: MirrorDirectory) throws -> [Int] {
    guard isOwn else { return [] }
    return try contents.indices.filter { position in
      let content = contents[position]
      guard try !directory.isEmpty(content.folder) else { return false }
      guard let folder = directory.index.folder(content.folder.text), folder.field == content.field
      else { throw anothersDirectory }
      return folder != FileIndex.Folder(content)
    }
  }

  private var anothersDirectory: TransportError {
    TransportError(
      .cannotWrite,
      "its files are those of another mirror: of another database, table, key or field; "
        + "choose another directory", url: directoryPath)
  }

  /// Makes the directory this mirror's for good, with files checked as they are to be.
  ///
  /// The database gets the owner's token first, and may come to be in the directory by that; so the directory
  /// is checked before.
  ///
  /// - Parameter body: Called before the directory gets its owner.
  func claimDirectory(after body: () throws -> Void) async throws {
    guard let directory else { preconditionFailure("Contents are prepared in an open directory") }
    let owner: String
    if try await isOwn(directory), let known = directory.index.owner {
      owner = known
    } else {
      owner = try await makeOwner()
    }
    try body()
    let folders = contents.map { ($0.folder.text, FileIndex.Folder($0)) }
    try directory.index.claim(owner, folders: Dictionary(folders, uniquingKeysWith: { $1 }))
  }

  /// Gives the directory a new owner in place of the one before: files that were left in another directory
  /// would be out of date by the time that the mirror came back to them.
  private func makeOwner() async throws -> String {
    let halves = (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 16) }
    let token = halves.joined(separator: "-")
    let mirror = mirror
    try await database.write { connection in
      var state =
        try DirectoryState.load(table: mirror.table, from: connection)
        ?? DirectoryState(owner: token)
      state.owner = token
      try state.save(table: mirror.table, to: connection)
    }
    return mirror.owner(token)
  }
}

// MARK: - Rows and their files

extension DatabaseMirrorSteps {
  /// True if all files that a row points to are there, and as long as they were when they were stored.
  func areIntact(_ paths: [String?]) -> Bool {
    zip(paths, contents.indices).allSatisfy { $0 == nil || isIntact($0, at: $1) }
  }

  /// True if the file that a row points to is there, and as long as it was when it was stored.
  func isIntact(_ path: String?, at position: Int) -> Bool {
    contents[position].name(path).map { files[position].isIntact($0) } ?? false
  }

  /// The names of all files that a row points to, with the positions of their contents.
  func names(_ paths: [String?]) -> [(position: Int, name: FileName)] {
    zip(contents.indices, paths).compactMap { position, path in
      contents[position].name(path).map { (position, $0) }
    }
  }
}

extension DatabaseMirror {
  /// The owner of a directory: files are named after keys, so by another key the same name would be another
  /// record's.
  fileprivate func owner(_ token: String) -> String {
    ([token] + key.map { $0.lowercased() }).joined(separator: "\t")
  }

  /// The paths of the files of each row, by its key.
  func files(in connection: DatabaseConnection) throws -> [RecordKey: [String?]] {
    guard let schema = try connection.schema(ofTable: table),
      key.allSatisfy({ schema.column(named: $0) != nil })
    else { return [:] }
    let columns =
      key.map(\.sqlQuoted)
      + contents.map(\.fileField).map { schema.column(named: $0) == nil ? "NULL" : $0.sqlQuoted }
    let statement = try connection.prepare(
      "SELECT \(columns.joined(separator: ", ")) FROM \(schema.name.sqlQuoted)")
    var files: [RecordKey: [String?]] = [:]
    while try statement.step() {
      let values = try statement.values()
      files[RecordKey(Array(values.prefix(key.count)))] =
        values.dropFirst(key.count).map(\.textValue)
    }
    return files
  }
}

extension FileIndex.Folder {
  fileprivate init(_ content: MirroredContent) {
    self.init(
      field: content.field, digestField: content.digestField,
      byteCountField: content.byteCountField)
  }
}
