package import Foundation
internal import TandemRecords
package import TandemSQLite

/// A folder of its own for each test, removed when nobody needs it any more.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() throws {
    path = NSTemporaryDirectory() + "/tandem-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func path(of name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path(of: name)))
    return path(of: name)
  }

  package func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(fileURLWithPath: path(of: name))), as: UTF8.self)
  }

  package struct FileState: Equatable {
    package var bytes: Data
    package var modified: Date?
  }

  /// The names, contents and modification times of all files: equal if and only if nothing was
  /// written.
  package func contents() throws -> [String: FileState] {
    var states: [String: FileState] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      let attributes = try FileManager.default.attributesOfItem(atPath: path(of: name))
      states[name] = FileState(
        bytes: try Data(contentsOf: URL(fileURLWithPath: path(of: name))),
        modified: attributes[.modificationDate] as? Date)
    }
    return states
  }
}

// MARK: - Databases

extension TemporaryFolder {
  /// Runs statements on a database file, which is created if it is missing.
  package func execute(_ database: String, _ statements: String...) throws {
    let connection = try DatabaseConnection(path: path(of: database))
    for statement in statements { try connection.execute(statement) }
  }

  /// The rows that a query finds, each as its values with bars between them.
  package func rows(_ database: String, _ query: String) throws -> [String] {
    try DatabaseConnection(path: path(of: database), access: .readOnly).rows(query)
  }
}

extension DatabaseConnection {
  /// The rows that a query finds, each as its values with bars between them.
  package func rows(_ query: String) throws -> [String] {
    let statement = try prepare(query)
    var rows: [String] = []
    while try statement.step() {
      rows.append(try statement.values().map(\.description).joined(separator: "|"))
    }
    return rows
  }
}
