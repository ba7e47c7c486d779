import Foundation
import Tandem
import TestFolder
import Testing

@Suite("tandem mirror --content: when it is killed", .timeLimit(.minutes(10)))
struct ContentKillTests {
  static let killCount = 200

  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("SIGKILL at any moment leaves whole files, rows that point to them, and a mirror to finish")
  func killed() async throws {
    let server = try ContentServer()
    defer { server.stop() }
    let clock = ContinuousClock()
    #expect(try await run(server) == 0)
    server.setVersion(1)
    let start = clock.now
    #expect(try await run(server) == 0)
    let duration = (clock.now - start) / .seconds(1)
    var version = 2
    var doneCount = 0
    for step in 0..<Self.killCount {
      server.setVersion(version)
      // Spread over a whole run, in an order that visits all its parts.
      let delay = 1.1 * duration * Double(step * 37 % Self.killCount) / Double(Self.killCount)
      let status = try await run(server, killedAfter: delay)
      try expectWhole(upTo: version)
      if status == 0 {
        doneCount += 1
        try expectFinished(version)
        version += 1
      } else if step % 3 == 2 {
        // What one killed run left, the next one meets in another version of the list.
        version += 1
      }
    }
    #expect(
      doneCount < Self.killCount - 20, "few kills came in time: \(doneCount) runs ended first")
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
    let aside = try FileManager.default.contentsOfDirectory(
      atPath: folder.path(of: "files/content/.tandem"))
    #expect(Set(aside).isSubset(of: ["catalog", "lock"]))
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
      try FileManager.default.contentsOfDirectory(atPath: folder.path(of: "files/content"))
        .filter { $0 != ".tandem" })
  }

  /// Mirrors, and kills the process after so many seconds; returns its exit status.
  private func run(
    _ server: ContentServer, killedAfter delay: Double? = nil
  ) async throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Tool.path)
    process.arguments = [
      "mirror", server.url, folder.path(of: "list.db"), "--table", "item", "--key", "id",
      "--content", "url", "--into", folder.path(of: "files"), "--max-deletes", "100%", "--quiet",
    ]
    process.standardOutput = FileHandle.nullDevice
    var end: DispatchWorkItem?
    // Once the process is gone, its number may be another one's.
    defer { end?.cancel() }
    return try await process.runToEnd { process in
      guard let delay else { return }
      let work = DispatchWorkItem {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + delay, execute: work)
      end = work
    }
  }
}
