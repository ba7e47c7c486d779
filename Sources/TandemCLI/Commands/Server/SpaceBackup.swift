import Tandem
import TandemServer

/// A backup: a directory with copies of spaces, `NAME.space`, and of the access tokens, `tokens`, and with the list of these
/// files, `SHA256SUMS`.
///
/// Its name is the time of its begin, in UTC; with ``partialSuffix`` it lacks spaces, and does not count. A backup under
/// way has a name that begins with a point.
struct SpaceBackup {
  /// The path of the directory.
  let path: String

  static let tokensName = "tokens"
  static let partialSuffix = "-partial"
  /// The name of the list. `sha256sum --check` reads it, too.
  static let listName = "SHA256SUMS"
  private static let spaceSuffix = ".space"

  /// The backups in a directory, the oldest first.
  static func all(in directory: String) throws -> [SpaceBackup] {
    try names(in: directory).filter(isName)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { SpaceBackup(path: "\(directory)/\($0)") }
  }

  /// The names in a directory, in no order.
  static func names(in directory: String) throws -> [String] {
    guard let names = directoryNames(directory) else {
      throw FileError(path: directory, action: "read", code: errno)
    }
    return names
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
    TimeText.text(seconds: time).replacing(":", with: "-")
  }

  private static func isName(_ text: String) -> Bool {
    text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d{3})?/) != nil
  }

  /// The copies.
  var spaces: SpaceDirectory { get throws { try SpaceDirectory(reading: path) } }

  // MARK: - The list of the files

  /// Writes the list, durably, when all other files are there.
  func writeList() throws {
    let lines = try Self.names(in: path).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .map { "\(try SpaceSnapshot.digest(of: "\(path)/\($0)"))  \($0)\n" }
    try AtomicFile.write(Array(lines.joined().utf8), to: "\(path)/\(Self.listName)")
  }

  /// The digests of the files by their names; `nil` if there is no list, as in a backup of an earlier version. Then it says so.
  ///
  /// - Parameter isWhole: False to leave out lines that are damaged: the files of the others can still be checked.
  func list(isWhole: Bool) throws -> [String: SHA256Digest]? {
    let file = "\(path)/\(Self.listName)"
    guard access(file, F_OK) == 0 else {
      guard errno == ENOENT else { throw FileError(path: file, action: "read", code: errno) }
      TandemCLI.report(
        "\(path) has no list of its files, as an earlier version makes none: missing ones are not noticed"
      )
      return nil
    }
    let bytes = try FileBytes.read(file, maxByteCount: Self.maxListByteCount, .directory)
    var list: [String: SHA256Digest] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, parts[1].hasPrefix(" "),
        let digest = SHA256Digest(hexadecimal: String(parts[0]))
      else {
        guard isWhole else { continue }
        throw FileError(
          path: file, action: "used",
          reason: "a line of it is damaged; name single spaces by --space")
      }
      list[String(parts[1].dropFirst())] = digest
    }
    return list
  }

  private static let maxListByteCount = 256 << 20

  /// The files of a list that are not there.
  func missingFiles(of list: [String: SHA256Digest]?) -> [String] {
    (list ?? [:]).keys.filter { access("\(path)/\($0)", F_OK) != 0 }.sorted()
  }

  /// The name of the space whose copy a file is; the name of another file.
  static func spaceName(ofFile name: String) -> String {
    name.hasSuffix(spaceSuffix) ? String(name.dropLast(spaceSuffix.count)) : name
  }

  /// Checks the copy of a space by the list, and by its content.
  func check(_ space: String, _ list: [String: SHA256Digest]?) async throws {
    try check(file: space + Self.spaceSuffix, list)
    try await SpaceSnapshot.check(spaces.file(of: space))
  }

  /// Checks a file by the list.
  func check(file name: String, _ list: [String: SHA256Digest]?) throws {
    guard let list else { return }
    let file = "\(path)/\(name)"
    guard try list[name] == SpaceSnapshot.digest(of: file) else {
      throw FileError(
        path: file, action: "used",
        reason: list[name] == nil
          ? "the list of the backup does not have it" : "it was changed after the backup was made")
    }
  }

  /// Removes the backup. What is left after an interruption has a name that does not count.
  func remove() throws {
    let hidden = Self.hiddenPath(beside: path)
    guard rename(path, hidden) == 0 else {
      // A backup that runs at the same time has removed it.
      guard errno != ENOENT else { return }
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
    for name in try names(in: path) { unlink("\(path)/\(name)") }
    guard rmdir(path) == 0 else { throw FileError(path: path, action: "removed", code: errno) }
  }
}
