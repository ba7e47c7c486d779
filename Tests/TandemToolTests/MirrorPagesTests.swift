import Foundation
import Tandem
import TestFolder
import TestHTTPServer
import TestTool
import Testing

@Suite("tandem mirror: lists in pages that change", .timeLimit(.minutes(20)))
struct MirrorPagesTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private func arguments(_ list: PagedList) -> [String] {
    let paging =
      switch list.paging {
      case .offset: ["offset=offset"]
      case .number: ["number=page"]
      case .cursor: ["cursor=next", "--items", "items"]
      case .link: ["link"]
      }
    return ["mirror", list.url, folder.path(of: "list.db"), "--table", "t", "--key", "id"]
      + ["--page"] + paging
  }

  private func mirror(_ list: PagedList) async throws -> String {
    let result = try await Tool.run(arguments(list))
    #expect(result.status == 0 && result.error.isEmpty)
    return result.output
  }

  private func ids() throws -> [String] {
    try folder.rows("list.db", "SELECT id FROM t ORDER BY id")
  }

  @Test(
    "no row is deleted that the server has, whatever is deleted while its list is read",
    arguments: PagedList.Paging.allCases)
  func deletion(paging: PagedList.Paging) async throws {
    let list = try PagedList(paging, ids: 1...8)
    list.change { $0.untaggedPages = Set(0...10) }
    _ = try await mirror(list)
    #expect(try ids() == (1...8).map { "\($0)" })
    // The two walks of the first run visited it twice.
    list.change(atVisit: 3, ofPage: 2) { $0.ids.removeAll { $0 == 3 } }
    #expect(try await mirror(list).hasSuffix("0 inserted, 0 updated, 1 deleted\n"))
    #expect(try ids() == [1, 2, 4, 5, 6, 7, 8].map { "\($0)" })
  }

  @Test("what is new on the last page arrives", arguments: PagedList.Paging.allCases)
  func growth(paging: PagedList.Paging) async throws {
    let list = try PagedList(paging, ids: 1...4)
    _ = try await mirror(list)
    #expect(try await mirror(list) == "0 inserted, 0 updated, 0 deleted\n")
    let count = list.requests.count
    list.change { $0.ids.append(5) }
    #expect(try await mirror(list).hasSuffix("1 inserted, 0 updated, 0 deleted\n"))
    #expect(list.requests.count > count + 2)
    #expect(try ids() == (1...5).map { "\($0)" })
  }

  @Test("--every sees a list in pages grow")
  func watch() async throws {
    let list = try PagedList(.link, ids: 1...4)
    let tool = try RunningTool(arguments(list) + ["--every", "0.05"])
    #expect(await tool.line() == "+ id=1")
    for id in 2...4 { #expect(await tool.line() == "+ id=\(id)") }
    #expect(await tool.line() == "4 inserted, 0 updated, 0 deleted; table t created")
    list.change { $0.ids.append(5) }
    // Some runs may have been under way, or over, when the record came.
    var line = await tool.line()
    while line == "0 inserted, 0 updated, 0 deleted" { line = await tool.line() }
    #expect(line == "+ id=5")
    tool.signal(SIGINT)
    #expect(await tool.end() == 0)
  }

  @Test("an unchanged list in pages is asked for page by page, and writes nothing")
  func unchanged() async throws {
    let list = try PagedList(.cursor, ids: 1...8)
    _ = try await mirror(list)
    let before = try folder.contents()
    let count = list.requests.count
    #expect(try await mirror(list) == "0 inserted, 0 updated, 0 deleted\n")
    #expect(list.requests.dropFirst(count).allSatisfy { $0.fields["If-None-Match"] != nil })
    #expect(list.requests.count == count + 4)
    #expect(try folder.contents()["list.db"] == before["list.db"])
  }
}
