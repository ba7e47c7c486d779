import Foundation
import TandemDifferences
import TandemHTTP
import TandemRecords
import TandemSQLite
import TestFolder
import Testing

@testable import TandemMirror

@Suite(
  "Mirrors with contents: a directory whose path becomes another's",
  .timeLimit(.minutes(20)))
struct ContentSwapTests {
  let scene: ContentScene
  private var folder: TemporaryFolder { scene.folder }
  private let manager = FileManager.default

  init() throws {
    scene = try ContentScene()
    scene.server["/list"] = #"[{"id":1,"n":1,"photo":"/1"}]"#
    scene.server["/1"] = "one"
    for path in ["victim/content", "victim/files/content", "victim/.tandem"] {
      try manager.createDirectory(
        atPath: folder.path(of: path), withIntermediateDirectories: true)
    }
    for path in ["victim/content/1", "victim/content/2", "victim/files/content/2", "victim/mine"] {
      folder.create(path, "mine".utf8)
    }
  }

  private func expectWholeVictim(sourceLocation: SourceLocation = #_sourceLocation) {
    let files = folder.files(in: "victim").filter { !$0.contains(".tandem") }
    #expect(
      files.sorted() == ["content/1", "content/2", "files/content/2", "mine"],
      sourceLocation: sourceLocation)
    #expect(
      files.allSatisfy { folder.bytes(of: "victim/\($0)") == Array("mine".utf8) },
      sourceLocation: sourceLocation)
  }

  /// Moves a directory away, and puts a link to the other one in its place.
  private func swap(_ path: String, for other: String) throws {
    let path = folder.path(of: path)
    try manager.moveItem(atPath: path, toPath: "\(path).moved")
    try manager.createSymbolicLink(
      atPath: path, withDestinationPath: folder.path(of: other))
  }

  @Test("what is checked is what is changed, wherever the path leads by then")
  func checkedAndChanged() throws {
    try manager.createDirectory(
      atPath: folder.path(of: "files/content"), withIntermediateDirectories: true)
    let opened = try Directory(existing: folder.path(of: "files"))
    try swap("files", for: "victim")
    let directory = try MirrorDirectory(opened, tolerated: [], isReadOnly: false)
    let content = FileName("content")
    #expect(try directory.isEmpty() && directory.isEmpty(content))
    #expect(try directory.files(in: content).names() == [])
    #expect(!directory.isIn(content, folder.path(of: "victim/content/list.db")))
    let store = try directory.store(in: content)
    #expect(try store.sweep(keeping: []) == [])
    try store.remove([FileName("1")])
    expectWholeVictim()
  }

  @Test(
    "a run during which it becomes a link deletes and writes nothing there",
    arguments: ["files", "around/files"], ["/list", "/1"])
  func duringRun(directory: String, request: String) async throws {
    for isFirst in [true, false] {
      try? manager.createDirectory(
        atPath: folder.path(of: "around"), withIntermediateDirectories: true)
      let swapped = directory.split(separator: "/").first.map(String.init) ?? directory
      let scene = scene
      let manager = manager
      if !isFirst {
        _ = try await scene.run(into: directory, limit: .percentage(100))
        scene.server["/list"] = #"[{"id":2,"photo":"/1"}]"#
      }
      scene.server.onRequest = { path in
        guard path == request else { return }
        scene.server.onRequest = nil
        let path = scene.folder.path(of: swapped)
        try? manager.moveItem(atPath: path, toPath: "\(path).moved")
        try? manager.createSymbolicLink(
          atPath: path, withDestinationPath: scene.folder.path(of: "victim"))
      }
      _ = try? await scene.run(into: directory, limit: .percentage(100))
      scene.server.onRequest = nil
      let target = try? manager.destinationOfSymbolicLink(atPath: folder.path(of: swapped))
      #expect(target != nil, "nothing was swapped")
      expectWholeVictim()
      try? manager.removeItem(atPath: folder.path(of: swapped))
      try? manager.removeItem(atPath: folder.path(of: "\(swapped).moved"))
      try? manager.removeItem(atPath: folder.path(of: "list.db"))
    }
  }

  @Test("a folder that is a link is refused")
  func linkedFolder() async throws {
    _ = try await scene.run()
    try manager.removeItem(atPath: folder.path(of: "files/content"))
    try manager.createSymbolicLink(
      atPath: folder.path(of: "files/content"),
      withDestinationPath: folder.path(of: "victim/content"))
    scene.server["/list"] = #"[{"id":7,"photo":"/1"}]"#
    for isDryRun in [true, false] {
      await #expect(throws: DatabaseMirror.RunError.self) {
        try await scene.run(limit: .percentage(100), isDryRun: isDryRun)
      }
    }
    expectWholeVictim()
  }

  /// A link that leads to an empty directory and to one with files by turns: with checks of another directory
  /// than the one that is changed, some of the files would be gone soon.
  @Test("a link that changes all the time never makes the files behind it a mirror's")
  func race() async throws {
    try manager.createDirectory(
      atPath: folder.path(of: "empty"), withIntermediateDirectories: true)
    try manager.createSymbolicLink(
      atPath: folder.path(of: "link"), withDestinationPath: folder.path(of: "empty"))
    let isDone = Locked(false)
    let folder = folder
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var isVictim = false
        while !isDone.current {
          isVictim.toggle()
          let target = folder.path(of: isVictim ? "victim" : "empty")
          _ = unlink(folder.path(of: "next"))
          _ = symlink(target, folder.path(of: "next"))
          _ = rename(folder.path(of: "next"), folder.path(of: "link"))
          await Task.yield()
        }
      }
      defer { isDone.withLock { $0 = true } }
      var openedCount = 0
      while openedCount < 30 {
        guard
          let directory = try? MirrorDirectory(
            path: folder.path(of: "link"), tolerated: [], isReadOnly: false)
        else { continue }
        openedCount += 1
        _ = try? directory.store(in: FileName("content")).sweep(keeping: [])
      }
    }
    expectWholeVictim()
  }
}
