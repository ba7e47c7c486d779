import Foundation
import Synchronization
import Tandem

/// Mirrors of lists and their contents: from a web server into files, and in memory.
enum MirrorCases {
  static let fileCount = 10_000
  static let fileByteCount = 4 << 10

  static let files = BenchmarkGroup(name: "mirror-files") {
    let site = try Site()
    func mirror(_ concurrency: Int, _ count: Int, isSynchronized: Bool) -> Benchmark.Contender {
      Benchmark.Contender(
        name: "OneWayMirror into a FileStore, with\(isSynchronized ? "" : "out") fsync",
        run: { try site.mirror(concurrency, count, isSynchronized: isSynchronized) },
        prepare: site.prepare)
    }
    let comparisons = [8, 32].map { concurrency in
      let curl = Benchmark.Contender(
        name: "curl --parallel, into files", run: { try site.curl(concurrency) },
        prepare: site.prepare)
      return Benchmark(
        name: "10,000 items of 4 KiB from nginx, \(concurrency) at a time",
        ours: mirror(concurrency, fileCount, isSynchronized: false),
        others: [
          curl,
          .init(name: "SystemHTTPClient, into memory") { try site.readIntoMemory(concurrency) },
        ],
        goals: [Benchmark.goal(atMost: 1, times: curl.name)])
    }
    let synchronization = Benchmark(
      name: "500 of them, 8 at a time, with fsync of each file and its directory",
      ours: mirror(8, 500, isSynchronized: true), others: [mirror(8, 500, isSynchronized: false)],
      goals: [])
    return comparisons + [synchronization]
  }

  static let comparison = BenchmarkGroup(name: "mirror-comparison") {
    [1_000_000, 100_000].map { count in
      let lists = Lists(count: count)
      let difference = Benchmark.Contender(name: "SetDifference(sortedBy:) of the keys") {
        try SetDifference(from: lists.local, to: lists.source, sortedBy: \.id).count
      }
      return Benchmark(
        name: "\(count) keys on both sides, 0.1 % changed",
        ours: .init(name: "OneWayMirror(sorted:), a whole run in pages of 10,000") {
          try lists.mirror()
        },
        others: [difference],
        // A run also fetches the pages, collects the items on both sides, and asks about them. The
        // comparison alone has no public name, so only the whole run can be measured.
        goals: [Benchmark.goal(atMost: 3, times: difference.name, plusMilliseconds: 0.5)])
    }
  }

  static let unchanged = BenchmarkGroup(name: "mirror-unchanged") {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.path("site"), withIntermediateDirectories: true)
    let lines = (0..<1_000_000).map { #"{"id":\#($0),"name":"Place number \#($0)"}"# }
    try lines.joined(separator: "\n")
      .write(toFile: folder.path("site/list.ndjson"), atomically: true, encoding: .utf8)
    let server = try WebServer("site", in: folder)
    let tandem = try Program.tandem()
    func mirror() throws -> String {
      try tandem.output([
        "mirror", "\(server.url)/list.ndjson", folder.path("list.db"), "--table", "t", "--key",
        "id",
      ])
    }
    _ = try mirror()
    let curl = try Program.system("curl")
    let request = ["--silent", "--output", "/dev/null", "\(server.url)/list.ndjson"]
    try curl.output(["--etag-save", folder.path("etag")] + request)
    let url = "\(server.url)/list.ndjson"
    let mirrorOfList = DatabaseMirror(table: "t", key: ["id"])
    return [
      Benchmark(
        name: "processor time of a run with nothing to do, 1 M rows, list unchanged (304)",
        ours: .init(
          name: "opening the database and asking the server, in a program",
          run: {
            let path = folder.path("list.db")
            try waiting { try await askAgain(url, path, mirrorOfList) }
            return nil
          }, stopwatch: .processorTime),
        others: [
          .init(
            name: "tandem mirror, from its start to its end",
            run: {
              let output = try mirror()
              guard output.hasPrefix("0 inserted") else {
                throw Program.Failure(
                  description: "an unchanged list was written again: \(output)")
              }
              return nil
            }, stopwatch: .processorTimeOfPrograms),
          .init(
            name: "curl, the same request alone, from its start to its end",
            run: {
              try curl.output(["--etag-compare", folder.path("etag")] + request)
              return nil
            }, stopwatch: .processorTimeOfPrograms),
        ], goals: [Benchmark.goal(withinMilliseconds: 10)])
    ]
  }

  /// A run by the library that finds nothing to do.
  @Sendable private static func askAgain(
    _ url: String, _ path: String, _ mirror: DatabaseMirror
  ) async throws {
    let report = try await mirror.run(from: .url(url), intoFileAt: path)
    guard report.outcome == nil else {
      throw Program.Failure(description: "an unchanged list was sent again")
    }
  }
}

// MARK: - Files from a web server

/// 10,000 files behind nginx, and ways to get them.
private final class Site: Sendable {
  private struct Item: Identifiable { var id: Int }

  private let folder: TemporaryFolder
  private nonisolated(unsafe) let server: WebServer
  private let program: Program

  init() throws {
    folder = try TemporaryFolder()
    program = try Program.system("curl")
    try FileManager.default.createDirectory(
      atPath: folder.path("site"), withIntermediateDirectories: true)
    var generator = SplitMix64(seed: 9)
    for id in 0..<MirrorCases.fileCount {
      let words = (0..<MirrorCases.fileByteCount / 8).map { _ in generator.next() }
      try words.withUnsafeBytes { Data($0) }.write(to: URL(filePath: folder.path("site/\(id)")))
    }
    server = try WebServer("site", in: folder)
    let lines = (0..<MirrorCases.fileCount).map {
      "url = \"\(server.url)/\($0)\"\noutput = \"\(folder.path("files/\($0)"))\"\n"
    }
    try lines.joined()
      .write(toFile: folder.path("curl.cfg"), atomically: true, encoding: .utf8)
  }

  /// Makes place for the next run.
  func prepare() throws { try folder.makeEmptyFolder("files") }

  func curl(_ concurrency: Int) throws -> Int? {
    try program.output([
      "--no-progress-meter", "--parallel", "--parallel-max", "\(concurrency)", "--config",
      folder.path("curl.cfg"),
    ])
    return try FileManager.default.contentsOfDirectory(atPath: folder.path("files")).count
  }

  func mirror(_ concurrency: Int, _ count: Int, isSynchronized: Bool) throws -> Int? {
    let (url, client) = (server.url, try client(concurrency))
    let store = try FileStore(path: folder.path("files"), isSynchronized: isSynchronized)
    let processor = MirrorProcessor(
      list: { MirrorPages((0..<count).map(Item.init)) }, local: { MirrorPages([]) },
      transfer: { item, _, progress in
        let request = FileRequest(FileName("\(item.id)"), url: "\(url)/\(item.id)")
        _ = try await store.transfer(
          request, client: client, received: { progress.add(byteCount: $0) })
      }, remove: { _ in })
    let mirror = OneWayMirror(processor, options: MirrorOptions(concurrency: concurrency))
    let report = try waiting { try await mirror.run() }
    guard report.byteCount == count * MirrorCases.fileByteCount else {
      throw Program.Failure(description: "\(report.byteCount) bytes were received")
    }
    return try FileManager.default.contentsOfDirectory(atPath: folder.path("files"))
      .count { !$0.hasPrefix(".") }
  }

  func readIntoMemory(_ concurrency: Int) throws -> Int? {
    let client = try client(concurrency)
    let url = server.url
    return try waiting {
      try await withThrowingTaskGroup(of: Int.self) { group in
        for first in 0..<concurrency {
          group.addTask {
            var count = 0
            for id in stride(from: first, to: MirrorCases.fileCount, by: concurrency) {
              let response = try await client.response(
                to: HTTPRequest(url: "\(url)/\(id)"), maxBodyByteCount: 1 << 20)
              count += response.body.count == MirrorCases.fileByteCount ? 1 : 0
            }
            return count
          }
        }
        return try await group.reduce(0, +)
      }
    }
  }

  private func client(_ concurrency: Int) throws -> any HTTPClient {
    var options = HTTPClientOptions()
    options.maxConnectionCountPerHost = concurrency
    return try SystemHTTPClient(options: options)
  }
}

/// Runs asynchronous work from a benchmark, which is not, and waits for it.
private func waiting<Result: Sendable>(
  _ body: @escaping @Sendable () async throws -> Result
) throws -> Result {
  let done = DispatchSemaphore(value: 0)
  let outcome = Mutex<Swift.Result<Result, any Error>?>(nil)
  Task {
    do {
      let result = try await body()
      outcome.withLock { $0 = .success(result) }
    } catch {
      outcome.withLock { $0 = .failure(error) }
    }
    done.signal()
  }
  done.wait()
  guard let outcome = outcome.withLock({ $0 }) else { preconditionFailure("it has just been set") }
  return try outcome.get()
}

// MARK: - Two lists of keys

/// A source and what is there of it: a third each of 0.1 % new, gone, and to be updated.
private struct Lists: Sendable {
  struct Item: Identifiable, Equatable {
    var id: Int64
  }

  let source: [Item]
  let local: [Item]
  private let sourcePages: [[Item]]
  private let localPages: [[Int64]]
  /// The offsets to update among the items that both sides have of a page, by the first of these
  /// items. They are found beforehand: the time to find them is not the mirror's.
  private let updates: [Int64: [Int]]

  init(count: Int) {
    let ids = 0..<Int64(count)
    source = ids.filter { $0 % 3_000 != 0 }.map(Item.init)
    let localIDs = ids.filter { $0 % 3_000 != 1_000 }
    local = localIDs.map(Item.init)
    sourcePages = Self.pages(source)
    localPages = Self.pages(localIDs)
    updates = Dictionary(
      uniqueKeysWithValues: sourcePages.map { page in
        let common = page.filter { $0.id % 3_000 != 1_000 }
        return (common[0].id, common.indices.filter { common[$0].id % 3_000 == 2_000 })
      })
  }

  fileprivate static let pageSize = 10_000

  private static func pages<Element>(_ list: [Element]) -> [[Element]] {
    stride(from: 0, to: list.count, by: pageSize).map {
      Array(list[$0..<min($0 + pageSize, list.count)])
    }
  }

  /// The number of items that are new or gone, by a whole run that transfers nothing.
  func mirror() throws -> Int? {
    var processor = MirrorProcessor<Item>(
      list: { pages(sourcePages) }, local: { pages(localPages) }, transfer: { _, _, _ in },
      remove: { _ in })
    processor.itemsToUpdate = { updates[$0[0].id]! }
    let mirror = OneWayMirror(sorted: processor, options: MirrorOptions(stages: []))
    let report = try waiting { try await mirror.run() }
    let updateCount = updates.values.reduce(0) { $0 + $1.count }
    return report.sourceCount - report.skippedCount - updateCount + report.removed.count
  }

  private func pages<Element>(_ pages: [[Element]]) -> MirrorPages<Element> {
    MirrorPages(from: 0) { number in
      (pages[number], number + 1 < pages.count ? number + 1 : nil)
    }
  }
}
