import Foundation
import TandemSpace
import TandemSync
import TestFolder
import Testing

@testable import TandemServer

@Suite("Notes in symbolic links")
struct DurableLinkTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(
    "a crash leaves the former note or the new one, and never none",
    .enabled(if: TemporaryFolder.recordsSystemCalls))
  func order() async throws {
    let link = DurableLink("leader", in: folder.path)
    #expect(link.text == nil)
    for text in ["http://a", "https://b.example.org:7420"] {
      let calls = try await folder.systemCalls { try link.write(text) }
      let renaming = try #require(calls.first).split(separator: " ")
      #expect(renaming.count == 3 && renaming[0] == "rename" && renaming[2] == "leader")
      #expect(Array(calls.dropFirst()) == ["sync ."])
      #expect(link.text == text)
    }
    #expect(folder.names() == ["leader"])
    let calls = try await folder.systemCalls { try link.remove() }
    #expect(calls == ["remove leader", "sync ."])
    #expect(link.text == nil)
    #expect(throws: ServerError.self) { try link.remove() }
  }

  @Test("the leader of a directory, and the fate of a name, are replaced at once")
  func users() throws {
    try Following.begin(folder.path, leader: "http://a")
    try Following.begin(folder.path, leader: "http://b")
    #expect(Following.leader(of: folder.path) == "http://b")
    try Following.beginPromotion(of: folder.path, leader: "http://b")
    #expect(Following.isPromoted(folder.path))
    try Following.endPromotion(of: folder.path)
    #expect(Following.leader(of: folder.path) == nil)
    let spaces = try SpaceDirectory(reading: folder.path)
    for former in [FormerSpace.deleted, .renamed("b"), .deleted] {
      try spaces.note(former, of: "a")
      #expect(spaces.former("a") == former)
    }
    #expect(folder.names().sorted() == ["a.former", "promoted"])
  }

  @Test("no space is made in the empty file that an interrupted copy has left")
  func incompleteCopy() async throws {
    try folder.execute("notes.space", "CREATE TABLE t (a)", "DROP TABLE t")
    let spaces = try SpaceDirectory(path: folder.path)
    try spaces.noteIncomplete(["notes"])
    #expect(spaces.contains("notes"))
    let refusal = await #expect(throws: SyncRequestError.self) {
      try await spaces.with("notes", creates: true) { try await $0.state().head }
    }
    #expect(refusal?.code == .unknownSpace)
    #expect(refusal?.message.contains("not copied completely") == true)
    await spaces.close()
  }

  @Test("a copy that is not permitted any more makes no file")
  func lateCopy() async throws {
    let store = try await SQLiteSpaceStore.open(path: folder.path(of: "leader"), creates: true)
    let answer = try await store.copyPage(since: nil, cursor: nil)
    await store.close()
    guard case .page(let page) = answer else { throw SpaceCopyError.lost }
    await #expect(throws: SpaceCopyError.stopped) {
      try await SQLiteSpaceStore.receiveCopy(
        path: folder.path(of: "notes.space"), since: nil, after: nil,
        SpaceCopyHeader(ofPage: page), forEachPage: { body in try body(page) },
        isPermitted: { false })
    }
    #expect(!folder.names().contains("notes.space"))
  }

  #if os(Linux)
    @Test("a directory whose names cannot be read to their end has no names")
    func unreadable() async throws {
      let life = Pipe()
      let program = try TestProgram(["cat"], input: .pipe(life))
      let directory = open(
        "/proc/\(program.processIdentifier)/net", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      defer { close(directory) }
      try #require(directory >= 0)
      let spaces = try SpaceDirectory(reading: "/proc/self/fd/\(directory)")
      // Opening succeeds from now on, and reading does not.
      try life.fileHandleForWriting.close()
      #expect(await program.end() == 0)
      #expect(throws: ServerError.self) { try spaces.names() }
    }
  #endif
}
