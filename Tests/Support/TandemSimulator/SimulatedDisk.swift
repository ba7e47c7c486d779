import SystemLibrary

/// The bytes of a database file and of its write-ahead log.
struct FileContent {
  var database: [UInt8]
  var log: [UInt8]

  private static let pageByteCount = 4_096

  /// The content if the program is killed before all that was added to the log is on disk.
  ///
  /// The log only grows between two checkpoints. All of `earlier` was synchronized with the disk.
  ///
  /// - Parameter share: The share of the added bytes that is on disk, from 0 to 1.
  func losing(since earlier: FileContent, keeping share: Double) -> FileContent {
    var content = self
    let addedCount = log.count - earlier.log.count
    content.log.removeLast(addedCount - Int(Double(addedCount) * share))
    return content
  }

  /// The content if the program is killed during the checkpoint that leads to `later`: some pages of
  /// the file are written, and the log is still there.
  func checkpointing(to later: FileContent, _ isPageWritten: (Int) -> Bool) -> FileContent {
    var content = self
    let size = FileContent.pageByteCount
    for page in 0..<later.database.count / size where isPageWritten(page) {
      let range = page * size..<(page + 1) * size
      if content.database.count < range.upperBound {
        content.database += [UInt8](repeating: 0, count: range.upperBound - content.database.count)
      }
      content.database.replaceSubrange(range, with: later.database[range])
    }
    return content
  }
}

/// A place on disk for one database file. Each time it is opened anew, it has another name, so that
/// nothing of the killed program has an effect.
struct SimulatedDisk {
  private let folder: String
  private let name: String
  private var generation = 0

  /// - Parameter folder: The folder, which exists.
  init(_ name: String, in folder: String) {
    self.folder = folder
    self.name = name
  }

  var path: String { "\(folder)/\(name).\(generation)" }
  private var logPath: String { path + "-wal" }

  /// The next name of the file.
  var next: SimulatedDisk {
    var next = self
    next.generation += 1
    return next
  }

  func content() throws -> FileContent {
    FileContent(
      database: try SimulatedDisk.read(path), log: (try? SimulatedDisk.read(logPath)) ?? [])
  }

  func write(_ content: FileContent) throws {
    remove()
    try SimulatedDisk.write(content.database, to: path)
    if !content.log.isEmpty { try SimulatedDisk.write(content.log, to: logPath) }
  }

  func remove() {
    for suffix in ["", "-wal", "-shm", stagedSuffix] { unlink(path + suffix) }
  }

  private var stagedSuffix: String { "-tandem" }

  /// Takes the staged pages of the killed program, which its transactions do not undo.
  func takeStagedPages(from other: SimulatedDisk) {
    rename(other.path + stagedSuffix, path + stagedSuffix)
  }

  /// A new folder in memory if the system has such a file system, because each commit waits for the
  /// disk.
  static func makeFolder() throws -> String {
    let parents = ["/dev/shm", getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp", "/tmp"]
    for parent in parents {
      var template = Array("\(parent)/tandem-simulator-XXXXXX".utf8CString)
      if let path = mkdtemp(&template) { return String(cString: path) }
    }
    throw SimulationViolation("no folder for files can be created; set TMPDIR to one")
  }

  static func removeFolder(_ path: String) { rmdir(path) }

  private static func read(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "rb") else { throw SimulationViolation("\(path) cannot be read") }
    defer { fclose(file) }
    fseek(file, 0, SEEK_END)
    let count = ftell(file)
    rewind(file)
    return try [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
      guard fread(buffer.baseAddress, 1, count, file) == count else {
        throw SimulationViolation("\(path) cannot be read")
      }
      initializedCount = count
    }
  }

  private static func write(_ bytes: [UInt8], to path: String) throws {
    guard let file = fopen(path, "wb") else {
      throw SimulationViolation("\(path) cannot be written")
    }
    defer { fclose(file) }
    guard fwrite(bytes, 1, bytes.count, file) == bytes.count else {
      throw SimulationViolation("\(path) cannot be written")
    }
  }
}
