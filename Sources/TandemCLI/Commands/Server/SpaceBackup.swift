import Tandem
import TandemServer

/// A backup: a directory with copies of spaces, `NAME.space`, and of the access tokens, `tokens`.
///
/// Its name is the time of its begin, in UTC; with ``partialSuffix`` it lacks spaces, and does not count. A backup under
/// way has a name that begins with a point.
struct SpaceBackup {
  /// The path of the directory.
  let path: String

  static let tokensName = "tokens"
  static let partialSuffix = "-partial"

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
