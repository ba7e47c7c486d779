import TestTool

#if os(Linux)
  import Foundation
  import Tandem
  import TestFolder
  import Testing

  @Suite("tandem watch: a file that is locked at its start", .timeLimit(.minutes(20)))
  struct WatchStartTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test(
      "a signal ends the wait for a lock, with a summary", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signalWhileLocked(signal: Int32) async throws {
      try folder.execute(
        "test.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "PRAGMA journal_mode=DELETE")
      let holder = try DatabaseConnection(path: folder.path(of: "test.db"), access: .readOnly)
      try holder.execute("PRAGMA query_only=OFF")
      try holder.execute("BEGIN EXCLUSIVE")
      // It waits for 5 s: where the signal comes later than that, it has not been tried.
      var (line, status) = try await end(by: signal)
      while line?.contains("locked") == true { (line, status) = try await end(by: signal) }
      #expect(line == "tandem: 0 differences: 0 inserted, 0 updated, 0 deleted")
      #expect(status == 0)
      try holder.execute("ROLLBACK")
    }

    /// What `watch` says last, and its exit status, if it gets a signal as soon as it heeds signals.
    private func end(by signal: Int32) async throws -> (String?, Int32) {
      let tool = try RunningTool(
        [
          "-c", "echo $$; exec '\(Tool.path)' watch '\(folder.path(of: "test.db"))' --table t",
        ], executable: "/bin/sh")
      let process = try #require(await tool.line().flatMap { Int($0) })
      try await comesToCatch([SIGINT, SIGTERM, signal], process)
      tool.signal(signal)
      return (await tool.errorLine(), await tool.end())
    }

    /// Returns when a process has come to catch signals, of which a shell catches one itself, or has ended.
    private func comesToCatch(_ signals: Set<Int32>, _ process: Int) async throws {
      let all = signals.reduce(0) { $0 | UInt64(1) << UInt64($1 - 1) }
      while let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8) {
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
        guard let mask = line?.split(separator: "\t").last else { return }
        if try #require(UInt64(mask, radix: 16)) & all == all { return }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
  }
#endif
