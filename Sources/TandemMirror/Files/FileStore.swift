private import Synchronization
public import TandemHTTP

/// A directory with one file per item, filled over HTTP.
///
/// A file is under its name only if it is complete: content is written aside, in the hidden directory
/// `.tandem`, brought to disk, and only then given its name, in place of an older file at once. What
/// was interrupted is gone on with where the server allows it. Nothing outside the directory is
/// touched: names are ``FileName``s, and symbolic links are replaced, never followed.
///
/// One process at a time has a store for writing; whoever wants to read the files just does.
///
/// Calls may come from any task, and block their thread for as long as the disk takes.
public final class FileStore: Sendable {
  let directory: Directory
  let aside: Directory
  /// Whether files and names are brought to disk before a transfer counts as done. Without, a
  /// failure of the machine, though not of the process, may leave files empty or cut.
  public let isSynchronized: Bool
  private let lock: FileLock
  private let canBeUnnamed: Bool
  private let state: Mutex<State>

  private struct State {
    var catalog: FileCatalog
    var busyNames: Set<FileName> = []
    /// The files of which a part may be aside.
    var partNames: Set<FileName>
  }

  /// Opens a directory, which is created if it is missing; its parent must exist.
  ///
  /// - Parameters:
  ///   - path: The directory, or, if a folder is named, the one around it.
  ///   - folder: The directory's name in `path`.
  ///   - isSynchronized: See ``isSynchronized``.
  /// - Throws: ``TransportError/Code/cannotWrite``, also if another process has it.
  public init(
    path: String, folder: FileName? = nil, isSynchronized: Bool = true
  ) throws(TransportError) {
    let root = try Directory(path: path)
    if let folder {
      directory = try Directory(folder.text, in: root)
    } else {
      directory = root
    }
    aside = try Directory(StoredFiles.asideName, in: directory)
    guard let lock = FileLock(try aside.open("lock", .append, isPrivate: true)) else {
      throw TransportError(
        .cannotWrite, "another run is using this directory; wait for its end", path: path)
    }
    self.lock = lock
    canBeUnnamed = try PartialFile.canBeUnnamed(in: aside)
    let partNames = Set(try aside.names().compactMap(PartialFile.owner))
    state = Mutex(State(catalog: try FileCatalog(in: aside), partNames: partNames))
    self.isSynchronized = isSynchronized
  }

  /// The directory, as given.
  public var path: String { directory.path }
}

// MARK: - Files

extension FileStore {
  /// The complete files that are there.
  public var files: StoredFiles {
    StoredFiles(in: directory) { name in self.state.withLock { $0.catalog.files[name]?.byteCount } }
  }

  /// The names of all complete files, ascending.
  public func names() throws(TransportError) -> [FileName] { try files.names() }

  /// How long a file is; `nil` if there is none.
  public func byteCount(of name: FileName) -> Int? { directory.byteCount(of: name.text) }

  /// Removes files; those that do not exist are removed already.
  public func remove(_ names: some Sequence<FileName>) throws(TransportError) {
    for name in names {
      try state.withLock { state throws(TransportError) in try state.catalog.remove(name) }
      try directory.remove(name.text)
    }
    if isSynchronized { try directory.synchronize() }
  }

  /// Removes what has arrived of files that were not completed, but for those to be kept.
  public func discardPartialFiles(keeping kept: Set<FileName> = []) throws(TransportError) {
    for name in try aside.names() {
      if let owner = PartialFile.owner(of: name), !kept.contains(owner) { try aside.remove(name) }
    }
  }

  /// Removes every complete file that is not to be kept; returns their names. What could not be a
  /// file of a store's making stays.
  @discardableResult
  public func sweep(keeping kept: Set<FileName>) throws(TransportError) -> [FileName] {
    let orphans = try names().filter { !kept.contains($0) }
    if !orphans.isEmpty { try remove(orphans) }
    return orphans
  }
}

// MARK: - What is known of them

extension FileStore {
  /// What is known of a complete file, if it is there at its length.
  public func file(_ name: FileName) -> StoredFile? {
    guard let file = state.withLock({ $0.catalog.files[name] }),
      file.byteCount == byteCount(of: name)
    else { return nil }
    return file
  }

  /// The names of all files of which something is known.
  var knownNames: Set<FileName> { state.withLock { Set($0.catalog.files.keys) } }

  /// Keeps others from transferring the same file meanwhile.
  func begin(_ name: FileName) throws(TransportError) {
    guard state.withLock({ $0.busyNames.insert(name).inserted }) else {
      throw TransportError(
        .cannotWrite, "the file is being transferred already", path: "\(path)/\(name)")
    }
  }

  /// What is on its way to become a file.
  ///
  /// - Parameter isKept: Whether a part of it may stay behind from now on.
  func partialFile(_ name: FileName, isKept: Bool = false) -> PartialFile {
    let mayExist = state.withLock { state in
      defer { if isKept { state.partNames.insert(name) } }
      return state.partNames.contains(name)
    }
    return PartialFile(name, in: aside, mayExist: mayExist, canBeUnnamed: canBeUnnamed)
  }

  func end(_ name: FileName) { _ = state.withLock { $0.busyNames.remove(name) } }

  /// Puts a partial file that is complete in place.
  func complete(
    _ partial: PartialFile, _ contents: PartialFile.Contents, as stored: StoredFile
  ) throws(TransportError) {
    try state.withLock { state throws(TransportError) in try state.catalog.remove(stored.name) }
    try partial.complete(contents, as: stored.name, in: directory)
    if isSynchronized { try directory.synchronize() }
    try state.withLock { state throws(TransportError) in try state.catalog.add(stored) }
  }
}

extension FileStore {
  /// How many transfers into files may be under way in a process, by the limit that is in force for its
  /// open files (`ulimit -n`): what a processor with a store answers as its maximum.
  public static var maxTransferCount: Int { DescriptorBudget.current.maxTransferCount }
}
