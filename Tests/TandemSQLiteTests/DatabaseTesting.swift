import CSQLite
import Foundation
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

extension TemporaryFolder {
  /// The path of a file in the folder.
  func file(_ name: String = "test.db") -> String { path(of: name) }

  /// The names of all files in the folder, sorted.
  var fileNames: [String] { names().sorted() }

  /// A connection to a file in the folder, after the given statements.
  func open(_ name: String = "test.db", _ statements: String...) throws -> DatabaseConnection {
    let connection = try DatabaseConnection(path: file(name))
    for statement in statements { try connection.execute(statement) }
    return connection
  }

  /// Runs statements on a file as another program would, that sets nothing up.
  func runElsewhere(_ sql: String, on name: String = "test.db") throws {
    var pointer: OpaquePointer?
    defer { sqlite3_close(pointer) }
    try #require(sqlite3_open(file(name), &pointer) == SQLITE_OK)
    try #require(sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK)
  }
}

extension DatabaseConnection {
  /// All rows of a query.
  func valueRows(_ sql: String, _ parameters: FieldValue...) throws -> [[FieldValue]] {
    let statement = try prepare(sql)
    try statement.bind(parameters)
    var rows: [[FieldValue]] = []
    while try statement.step() { rows.append(try statement.values()) }
    return rows
  }

  /// The schema of a table that is there.
  func table(_ name: String = "t") throws -> TableSchema { try #require(try schema(ofTable: name)) }
}

/// The database error that `body` throws.
func databaseError(
  _ body: () throws -> Void, at location: SourceLocation = #_sourceLocation
) throws -> DatabaseError {
  try #require(#expect(throws: DatabaseError.self, sourceLocation: location) { try body() })
}

/// A value as its type and its bits: equality of values would not tell `1` from `1.0`, nor the zeros.
func exact(_ value: FieldValue) -> String {
  switch value {
  case .null: return "null"
  case .integer(let number): return "integer \(number)"
  case .real(let number): return "real \(number), bits \(number.bitPattern)"
  case .text(let text): return "text \(Array(text.utf8))"
  case .blob(let bytes): return "blob \(bytes)"
  }
}

/// Values of all types that are easy to confuse with one another; none is NaN.
let nastyValues: [FieldValue] = [
  .null,
  .real(-.infinity), .real(-.greatestFiniteMagnitude), .real(-0x1p63 - 2048), .real(-0x1p63),
  .integer(.min), .integer(.min + 1), .integer(-(1 << 53) - 1), .real(-0x1p53),
  .integer(-(1 << 53)), -1, -1.0, -0.5, .real(-.leastNonzeroMagnitude), 0, 0.0, .real(-0.0),
  .real(.leastNonzeroMagnitude), 0.5, 1, 1.0, 1.5, .integer((1 << 53) - 1), .real(0x1p53),
  .integer(1 << 53), .integer((1 << 53) + 1), .real(0x1p53 + 2), .integer(.max - 1),
  .integer(.max), .real(0x1p63), .real(0.1 + 0.2), 0.3, .real(.greatestFiniteMagnitude),
  .real(.infinity),
  "", "\0", "a", "A", "a\0", "a\0b", "ab", "1", "1.0", " a", "e\u{301}", "\u{E9}", "\u{FFFF}",
  "\u{10000}", "日本",
  .blob([]), .blob([0]), .blob([0, 0]), .blob([0x61]), .blob([0xC3, 0xA9]), .blob([0xFF]),
]
