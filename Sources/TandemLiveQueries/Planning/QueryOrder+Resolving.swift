internal import TandemRecords
internal import TandemSQLite

// MARK: - Columns

extension QueryOrder.Collation {
  init?(name: String) {
    guard let collation = Self.allCases.first(where: { name.isSameSQLName(as: $0.rawValue) }) else {
      return nil
    }
    self = collation
  }
}
