import Foundation
import Tandem
import TestFolder
import TestTool
import Testing

@Suite("tandem mirror: when it is killed", .timeLimit(.minutes(20)))
struct MirrorKillTests {
  static let recordCount = 20_000
  static let killCount = 60

  /// One of two lists that share half of their records' keys and no other values.
  static func list(_ name: String, from first: Int) -> String {
    "id,list,payload\n"
      + (first..<first + recordCount)
      .map { "\($0),\(name),the \(name) payload of record \($0)\n" }.joined()
  }

  static let state = """
    SELECT count(*), min(id), max(id), min(list), max(list),
      sum(payload = 'the ' || list || ' payload of record ' || id) FROM record
    """
  static let states = [
    #"20000|1|20000|"a"|"a"|20000"#, #"20000|10001|30000|"b"|"b"|20000"#,
  ]

  @Test("SIGKILL at any moment leaves the old list or the new one, whole")
  func killed() async throws {
    let folder = try TemporaryFolder()
    let lists = [
      try folder.write(Self.list("a", from: 1), to: "a.csv"),
      try folder.write(Self.list("b", from: 10_001), to: "b.csv"),
    ]
    _ = try await mirror(lists[0], in: folder)
    // The shorter one: something else may have kept the other waiting.
    let duration = min(
      try await mirror(lists[1], in: folder), try await mirror(lists[0], in: folder))
    var current = 0
    var outcomes: [String: Int] = [:]
    for step in 0..<Self.killCount {
      // From the start to a little beyond the end of an undisturbed run, more often near the end,
      // where the file is written.
      let delay = 1.2 * duration * (Double(step) / Double(Self.killCount - 1)).squareRoot()
      let next = 1 - current
      let status = try await mirror(lists[next], in: folder, killedAfter: delay)
      let connection = try DatabaseConnection(path: folder.path(of: "records.db"))
      #expect(try connection.rows("PRAGMA integrity_check") == [#""ok""#])
      let state = try #require(try connection.rows(Self.state).first)
      let found = try #require(Self.states.firstIndex(of: state), "a mixture: \(state)")
      #expect(status != 0 || found == next, "a run that says it is done is")
      outcomes[
        "\(status == 0 ? "done" : "killed"), \(found == next ? "new" : "old")", default: 0] += 1
      current = found
    }
    #expect(outcomes["killed, old", default: 0] > 0, "no kill came in time: \(outcomes)")
    _ = try await mirror(lists[1 - current], in: folder)
    #expect(try folder.rows("records.db", Self.state) == [Self.states[1 - current]])
  }

  /// Mirrors a list; returns how many seconds that took.
  private func mirror(_ list: String, in folder: TemporaryFolder) async throws -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    #expect(try await self.start(list, in: folder).end() == 0)
    return (clock.now - start) / .seconds(1)
  }

  /// Mirrors a list and kills the process after so many seconds; returns its exit status.
  private func mirror(
    _ list: String, in folder: TemporaryFolder, killedAfter delay: Double
  ) async throws -> Int32 {
    let tool = try start(list, in: folder)
    if delay > 0 {
      DispatchQueue.global().asyncAfter(deadline: .now() + delay) { tool.send(SIGKILL) }
    } else {
      tool.send(SIGKILL)
    }
    return await tool.end()
  }

  private func start(_ list: String, in folder: TemporaryFolder) throws -> TestProgram {
    try TestProgram([
      Tool.path, "mirror", list, folder.path(of: "records.db"), "--table", "record", "--key", "id",
      "--quiet",
    ])
  }
}
