import Foundation
import TestFolder
import Testing

@Suite("What README shows", .timeLimit(.minutes(5)))
struct ReadmeTests: ShellSuite {
  let folder: TemporaryFolder
  /// The blocks of README, each with the line that begins it: "sh" for commands.
  let blocks: [String]

  /// A folder that looks like a clone of the package with a tool that was built.
  init() throws {
    folder = try TemporaryFolder()
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let files = FileManager.default
    try files.createDirectory(
      atPath: folder.path(of: ".build/release"), withIntermediateDirectories: true)
    try files.createSymbolicLink(
      atPath: folder.path(of: ".build/release/tandem"), withDestinationPath: Tool.path)
    try files.createSymbolicLink(
      atPath: folder.path(of: "Examples"),
      withDestinationPath: package.appendingPathComponent("Examples").path)
    let readme = try String(
      contentsOf: package.appendingPathComponent("README.md"), encoding: .utf8)
    blocks = readme.components(separatedBy: "```")
  }

  /// The commands of the block that begins with these words, with the tool in the path.
  private func commands(_ start: String) throws -> String {
    let block = try #require(blocks.first { $0.hasPrefix("sh\n\(start)") })
    return "PATH=$PWD/.build/release:$PATH\n\(block.dropFirst(3))"
  }

  @Test("the first mirror works when pasted, and prints what README shows")
  func mirror() async throws {
    let result = try await shell(commands("PATH="))
    #expect(result.output.hasSuffix("\n1 inserted, 2 updated, 1 deleted\n"))
    #expect(blocks.contains("\n\(result.output)"))
    #expect(result.error.isEmpty)
  }

  @Test("the two copies are in step when the commands have been pasted")
  func sync() async throws {
    let result = try await shell(commands("sqlite3 a.db"))
    #expect(result.output.contains("local   {\"title\":\"Long plan\"}"))
    #expect(result.output.hasSuffix("\nno difference\n"), "\(result)")
  }
}
