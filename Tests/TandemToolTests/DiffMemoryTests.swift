import TestTool

#if os(Linux)
  import Foundation
  import TestFolder
  import Testing

  @Suite("tandem diff: how much memory it takes", .timeLimit(.minutes(20)))
  struct DiffMemoryTests {
    /// A database of so many rows, of which the last 3000 are `version`'s own.
    static func makeDatabase(
      _ name: String, rowCount: Int, version: Int, in folder: TemporaryFolder
    ) throws {
      try folder.execute(
        name, "PRAGMA synchronous=OFF", "CREATE TABLE t (id INTEGER PRIMARY KEY, payload TEXT)",
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rowCount))
        INSERT INTO t SELECT i, printf('%0100d', i) || iif(i > \(rowCount - 3000), \(version), 0) FROM n
        """)
    }

    /// The most memory, in bytes, that a comparison has taken when it writes about the last rows.
    ///
    /// The process writes into a pipe that nobody empties, so it stands still there while it is looked
    /// at. What the operating system tells after a process has ended includes its start, as a copy of
    /// this one.
    static func peakByteCount(rowCount: Int, options: [String]) async throws -> Int {
      let folder = try TemporaryFolder()
      try makeDatabase("old.db", rowCount: rowCount, version: 1, in: folder)
      try makeDatabase("new.db", rowCount: rowCount, version: 2, in: folder)
      let pipe = Pipe()
      let tool = try TestProgram(
        [Tool.path, "diff", folder.path(of: "old.db"), folder.path(of: "new.db")] + options,
        output: .pipe(pipe))
      let output = pipe.fileHandleForReading
      _ = try output.read(upToCount: 1)
      let file = "/proc/\(tool.processIdentifier)/status"
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      let line = lines.first { $0.hasPrefix("VmHWM:") }
      while let bytes = try output.read(upToCount: 1 << 20), !bytes.isEmpty {}
      #expect(await tool.end() == 1)
      let peak = line?.split(separator: " ").dropLast().last.flatMap { Int($0) }
      return try #require(peak) << 10
    }

    @Test("memory does not grow with two tables", arguments: [[], ["--json"]])
    func constantMemory(options: [String]) async throws {
      let small = try await Self.peakByteCount(rowCount: 10_000, options: options)
      let large = try await Self.peakByteCount(rowCount: 300_000, options: options)
      // The large tables hold 30 MB of text each.
      #expect(large < small + 8_000_000, "\(small) bytes for 10,000 rows, \(large) for 300,000")
    }
  }
#endif
