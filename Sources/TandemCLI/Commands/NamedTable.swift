import Tandem

extension DatabaseConnection {
  /// The schema of a table or view that somebody named.
  ///
  /// - Throws: ``DatabaseError`` that names the closest there is.
  func schema(ofNamedTable name: String) throws(DatabaseError) -> TableSchema {
    if let schema = try schema(ofTable: name) { return schema }
    let closest = Spelling.closest(to: name, among: try tableNames())
    let hint = closest.map { "; did you mean \($0)?" } ?? ""
    throw DatabaseError(code: .error, message: "there is no table \(name)\(hint)", path: path)
  }
}
