import Tandem

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

extension DatabaseTransaction {
  /// The schema of the table or view that the command line names, or of the only table.
  ///
  /// - Throws: ``DatabaseError`` that suggests the closest name of a table; `UsageError` if there
  ///   is no name, and more than one table.
  func schema(
    ofNamedTable name: String?, for command: CommandSpecification
  ) throws -> TableSchema {
    let names = try tableNames()
    let path = connection.path
    if name == nil, names.count > 1 {
      throw UsageError(
        "\(path) has the tables \(names.joined(separator: ", ")); choose one with --table",
        command: command)
    }
    guard let name = name ?? names.first else {
      throw DatabaseError(code: .error, message: "it has no table", path: path)
    }
    if let schema = try schema(ofTable: name) { return schema }
    let closest = Spelling.closest(to: name, among: names)
    let hint = closest.map { "; did you mean \($0)?" } ?? ""
    throw DatabaseError(
      code: .error, message: "there is no table \(name)\(hint)", path: path)
  }
}
