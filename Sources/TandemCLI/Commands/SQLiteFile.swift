/// Distinguishes SQLite databases from lists.
enum SQLiteFile {
  private static let magic = Array("SQLite format 3\0".utf8)

  /// Returns true if bytes begin as a database does.
  static func isBegun(by bytes: [UInt8]) -> Bool { bytes.starts(with: magic) }

  /// Returns true if a file begins as a database does, or is empty and has a name of a database. A pipe is
  /// not read, because its bytes could not be read again.
  static func isAt(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
    guard let file = fopen(path, "rb") else { return false }
    defer { fclose(file) }
    var start = [UInt8](repeating: 0, count: magic.count)
    let count = fread(&start, 1, magic.count, file)
    let isNamed = [".db", ".sqlite", ".sqlite3"].contains(where: path.hasSuffix)
    return count == 0 ? isNamed : start == magic
  }
}
