internal import Synchronization
internal import SystemLibrary
internal import TandemDigests
internal import TandemHTTP
internal import TandemRecords
internal import TandemSQLite

/// The index of a directory of files: a SQLite file in its hidden directory `.tandem` with the owner of the
/// directory, the facts about complete files, the files that may not belong to their rows, and the partial
/// downloads.
///
/// All of it is in memory too. The file is created by the first write.
///
/// What the index says of a file is true at any moment, after a kill of the process or a failure of the machine
/// too: the facts about a file are removed, durably, before the file is replaced, and added after the new one has
/// its name. Additions are committed in groups of ``maxPendingCount``, or after ``maxPendingTime``. A process
/// that is killed loses no more than such a group, and the next run asks for these files again. Other commits
/// survive a failure of the machine only where the documentation says so (`durably`).
///
/// SQLite opens files by their paths. So the index is opened by its path and then compared with the file in the
/// directory, which is open: it must be a regular file, and the same one. SQLite itself follows no symbolic link
/// to its log.
final class FileIndex: Sendable {
  /// The file of an index, by folder and name; the folder is empty for files in the directory itself.
  struct Address: Hashable {
    var folder: String
    var name: FileName
  }

  /// The fields that the files of a folder were fetched and checked by.
  struct Folder: Equatable {
    var field: String
    var digestField: String?
    var byteCountField: String?
  }

  /// The means to resume a download.
  struct Resumption: Equatable {
    /// The address, without credentials.
    var url: String
    /// The value for `If-Range`: a strong entity tag, or a date.
    var validator: String
    /// The length of the whole content, if it is known.
    var totalByteCount: Int?
  }

  /// Everything that an index holds.
  struct Contents {
    /// The mirror that owns the directory.
    var owner: String?
    var folders: [String: Folder] = [:]
    var files: [Address: StoredFile] = [:]
    var dirty: Set<Address> = []
    var partials: [Address: Resumption] = [:]
  }

  private struct State {
    var contents: Contents
    var database: Database?
    /// The files whose facts are not committed yet.
    var pending: Set<Address> = []
    var committed = ContinuousClock.now
    /// True if there are changes that a failure of the machine could undo.
    var isVolatile = false
  }

  /// The hidden directory in a directory of files.
  static let directoryName = ".tandem"
  /// The name of the index in the hidden directory.
  static let name = "index.sqlite"
  /// The path of the index in a directory.
  static let path = "\(directoryName)/\(name)"
  /// The maximum number of files whose facts are committed together.
  static let maxPendingCount = 64
  /// The maximum time that the facts about a file wait for others, if there are others.
  static let maxPendingTime: Duration = .milliseconds(100)

  private let directory: Directory?
  private let hidden: Directory?
  private let isSynchronized: Bool
  private let state: Mutex<State>

  /// Reads the index of a directory; an empty one if there is none.
  ///
  /// - Parameters:
  ///   - directory: The directory; `nil` if there is none, and so nothing in it.
  ///   - hidden: Its hidden directory, if the index is to be written.
  ///   - isSynchronized: True if durable commits are to survive a failure of the machine.
  init(
    of directory: Directory?, hidden: Directory?, isSynchronized: Bool = true
  ) throws(TransportError) {
    self.directory = directory
    self.hidden = hidden
    self.isSynchronized = isSynchronized
    var initial = State(contents: Contents())
    if let directory, directory.byteCount(of: Self.path) != nil {
      let access: DatabaseConfiguration.Access = hidden == nil ? .readOnly : .readWrite
      let database = try Self.open(in: directory, access)
      let contents = try Self.wrapped(directory) {
        try database.read { try Contents($0.connection) }
      }
      if let contents {
        initial.contents = contents
        if hidden != nil {
          try Self.wrapped(directory) { try database.withWriter { try $0.execute(Self.relaxed) } }
          initial.database = database
        }
      }
    } else if let directory, directory.identity(of: Self.path) != nil {
      throw TransportError(
        .cannotWrite, "it is no regular file", url: "\(directory.path)/\(Self.path)")
    }
    state = Mutex(initial)
  }

  deinit { try? close() }

  /// True if a directory belongs to a mirror: a store of files has an index, too, without an owner.
  static func hasOwner(_ directory: Directory) throws(TransportError) -> Bool {
    guard directory.byteCount(of: path) != nil else { return false }
    let database = try open(in: directory, .readOnly)
    return try wrapped(directory) {
      try database.read { transaction in
        guard try Contents.hasTables(transaction.connection) else { return false }
        return try Contents.owner(in: transaction.connection) != nil
      }
    }
  }

  /// Commits what is pending, and closes the file.
  func close() throws(TransportError) {
    try flush()
    let database = state.withLock { state in
      defer { state.database = nil }
      return state.database
    }
    guard let database, let directory else { return }
    try Self.wrapped(directory) { try database.close() }
  }
}

// MARK: - Reading

extension FileIndex {
  var owner: String? { state.withLock { $0.contents.owner } }

  /// The fields that a folder's files were fetched by; `nil` for a folder that is not the owner's.
  func folder(_ name: String) -> Folder? { state.withLock { $0.contents.folders[name] } }

  /// The facts about a file.
  func file(_ address: Address) -> StoredFile? { state.withLock { $0.contents.files[address] } }

  /// The names of the files of a folder that the index has.
  func names(in folder: String) -> Set<FileName> {
    state.withLock { Set($0.contents.files.keys.lazy.filter { $0.folder == folder }.map(\.name)) }
  }

  /// The files of a folder that may not belong to their rows.
  func dirtyNames(in folder: String) -> Set<FileName> {
    state.withLock { Set($0.contents.dirty.lazy.filter { $0.folder == folder }.map(\.name)) }
  }

  /// The means to resume a download.
  func partial(_ address: Address) -> Resumption? {
    state.withLock { $0.contents.partials[address] }
  }
}

// MARK: - Writing

extension FileIndex {
  /// Adds the facts about a file that is complete, and removes those of its download.
  func add(_ file: StoredFile, at address: Address) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      state.contents.files[address] = file
      state.pending.insert(address)
      state.isVolatile = true
      let isPartial = state.contents.partials.removeValue(forKey: address) != nil
      let isDue =
        state.pending.count >= Self.maxPendingCount
        || .now - state.committed >= Self.maxPendingTime
      // The entry of the download must be gone before there can be another one of that name.
      guard isPartial || isDue else { return }
      try write(&state) { connection in
        if isPartial { try connection.delete(address, from: "partial") }
      }
    }
  }

  /// Removes the facts about files that are about to be replaced or removed, durably: a new file that survives a
  /// failure of the machine must not meet facts about the one before it.
  func remove(_ addresses: [Address]) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      // Facts that are pending are not in the file.
      let known = addresses.filter { address in
        state.contents.files.removeValue(forKey: address) != nil
          && state.pending.remove(address) == nil
      }
      guard !known.isEmpty else { return }
      try write(&state, durably: true) { connection in
        for address in known { try connection.delete(address, from: "file") }
      }
    }
  }

  /// Sets or removes the means to resume a download.
  func setPartial(_ resumption: Resumption?, at address: Address) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      guard state.contents.partials[address] != resumption else { return }
      state.contents.partials[address] = resumption
      try write(&state) { connection in
        guard let resumption else { return try connection.delete(address, from: "partial") }
        try connection.insert(resumption, at: address)
      }
    }
  }

  /// Sets the files of a folder that may not belong to their rows, durably.
  func setDirty(_ names: Set<FileName>, in folder: String) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      let others = state.contents.dirty.filter { $0.folder != folder }
      let dirty = others.union(names.map { Address(folder: folder, name: $0) })
      guard dirty != state.contents.dirty else { return }
      let (old, new) = (state.contents.dirty, dirty)
      state.contents.dirty = dirty
      try write(&state, durably: true) { connection in
        for address in old.subtracting(new) { try connection.delete(address, from: "dirty") }
        for address in new.subtracting(old) { try connection.insert(dirty: address) }
      }
    }
  }

  /// Sets the owner of the directory, and the fields of its folders, durably.
  func claim(_ owner: String, folders: [String: Folder]) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      let merged = state.contents.folders.merging(folders) { $1 }
      guard state.contents.owner != owner || state.contents.folders != merged else { return }
      if state.contents.owner != owner { state.contents.folders = [:] }
      state.contents.owner = owner
      state.contents.folders.merge(folders) { $1 }
      let contents = state.contents
      try write(&state, durably: true) { try $0.replaceOwner(contents) }
    }
  }

  /// Commits what is pending.
  ///
  /// - Parameter durably: True to have all commits so far survive a failure of the machine.
  func flush(durably: Bool = false) throws(TransportError) {
    try state.withLock { state throws(TransportError) in
      guard durably ? state.isVolatile : !state.pending.isEmpty else { return }
      try write(&state, durably: durably) { connection in
        // Only a transaction that writes is brought to disk.
        if durably { try connection.execute("PRAGMA user_version=\(Contents.version)") }
      }
    }
  }

  /// Writes in one transaction, together with all that is pending.
  private func write(
    _ state: inout State, durably: Bool = false, _ body: (DatabaseConnection) throws -> Void
  ) throws(TransportError) {
    guard let hidden, let directory else {
      preconditionFailure("An index that was opened for reading is not written")
    }
    guard let database = state.database else { return try create(&state, in: directory, hidden) }
    let added = state.pending.compactMap { address in
      state.contents.files[address].map { (address, $0) }
    }
    let isDurable = durably && isSynchronized
    try Self.wrapped(directory) {
      if isDurable { try database.withWriter { try $0.execute("PRAGMA synchronous=FULL") } }
      defer { if isDurable { try? database.withWriter { try $0.execute(Self.relaxed) } } }
      try database.write { transaction in
        for (address, file) in added { try transaction.connection.insert(file, at: address) }
        try body(transaction.connection)
      }
    }
    state.pending = []
    state.committed = .now
    state.isVolatile = !durably
  }

  /// Commits are in order, and survive the process, but not a failure of the machine.
  private static let relaxed = "PRAGMA synchronous=NORMAL"

  /// Creates the file with everything that is known, durably.
  private func create(
    _ state: inout State, in directory: Directory, _ hidden: Directory
  ) throws(TransportError) {
    // SQLite gives its log the permissions of the file.
    _ = try hidden.open(Self.name, .append, isPrivate: true)
    let database = try Self.open(in: directory, .readWrite)
    let contents = state.contents
    try Self.wrapped(directory) {
      // Durable: every connection begins with synchronous=FULL.
      try database.write { try contents.create(in: $0.connection) }
      try database.withWriter { try $0.execute(Self.relaxed) }
    }
    if isSynchronized { try hidden.synchronize() }
    state.database = database
    state.pending = []
    state.isVolatile = false
  }

  /// Opens the file, which exists. Its commits are durable until ``relaxed`` is executed.
  private static func open(
    in directory: Directory, _ access: DatabaseConfiguration.Access
  ) throws(TransportError) -> Database {
    let path = "\(directory.path)/\(path)"
    let configuration = DatabaseConfiguration(access: access, maxReaderCount: 1)
    let database = try wrapped(directory) { try Database(path: path, configuration: configuration) }
    guard let identity = Directory.identity(at: path), directory.byteCount(of: Self.path) != nil,
      directory.identity(of: Self.path) == identity
    else {
      throw TransportError(.cannotWrite, "the directory was moved while it was opened", url: path)
    }
    return database
  }

  private static func wrapped<Value>(
    _ directory: Directory, _ body: () throws -> Value
  ) throws(TransportError) -> Value {
    do {
      return try body()
    } catch let error as TransportError {
      throw error
    } catch {
      throw TransportError(
        .cannotWrite, "the index \(path) of the directory cannot be used: \(error)",
        url: directory.path)
    }
  }
}
