import Foundation
import Synchronization
import TestFolder
import Testing

@testable import TandemServer

@Suite struct TokenFileTests {
  @Test("A use is noted at most once an hour, beside the file, and only for tokens that are listed")
  func uses() async throws {
    let folder = try TemporaryFolder()
    let (ann, bob) = (
      AccessToken.of("a", "ann", .read, ["x"]), AccessToken.of("b", "bob", .read, ["x"])
    )
    try folder.write(TestService.text([ann, bob]), to: "tokens")
    let path = folder.path(of: "tokens")
    let time = Mutex(1_000_000.0)
    let file = try TokenFile(path: path, now: { time.withLock { $0 } })
    /// Writes as at the end of a service.
    func end() async {
      let run = Task { await file.run() }
      run.cancel()
      await run.value
    }
    _ = try file.token(ofSecret: "a")
    #expect(TokenFile.uses(besideFileAt: path).isEmpty)
    await end()
    #expect(TokenFile.uses(besideFileAt: path) == [ann.hash: 1_000_000])
    for (seconds, used) in [(3_599.0, 1_000_000), (3_600.0, 1_003_600)] {
      time.withLock { $0 = 1_000_000 + seconds }
      _ = try file.token(ofSecret: "a")
      _ = try file.token(ofSecret: "unknown")
      await end()
      #expect(TokenFile.uses(besideFileAt: path) == [ann.hash: used])
    }
    _ = try file.token(ofSecret: "b")
    try folder.write("nonsense\n\(ann.hash) 2026-99-01T00:00:00Z\n", to: "tokens.used")
    #expect(TokenFile.uses(besideFileAt: path).isEmpty)
    try folder.write(TestService.text([bob]), to: "tokens")
    await end()
    #expect(TokenFile.uses(besideFileAt: path) == [bob.hash: 1_003_600])
  }

  @Test("A file that cannot be written beside the tokens is named once, and stops nothing")
  func unwritableUses() async throws {
    let folder = try TemporaryFolder()
    try folder.write(TestService.text([.of("a", "ann", .read, ["x"])]), to: "tokens")
    try FileManager.default.createDirectory(
      atPath: folder.path(of: "tokens.used.new"), withIntermediateDirectories: false)
    let time = Mutex(1_000_000.0)
    let lines = Mutex<[String]>([])
    let file = try TokenFile(path: folder.path(of: "tokens"), now: { time.withLock { $0 } }) {
      line in
      lines.withLock { $0.append(line) }
    }
    for _ in 0..<3 {
      time.withLock { $0 += 4_000 }
      #expect(try file.token(ofSecret: "a")?.account == "ann")
      let run = Task { await file.run() }
      run.cancel()
      await run.value
    }
    #expect(lines.withLock { $0.count == 1 && $0[0].contains("tokens.used") })
  }

  @Test("A bad line is named at the start and after each change, by its number, and never quoted")
  func badLine() throws {
    let folder = try TemporaryFolder()
    let good = try TestService.text([.of("a", "ann", .read, ["x"])])
    try folder.write(good + "tandem_secret read x\n", to: "tokens")
    let lines = Mutex<[String]>([])
    let file = try TokenFile(
      path: folder.path(of: "tokens"), log: { line in lines.withLock { $0.append(line) } })
    for _ in 0..<2 { #expect(try file.token(ofSecret: "a") != nil) }
    #expect(lines.withLock { $0.count } == 1)
    try file.reload()
    #expect(
      lines.withLock { $0.count == 2 && $0.allSatisfy { $0.contains("tokens: line 3 ") } })
    #expect(lines.withLock { $0.allSatisfy { !$0.contains("tandem_secret") } })
    try folder.write("tandem_secret\n", to: "tokens")
    #expect(throws: ServerError.self) { try file.token(ofSecret: "a") }
  }
}
