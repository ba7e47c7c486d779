import Foundation
import Synchronization
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem mirror --content: when it is killed", .timeLimit(.minutes(20)))
struct ContentKillTests {
  static let killCount = 200
  /// How many requests an undisturbed run makes: for the list, and for each content.
  static let requestCount = 1 + ContentServer.itemCount

  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("SIGKILL at any moment leaves whole files, rows that point to them, and a mirror to finish")
  func killed() async throws {
    let server = try ContentServer()
    defer { server.stop() }
    #expect(try await run(server) == 0)
    var version = 1
    var finishedVersion = 0
    var doneCount = 0
    for step in 0..<Self.killCount {
      server.setVersion(version)
      // At each request, at once or a little later, when answers are received, written and put in
      // place; after the last request, rows are written.
      let moment = (request: 1 + step % Self.requestCount, delay: step / Self.requestCount * 3)
      let status = try await run(server, killedAt: moment)
      try expectWhole(upTo: version)
      if status == 0 {
        doneCount += 1
        try expectFinished(version)
        finishedVersion = version
        version += 1
      } else if step % 3 == 1, finishedVersion > 0 {
        // The rows are those of the list that is back; what was killed may have replaced their files.
        server.setVersion(finishedVersion)
        #expect(try await run(server) == 0)
        try expectFinished(finishedVersion)
      } else if step % 3 == 2 {
        // What one killed run left, the next one meets in another version of the list.
        version += 1
      }
    }
    #expect(doneCount <= Self.killCount - Self.requestCount / 2, "kills came too late")
    server.setVersion(version)
    #expect(try await run(server) == 0)
    try expectFinished(version)
  }

  /// Checks that every file is whole, and that every row points to one.
  private func expectWhole(upTo version: Int) throws {
    let names = try fileNames()
    for name in names {
      let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path(name))))
      let words = String(decoding: bytes.prefix(20), as: UTF8.self).split(separator: " ")
      let (id, number) = (Int(words[0]) ?? -1, Int(words[1]) ?? -1)
      #expect("\(id)" == name && number <= version)
      #expect(bytes == ContentServer.content(id, number), "\(name) is not whole")
    }
    for row in try rows() {
      #expect(names.contains(row.file), "row \(row.id) points to no file")
    }
  }

  /// Checks that rows and files are those of a version, and nothing else is there.
  private func expectFinished(_ version: Int) throws {
    let ids = ContentServer.ids(version)
    #expect(try rows().map(\.id) == Array(ids))
    #expect(try rows().allSatisfy { $0.version == version })
    #expect(try fileNames() == Set(ids.map { "\($0)" }))
    for id in ids {
      let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path("\(id)"))))
      #expect(bytes == ContentServer.content(id, version))
    }
    let hidden = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(of: "files/.tandem"))
    #expect(hidden.sorted() == ["index.sqlite", "lock"])
  }

  private func rows() throws -> [(id: Int, version: Int, file: String)] {
    try folder.rows("list.db", "SELECT id, version, substr(url_file, 9) FROM item ORDER BY id").map
    {
      let values = $0.split(separator: "|")
      return (
        Int(values[0]) ?? -1, Int(values[1]) ?? -1,
        values[2].replacingOccurrences(of: "\"", with: "")
      )
    }
  }

  private func path(_ name: String) -> String { folder.path(of: "files/content/\(name)") }

  private func fileNames() throws -> Set<String> {
    Set(
      try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "files/content")))
  }

  /// Mirrors, and kills the process so many milliseconds after a request; returns its exit status.
  private func run(
    _ server: ContentServer, killedAt moment: (request: Int, delay: Int)? = nil
  ) async throws -> Int32 {
    let victim = Victim()
    server.call(atRequest: moment?.request ?? .max) {
      guard let delay = moment?.delay, delay > 0 else { return victim.kill() }
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { victim.kill() }
    }
    let tool = try TestProgram([
      Tool.path, "mirror", server.url, folder.path(of: "list.db"), "--table", "item", "--key", "id",
      "--content", "url", "--into", folder.path(of: "files"), "--max-deletes", "100%", "--quiet",
    ])
    victim.set(tool)
    return await tool.end()
  }
}

/// A process to be killed, perhaps before it has started.
private final class Victim: Sendable {
  private let state = Mutex<(tool: TestProgram?, isDoomed: Bool)>((nil, false))

  func set(_ tool: TestProgram) {
    let isDoomed = state.withLock { victim in
      victim.tool = tool
      return victim.isDoomed
    }
    if isDoomed { kill() }
  }

  func kill() {
    let tool = state.withLock { victim in
      victim.isDoomed = true
      return victim.tool
    }
    tool?.send(SIGKILL)
  }
}
