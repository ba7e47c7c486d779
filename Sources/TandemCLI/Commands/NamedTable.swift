import Tandem

extension DatabaseTransaction {
  /// The schema of a table or view that is named on the command line.
  ///
  /// - Throws: ``DatabaseError`` that suggests the closest name of a table.
  func schema(ofNamedTable name: String) throws(DatabaseError) -> TableSchema {
    if let schema = try schema(ofTable: name) { return schema }
    let closest = Spelling.closest(to: name, among: try tableNames())
    let hint = closest.map { "; did you mean \($0)?" } ?? ""
    throw DatabaseError(
      code: .error, message: "there is no table \(name)\(hint)", path: connection.path)
  }
}
