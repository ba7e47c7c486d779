import Foundation
import TestFolder
import TestTool
import Testing

@Suite("The example LiveScreen", .timeLimit(.minutes(20)))
struct LiveScreenTests {
  @Test("two models of different classes show what another program writes into the database")
  func following() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path(of: "people.db")
    let executable = URL(fileURLWithPath: Tool.path).deletingLastPathComponent()
      .appendingPathComponent("LiveScreen").path
    let screen = try RunningTool([path, "--count", "4"], executable: executable)
    #expect(await screen.line() == "Daniel  [1 visit]")
    for (statement, line) in [
      ("UPDATE person SET name = 'Tom', visits = 2", "Tom  [2 visits]"),
      ("DELETE FROM person", "Tom  [2 visits]  gone"),
      ("INSERT INTO person VALUES (1, 'Ann', 1)", "Ann  [1 visit]"),
    ] {
      let written = try await Tool.shell("sqlite3 people.db \"\(statement)\"", in: folder)
      #expect(written.status == 0 && written.error.isEmpty)
      #expect(await screen.line() == line)
    }
    #expect(await screen.end() == 0)
  }
}
