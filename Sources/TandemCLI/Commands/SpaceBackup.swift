import Tandem
import TandemServer

/// A backup: a directory with copies of spaces, `NAME.space`, and of the access tokens, `tokens`.
///
/// Its name is the time of its begin, in UTC; with ``partialSuffix`` it lacks spaces, and does not count. A backup under way has a name that begins with a point.
struct SpaceBackup {
  /// The path of the directory.
  let path: String

  static let tokensName = "tokens"
  static let partialSuffix = "-partial"

  /// The backups in a directory, the oldest first.
  static func all(in directory: String) throws -> [SpaceBackup] {
    guard let stream = opendir(directory) else {
      throw FileError(path: directory, action: "read", code: errno)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if isName(name) { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { SpaceBackup(path: "\(directory)/\($0)") }
  }

  /// The backup at a path: the directory itself or, if it has backups, the newest one in it.
  static func newest(at path: String) throws -> SpaceBackup {
    let backup = try all(in: path).last ?? SpaceBackup(path: path)
    guard try !backup.spaces.names().isEmpty else {
      throw FileError(
        path: path, action: "read", reason: "it is no backup, and has no complete one")
    }
    return backup
  }

  /// The name of a backup that begins at a time, in seconds since 1970.
  static func name(at time: Int) -> String {
    TimeText.text(seconds: time).prefix { $0 != "." && $0 != "Z" }.replacing(":", with: "-") + "Z"
  }

  private static func isName(_ text: String) -> Bool {
    text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?/) != nil
  }

  /// The copies.
  var spaces: SpaceDirectory { get throws { try SpaceDirectory(reading: path) } }

  /// Removes the backup. What is left after an interruption has a name that does not count.
  func remove() throws {
    let hidden = Self.hiddenPath(beside: path)
    guard rename(path, hidden) == 0 else {
      throw FileError(path: path, action: "removed", code: errno)
    }
    try Self.removeDirectory(hidden)
  }

  /// A path that does not count as a backup.
  static func hiddenPath(beside path: String) -> String {
    let end = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    return
      "\(path[..<end]).\(path[end...])-\(String(UInt64.random(in: .min ... .max), radix: 16))"
  }

  /// Removes a directory of files.
  static func removeDirectory(_ path: String) throws {
    guard let stream = opendir(path) else {
      throw FileError(path: path, action: "removed", code: errno)
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { unlink("\(path)/\(name)") }
    }
    guard rmdir(path) == 0 else { throw FileError(path: path, action: "removed", code: errno) }
  }
}

/// The file of a space that is not in use.
enum SpaceSnapshot {
  /// Writes the state of a space at one moment into a new file, durably. A server may be using the space.
  static func make(of source: String, at target: String) throws {
    let connection = try DatabaseConnection(path: source, access: .readWrite)
    try connection.execute("VACUUM INTO ?", .text(target))
    try synchronize(target, mode: 0o600)
  }

  /// Checks that SQLite finds no damage in a copy, and that its records are those that its digest is of.
  static func check(_ path: String) async throws {
    let report = try DatabaseConnection(path: path, access: .readOnly).rows(
      "PRAGMA integrity_check(1)")
    guard report == [[FieldValue.text("ok")]] else {
      throw FileError(path: path, action: "used", reason: "SQLite finds it damaged")
    }
    try await SQLiteSpaceStore.read(path: path) { try $0.checkDigest() }
  }

  /// Returns once a file or directory is on disk.
  static func synchronize(_ path: String, mode: mode_t? = nil) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path: path, action: "read", code: errno) }
    defer { close(descriptor) }
    if let mode { _ = fchmod(descriptor, mode) }
    guard fsync(descriptor) == 0 || errno == EINVAL else {
      throw FileError(path: path, action: "synchronized to disk", code: errno)
    }
  }

  /// The directory of a file or directory.
  static func directory(of path: String) -> String {
    var path = path[...]
    while path.count > 1, path.last == "/" { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// True if two files have the same bytes.
  static func isEqual(_ first: String, _ second: String) -> Bool {
    let descriptors = [first, second].map { (path: String) in open(path, O_RDONLY | O_CLOEXEC) }
    defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
    guard descriptors.allSatisfy({ $0 >= 0 }) else { return false }
    var chunks = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1 << 20), count: 2)
    while true {
      let counts = (0...1).map { read(descriptors[$0], &chunks[$0], chunks[$0].count) }
      guard counts[0] == counts[1], counts[0] >= 0,
        chunks[0].prefix(counts[0]) == chunks[1].prefix(counts[1])
      else { return false }
      if counts[0] == 0 { return true }
    }
  }

  /// Writes the bytes of a file into a new one, durably.
  static func copy(_ source: String, to target: String) throws {
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw FileError(path: source, action: "read", code: errno) }
    defer { close(input) }
    let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw FileError(path: target, action: "written", code: errno) }
    defer { close(output) }
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = read(input, &chunk, chunk.count)
      guard count >= 0 else { throw FileError(path: source, action: "read", code: errno) }
      if count == 0 { break }
      do throws(OutputError) {
        try OutputStream.write(Array(chunk[..<count]), to: output)
      } catch {
        throw FileError(path: target, action: "written", code: error.code)
      }
    }
    guard fsync(output) == 0 else { throw FileError(path: target, action: "written", code: errno) }
  }
}
