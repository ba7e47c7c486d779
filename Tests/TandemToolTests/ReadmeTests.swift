import Foundation
import TestFolder
import TestTool
import Testing

@Suite("What README and Tables.md show", .timeLimit(.minutes(20)))
struct ReadmeTests: ShellSuite {
  let folder: TemporaryFolder
  /// The blocks of README, each with the line that begins it: "sh" for commands.
  let blocks: [String]
  let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// A folder that looks like a clone of the package with a tool that was built.
  init() throws {
    folder = try TemporaryFolder()
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

  @Test("The examples of Synchronizing.md end as they say")
  func synchronizing() async throws {
    let page = try String(
      contentsOf: package.appendingPathComponent("Documentation/Synchronizing.md"), encoding: .utf8
    )
    let blocks = page.components(separatedBy: "```")
    let path = "PATH=$PWD/.build/release:$PATH\n"
    let rejected = try #require(
      blocks.first { $0.hasPrefix("sh\nsqlite3 a.db \"CREATE TABLE user") })
    let users = "sqlite3 a.db 'SELECT id FROM user'; tandem rejected b.db; tandem status a.db"
    let first = try await shell(path + rejected.dropFirst(3) + users)
    #expect(first.output.contains("rejected 1: edit user \"ub\": user 'ua' has mail 'x@y'"))
    #expect(first.output.contains("\nua\nub\nstate      upToDate"))
    let restored = try #require(blocks.first { $0.hasPrefix("sh\nsqlite3 s.space \"VACUUM") })
    let second = try await shell(
      path + restored.dropFirst(3)
        + "tandem sync a.db; \(users); sqlite3 b.db 'SELECT count(*) FROM user'")
    #expect(second.error.contains("decide whether to keep the records of both"))
    #expect(second.output.contains("ua\nub\nuc\nud\nstate      upToDate"), "\(second)")
    #expect(second.output.hasSuffix("\n4\n"))
  }

  @Test("Tables.md lists each table and trigger that Tandem adds to a database")
  func tables() async throws {
    let page = try String(
      contentsOf: package.appendingPathComponent("Documentation/Tables.md"), encoding: .utf8)
    let names = try await shell(
      """
      sqlite3 a.db "CREATE TABLE place (zone TEXT PRIMARY KEY, latitude REAL)"
      $tandem mirror -q Examples/Places/monday.json a.db --table place --key zone || exit 3
      $tandem track a.db --table place && $tandem attach -q a.db --space s.space --table place || exit 4
      $tandem sync -q a.db || exit 5
      sqlite3 a.db "SELECT name FROM sqlite_schema WHERE type IN ('table', 'trigger')
        AND name LIKE 'tandem%'"
      """
    ).output.split(separator: "\n")
    #expect(names.count > 20)
    for name in names {
      let general = name.replacing(/_place$/, with: "_T")
        .replacing(/^(tandem_(?:track|keep))_.*_T$/) { "\($0.1)_…_T" }
      #expect(page.contains("`\(general)`"), "\(general)")
    }
  }
}
