import Foundation
import TestFolder
import TestTool
import Testing

/// A database that SQLite's own shell writes and `tandem watch` watches, in a folder of its own.
struct WatchedDatabase {
  let folder: TemporaryFolder
  var path: String { folder.path(of: "places.db") }

  /// Makes it with statements.
  init(_ sql: String) async throws {
    folder = try TemporaryFolder()
    try await execute(sql)
  }

  /// Runs statements.
  func execute(_ sql: String) async throws {
    let result = try await Tool.shell("sqlite3 -bail places.db \"\(sql)\"", in: folder)
    #expect(result.status == 0 && result.error.isEmpty, "\(result.error)")
  }

  /// Starts to watch, and returns when nothing that is committed goes unseen any more.
  func watch(_ arguments: String...) async throws -> RunningTool {
    let tool = try RunningTool(["watch", path] + arguments)
    let greeting = await tool.errorLine()
    #expect(
      greeting?.hasPrefix("tandem: watching \(path); the query ") == true, "\(greeting ?? "")")
    return tool
  }
}
