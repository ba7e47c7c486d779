private import Synchronization
public import TandemHTTP

/// A directory with one file per item, filled over HTTP.
///
/// A file has its name only if it is complete: content is written to a file in the hidden directory `.tandem`,
/// brought to disk, and only then gets its name, replacing an older file at once. An interrupted download is
/// resumed where the server allows it. Nothing outside the directory is touched: names are ``FileName``s, and
/// symbolic links are replaced, never followed.
///
/// One process at a time has a store for writing; readers just read the files. The facts about the files are in
/// an index, `.tandem/index.sqlite`, which only its owner may read.
///
/// Calls may come from any task. A transfer suspends its task while a file and its name are brought to disk; all
/// other calls block their thread for as long as the disk takes.
public final class FileStore: Sendable {
  let directory: Directory
  let hidden: Directory
  let index: FileIndex
  let folder: String
  /// True if files and names are brought to disk before a transfer counts as done. Otherwise a failure of the
  /// machine, though not of the process, may leave files empty or cut.
  public let isSynchronized: Bool
  private let lock: FileLock?
  private let state: Mutex<State>

  private struct State {
    var busyNames: Set<FileName> = []
    /// The files of which there may be a part.
    var partNames: Set<FileName>
  }

  /// Opens a directory, which is created if it is missing; its parent must exist.
  ///
  /// - Parameters:
  ///   - path: The directory.
  ///   - isSynchronized: See ``isSynchronized``.
  /// - Throws: ``/TandemHTTP/TransportError/Code/cannotWrite``, also if another process has it.
  public convenience init(path: String, isSynchronized: Bool = true) throws(TransportError) {
    let directory = try Directory.openOrCreate(path)
    let hidden = try Directory(FileIndex.directoryName, in: directory)
    let lock = try FileLock(in: hidden, of: path)
    let index = try FileIndex(of: directory, hidden: hidden, isSynchronized: isSynchronized)
    try self.init(
      directory, hidden, index, folder: "", lock: lock, isSynchronized: isSynchronized)
  }

  /// A store in an open directory.
  ///
  /// - Parameters:
  ///   - directory: The directory for the files.
  ///   - hidden: The hidden directory, which may be that of a directory around it.
  ///   - index: The index in the hidden directory.
  ///   - folder: The folder of the files in the index.
  ///   - lock: The lock of the hidden directory.
  ///   - isSynchronized: See ``isSynchronized``.
  init(
    _ directory: Directory, _ hidden: Directory, _ index: FileIndex, folder: String,
    lock: FileLock?,
    isSynchronized: Bool
  ) throws(TransportError) {
    self.directory = directory
    self.hidden = hidden
    self.index = index
    self.folder = folder
    self.lock = lock
    self.isSynchronized = isSynchronized
    let parts = try hidden.names().compactMap(PartialFile.address)
    state = Mutex(State(partNames: Set(parts.filter { $0.folder == folder }.map(\.name))))
  }

  /// The directory, as given.
  public var path: String { directory.path }
}

// MARK: - Files

extension FileStore {
  /// The complete files.
  var files: StoredFiles { StoredFiles(directory: directory, folder: folder, index: index) }

  /// The names of all complete files, ascending.
  public func names() throws(TransportError) -> [FileName] { try files.names() }

  /// The length of a file; `nil` if there is none.
  public func byteCount(of name: FileName) -> Int? { directory.byteCount(of: name.text) }

  /// Removes files; those that do not exist are ignored.
  public func remove(_ names: some Sequence<FileName>) throws(TransportError) {
    let names = Array(names)
    try index.remove(names.map(address))
    for name in names { try directory.remove(name.text) }
    if isSynchronized { try directory.synchronize() }
  }

  /// Removes the parts of files that were not completed, but for those to be kept.
  public func discardPartialFiles(keeping kept: Set<FileName> = []) throws(TransportError) {
    for name in try hidden.names() {
      guard let address = PartialFile.address(of: name), address.folder == folder,
        !kept.contains(address.name)
      else { continue }
      try index.setPartial(nil, at: address)
      try hidden.remove(name)
    }
  }

  /// Removes every complete file that is not to be kept; returns their names. Files whose names are no
  /// ``FileName``s stay.
  @discardableResult
  public func sweep(keeping kept: Set<FileName>) throws(TransportError) -> [FileName] {
    let orphans = try names().filter { !kept.contains($0) }
    if !orphans.isEmpty { try remove(orphans) }
    return orphans
  }
}

// MARK: - The index

extension FileStore {
  private func address(_ name: FileName) -> FileIndex.Address {
    FileIndex.Address(folder: folder, name: name)
  }

  /// The facts about a complete file, if it is there at its length.
  func file(_ name: FileName) -> StoredFile? {
    guard let file = index.file(address(name)), file.byteCount == byteCount(of: name) else {
      return nil
    }
    return file
  }

  /// Notes, durably, the files that may not belong to their rows: they are about to be replaced, and the rows
  /// have not been committed yet.
  func setDirty(_ names: Set<FileName>) throws(TransportError) {
    try index.setDirty(names, in: folder)
  }

  /// Keeps others from transferring the same file meanwhile.
  func begin(_ name: FileName) throws(TransportError) {
    guard state.withLock({ $0.busyNames.insert(name).inserted }) else {
      throw TransportError(
        .cannotWrite, "the file is being transferred already", url: "\(path)/\(name)")
    }
  }

  func end(_ name: FileName) { _ = state.withLock { $0.busyNames.remove(name) } }

  /// The partial file of a download.
  ///
  /// - Parameter isKept: True if a part of it may stay from now on.
  func partialFile(_ name: FileName, isKept: Bool = false) -> PartialFile {
    let mayExist = state.withLock { state in
      defer { if isKept { state.partNames.insert(name) } }
      return state.partNames.contains(name)
    }
    return PartialFile(address(name), in: hidden, index: index, mayExist: mayExist)
  }

  /// Puts a partial file that is complete in place.
  ///
  /// - Parameter file: The same file, open.
  func complete(_ partial: PartialFile, _ file: OpenFile, as stored: StoredFile) async throws {
    let address = address(stored.name)
    guard isSynchronized else {
      try index.remove([address])
      try partial.complete(in: directory)
      return try index.add(stored, at: address)
    }
    try await DiskThreads.run { [index, directory] in
      try file.synchronize()
      try index.remove([address])
      try partial.complete(in: directory)
      try directory.synchronize()
      try index.add(stored, at: address)
    }
  }
}

extension FileStore {
  /// The maximum number of transfers into files at a time in a process, by the limit that is in
  /// force for its open files (`ulimit -n`). A processor with a store returns it as its own
  /// maximum.
  public static var maxTransferCount: Int { DescriptorBudget.current.maxTransferCount }
}

/// The complete files of a folder, to look at, whoever has its store. A folder that does not exist has no files.
struct StoredFiles: Sendable {
  let directory: Directory?
  let folder: String
  let index: FileIndex

  /// The names of all complete files, ascending.
  func names() throws(TransportError) -> [FileName] {
    guard let directory else { return [] }
    return try directory.names().compactMap { FileName(stored: $0) }
      .filter { directory.byteCount(of: $0.text) != nil }.sorted()
  }

  /// The names of the files that may not belong to their rows.
  var dirtyNames: Set<FileName> { index.dirtyNames(in: folder) }

  /// True if a file is there, and as long as when it was stored, if that is known.
  func isIntact(_ name: FileName) -> Bool {
    guard let byteCount = directory?.byteCount(of: name.text) else { return false }
    let known = index.file(FileIndex.Address(folder: folder, name: name))
    return known.map { $0.byteCount == byteCount } ?? true
  }
}
