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
    let temporary = try #require(calls.first?.split(separator: " ").last)
    #expect(temporary.hasPrefix("file.tandem-"))
    // A file that a killed process left is not in the way, although process numbers are used again.
    #expect(!temporary.hasSuffix("-\(getpid())"))
    #expect(
      calls == [
        // The bytes are on disk before the name is, and the name before the write is reported.
        "write \(temporary)", "sync \(temporary)", "rename \(temporary) file", "sync .",
      ])
    #expect(try folder.text(of: "file") == "new")
    #expect(folder.names() == ["file"])
  }

  @Test(
    "a file keeps its owner and permissions, as when root changes the tokens of a service",
    .enabled(if: geteuid() == 0, "only root can give files away"))
  func owner() throws {
    try folder.write("old", to: "file")
    let path = folder.path(of: "file")
    #expect(chown(path, 65_534, 65_534) == 0 && chmod(path, 0o640) == 0)
    try AtomicFile.write(Array("new".utf8), to: path)
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_uid == 65_534 && status.st_gid == 65_534)
    #expect(status.st_mode & 0o7777 == 0o640)
    #expect(try folder.text(of: "file") == "new")
  }
}
