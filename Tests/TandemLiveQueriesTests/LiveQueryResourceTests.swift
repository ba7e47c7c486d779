#if os(Linux)
  import Foundation
  import Synchronization
  import TandemDifferences
  import TandemRecords
  import TandemSQLite
  import TestFolder
  import Testing

  @testable import TandemLiveQueries

  /// Each in a process of its own, where nobody else uses anything.
  @Suite("What live queries use", .timeLimit(.minutes(30)))
  struct LiveQueryResourceTests {
    @Test("10,000 runs started and cancelled leave no run, file, thread or memory behind")
    func cycles() async {
      await #expect(processExitsWith: .success) {
        try ProcessUsage.prepare()
        let folder = try TemporaryFolder()
        let database = try await folder.database(
          "CREATE TABLE t (k INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        let runs = WeakReferences()
        for _ in 0..<5_000 { try await startAndCancel(database, runs) }
        let half = try ProcessUsage()
        for _ in 0..<5_000 { try await startAndCancel(database, runs) }
        #expect(try await comesToHold { runs.liveCount == 0 })
        #expect(runs.count == 10_000)
        #expect(try await database.changeFeed().isIdle)
        let end = try ProcessUsage()
        // A busy machine has Dispatch start threads, each with files and memory of its own, as it sees
        // fit: what is looked for would come to one per run, of which there were 5,000.
        #expect(end.fileCount <= half.fileCount + 500, "\(half), \(end)")
        #expect(end.threadCount <= half.threadCount + 500, "\(half), \(end)")
        #expect(end.byteCount(beyond: half) <= 16 << 20, "\(half), \(end)")
      }
    }

    @Test("for a consumer that does not read, memory is bounded, and then it gets all at once")
    func slowConsumer() async {
      await #expect(processExitsWith: .success) {
        try ProcessUsage.prepare()
        let folder = try TemporaryFolder()
        let database = try await folder.database("CREATE TABLE t (k TEXT PRIMARY KEY, v)")
        try await database.withWriter { try $0.execute("PRAGMA synchronous=OFF") }
        var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
        #expect(try await iterator.next()?.isEmpty == true)
        try insert(150_000, from: 0, in: database)
        let half = try ProcessUsage()
        try insert(150_000, from: 150_000, in: database)
        let end = try ProcessUsage()
        #expect(end.byteCount(beyond: half) <= 8 << 20, "\(half), \(end)")
        #expect(try await iterator.next()?.inserted.count == 300_000)
        try await database.run("UPDATE t SET v = 1 WHERE k = 'a key of some length: 7'")
        let difference = try await iterator.next()
        #expect(difference?.updated.count == 1 && difference?.count == 1)
      }
    }

    @Test("elements that the consumer has dropped are not kept, however late the next ones come")
    func deliveredElements() async throws {
      let folder = try TemporaryFolder()
      let database = try await folder.database(
        "CREATE TABLE t (k INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2), (3)")
      let elements = WeakReferences()
      let query = LiveQuery(table: "t").map { _ in
        let element = Element()
        elements.append(element)
        return element
      }
      var iterator = query.differences(in: database).makeAsyncIterator()
      #expect(try await iterator.next()?.inserted.count == 3)
      #expect(try await comesToHold { elements.liveCount == 0 })
      #expect(elements.count == 3)
      try await database.run("DELETE FROM t")
      #expect(try await iterator.next()?.deleted.count == 3)
    }
  }

  private final class Element: Sendable {}

  /// Starts a run, waits for its first element, cancels it and waits for its end.
  private func startAndCancel(_ database: Database, _ runs: WeakReferences) async throws {
    let (started, start) = AsyncStream<Void>.makeStream()
    let task = Task {
      var iterator = LiveQuery(table: "t").differences(in: database).makeAsyncIterator()
      runs.append(iterator.run)
      while try await iterator.next() != nil { start.yield() }
    }
    for await _ in started { break }
    task.cancel()
    try await task.value
  }

  /// On one thread, whose memory the next call uses again.
  private func insert(_ count: Int, from first: Int, in database: Database) throws {
    try database.write { transaction in
      try transaction.connection.execute(
        """
        WITH RECURSIVE n(i) AS (
          SELECT \(first) UNION ALL SELECT i + 1 FROM n WHERE i < \(first + count - 1))
        INSERT INTO t SELECT 'a key of some length: ' || i, 0 FROM n
        """)
    }
  }

  /// Objects that may be gone.
  private final class WeakReferences: Sendable {
    private struct Reference: @unchecked Sendable {
      // Safe to send: only whether it is there is asked.
      weak var object: AnyObject?
    }

    private let references = Mutex<[Reference]>([])

    func append(_ object: AnyObject) {
      let reference = Reference(object: object)
      references.withLock { $0.append(reference) }
    }

    var count: Int { references.withLock { $0.count } }
    var liveCount: Int { references.withLock { $0.count { $0.object != nil } } }
  }

  /// What this process has from the system at the moment.
  private struct ProcessUsage {
    /// What a thread may have for itself: what it touched of its stack, and its share of the heap.
    static let threadByteCount = 512 << 10

    var fileCount: Int
    var threadCount: Int
    /// Memory of its own, whether or not the system has put it aside. What it has of files comes and goes
    /// as other processes need memory.
    var ownByteCount: Int

    /// Keeps the system from making pages huge, which takes memory that nobody asked for.
    static func prepare() throws {
      typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
      let symbol = try #require(dlsym(nil, "prctl"))
      // PR_SET_THP_DISABLE; a kernel that does not know it has no huge pages.
      _ = unsafeBitCast(symbol, to: Control.self)(41, 1, 0, 0, 0)
    }

    init() throws {
      fileCount = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
      threadCount = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let fields = status.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace) }
      func kilobyteCount(_ name: String) -> Int? {
        fields.first { $0.first == "\(name):" }.flatMap { Int($0[1]) }
      }
      let residentCount = try #require(kilobyteCount("RssAnon") ?? kilobyteCount("VmRSS"))
      ownByteCount = (residentCount + (kilobyteCount("VmSwap") ?? 0)) << 10
    }

    /// How much more memory this is than before, but for that of threads that Dispatch has started.
    func byteCount(beyond before: ProcessUsage) -> Int {
      let newThreadCount = max(0, threadCount - before.threadCount)
      return ownByteCount - before.ownByteCount - newThreadCount * Self.threadByteCount
    }
  }
#endif
