import Foundation
import TandemSQLite

/// A folder for the database files of one test, removed with it.
final class DatabaseFolder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(
      path: "tandem-database-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String = "test.db") -> String { url.appending(path: name).path }

  /// The names of the files in it, in order.
  var fileNames: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted()
  }

  func database(
    _ name: String = "test.db", _ configuration: DatabaseConfiguration = DatabaseConfiguration()
  ) throws -> Database {
    try Database(path: path(name), configuration: configuration)
  }

  /// Writes a file that is no database of ours.
  func write(_ bytes: [UInt8], _ name: String = "test.db") throws {
    try Data(bytes).write(to: url.appending(path: name))
  }
}
