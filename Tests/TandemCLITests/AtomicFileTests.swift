import Foundation
import TestFolder
import Testing

@testable import TandemCLI

@Suite("Files that are replaced")
struct AtomicFileTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(
    "a failure of the machine leaves the old file or the new one, whole",
    .enabled(if: TemporaryFolder.recordsSystemCalls), arguments: [true, false])
  func order(exists: Bool) async throws {
    if exists { try folder.write("old", to: "file") }
    let calls = try await folder.systemCalls {
      try AtomicFile.write(Array("new".utf8), to: folder.path(of: "file"))
    }
    let temporary = "file.tandem-\(getpid())"
    #expect(
      calls == [
        // The bytes are on disk before the name is, and the name before the write is reported.
        "write \(temporary)", "sync \(temporary)", "rename \(temporary) file", "sync .",
      ])
    #expect(try folder.text(of: "file") == "new")
    #expect(folder.names() == ["file"])
  }
}
