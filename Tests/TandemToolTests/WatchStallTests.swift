import TestTool

#if os(Linux)
  import Foundation
  import TestFolder
  import Testing

  @Suite("tandem watch: readers that stall, and signals", .timeLimit(.minutes(20)))
  struct WatchStallTests {
    private let database: WatchedDatabase
    /// A pipe that nobody reads.
    private var pipe: String { database.folder.path(of: "pipe") }

    init() async throws {
      database = try await WatchedDatabase(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
        INSERT INTO t SELECT i, 'some text' FROM n
        """)
      try #require(mkfifo(pipe, 0o600) == 0)
    }

    /// Runs `body` while somebody has the pipe open to read, and does not.
    private func withStalledReader(_ body: (_ descriptor: Int32) async throws -> Void) async throws
    {
      let descriptor = open(pipe, O_RDWR | O_NONBLOCK)
      try #require(descriptor >= 0)
      defer { close(descriptor) }
      try await body(descriptor)
    }

    /// Starts to watch; the first line of output is the process's identifier.
    private func watch(_ arguments: String) async throws -> (tool: RunningTool, process: Int) {
      let tool = try RunningTool(
        ["-c", "echo $$; exec '\(Tool.path)' watch '\(database.path)' \(arguments)"],
        executable: "/bin/sh")
      return (tool, try #require(await tool.line().flatMap { Int($0) }))
    }

    @Test(
      "a signal ends it while the reader of its output takes nothing",
      arguments: [
        "--json", "", "--list --json --query 'SELECT * FROM t' --key id",
      ])
    func stalledOutput(_ arguments: String) async throws {
      try await withStalledReader { _ in
        let (tool, _) = try await watch("\(arguments) --initial >'\(pipe)'")
        #expect(await tool.errorLine()?.contains("watching") == true)
        #expect(await tool.errorLine()?.contains("journal mode") == true)
        tool.signal(SIGINT)
        #expect(
          await tool.errorLine() == "tandem: 0 differences: 0 inserted, 0 updated, 0 deleted")
        #expect(await tool.end() == 0)
      }
    }

    @Test("the second signal ends the process, whichever of the two it is")
    func secondSignal() async throws {
      let greeting =
        "tandem: watching \(database.path); the query reads only the rows of t that a "
        + "commit touched; if another process wrote, runs again\n"
      for (first, second) in [(SIGINT, SIGTERM), (SIGTERM, SIGINT), (SIGINT, SIGINT)] {
        try await withStalledReader { descriptor in
          // There is room for its first message and not for the second, so that it cannot end by itself.
          let count = fill(descriptor, leaving: greeting.utf8.count + 1)
          let (tool, process) = try await watch("2>'\(pipe)'")
          while byteCount(descriptor) == count { try await Task.sleep(for: .milliseconds(1)) }
          tool.signal(first)
          try await comesToCatchNeither(process)
          tool.signal(second)
          #expect(await tool.end() == -second)
        }
      }
    }

    /// Fills a pipe; returns how many bytes are in it.
    private func fill(_ descriptor: Int32, leaving room: Int) -> Int {
      var page = [UInt8](repeating: 0, count: 4_096)
      var pageCount = 0
      while write(descriptor, page, page.count) > 0 { pageCount += 1 }
      for _ in 0..<pageCount { read(descriptor, &page, page.count) }
      for _ in 0..<max(0, pageCount - 1) { write(descriptor, page, page.count) }
      write(descriptor, page, page.count - room)
      return byteCount(descriptor)
    }

    /// Returns when a process has come to leave both signals to the system.
    private func comesToCatchNeither(_ process: Int) async throws {
      let both: UInt64 = 1 << (SIGINT - 1) | 1 << (SIGTERM - 1)
      while true {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }
        let mask = try #require(line?.split(separator: "\t").last)
        if try #require(UInt64(mask, radix: 16)) & both == 0 { return }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
  }
#endif
